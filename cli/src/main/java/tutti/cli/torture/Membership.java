package tutti.cli.torture;

import java.time.Duration;
import java.util.List;
import tutti.cluster.Cluster;
import tutti.cluster.ExtraNode;
import tutti.cluster.MemberChanges;
import tutti.command.Failure;

/** Has further nodes join and leave a cluster while clients are at work, and its own nodes move. One thread. */
final class Membership {
    private static final Duration END_PATIENCE = Duration.ofSeconds(90);
    private static final Duration STOP_PATIENCE = Duration.ofSeconds(40);
    private static final int NUMBERS_MAX = 255;

    private final Cluster cluster;
    private final String host;
    private final List<String> command;
    private int last;

    /** What is done between. */
    interface Meanwhile {
        /** Does it. */
        void run() throws InterruptedException;
    }

    /**
     * Of a cluster.
     *
     * @param host where further nodes listen
     * @param command what starts one there
     */
    Membership(Cluster cluster, String host, List<String> command) {
        this.cluster = cluster;
        this.host = host;
        this.command = command;
        last = cluster.nodes().size() - 1;
    }

    private MemberChanges changes() {
        return MemberChanges.of(cluster);
    }

    private ExtraNode plan() {
        if (last == NUMBERS_MAX) {
            throw new Failure("no further number is left for a node",
                    "run for less long, or without changes of members");
        }
        return cluster.extra(++last, host, command);
    }

    private void decides(ExtraNode node) throws InterruptedException {
        if (!changes().awaitDeciding(node.id(), Settling.PATIENCE)) {
            throw new Failure("node-" + node.id() + " has not caught up",
                    "its log ends with:" + System.lineSeparator() + node.logEnd());
        }
    }

    private void leaves(ExtraNode node) throws InterruptedException {
        changes().remove(node.id());
        node.awaitEnd(END_PATIENCE);
    }

    /** One joins and leaves. */
    String addAndRemove(Meanwhile meanwhile) throws InterruptedException {
        long begun = System.nanoTime();
        try (ExtraNode node = plan()) {
            changes().add(node.id(), node.order());
            node.start();
            decides(node);
            long decided = System.nanoTime();
            meanwhile.run();
            leaves(node);
            return "node-" + node.id() + " decided after " + (decided - begun) / 1_000_000 + " ms";
        }
    }

    /** One joins, another takes its place, and leaves. */
    String replace(Meanwhile meanwhile) throws InterruptedException {
        try (ExtraNode old = plan(); ExtraNode node = plan()) {
            changes().add(old.id(), old.order());
            old.start();
            decides(old);
            long begun = System.nanoTime();
            changes().add(node.id(), node.order());
            node.start();
            decides(node);
            leaves(old);
            long replaced = System.nanoTime();
            meanwhile.run();
            leaves(node);
            return "node-" + node.id() + " took the place of node-" + old.id() + " in " + (replaced - begun) / 1_000_000
                    + " ms";
        }
    }

    /** One of the cluster's own is somewhere else from now on. */
    String move(int id) throws InterruptedException {
        if (!cluster.stop(id, STOP_PATIENCE)) {
            throw new Failure("node-" + id + " did not stop within " + STOP_PATIENCE.toSeconds() + " s", "");
        }
        String address = cluster.move(id);
        changes().move(id, address);
        cluster.startNode(id);
        return "to " + address;
    }
}
