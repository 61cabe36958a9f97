package tutti.cli.torture;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tutti.cluster.Cluster;
import tutti.command.Failure;
import tutti.command.Trees;
import tutti.server.http.NodeStatus;

/** Does to a cluster what a plan says, and undoes it. One thread, except {@link #undo}, which ends whatever is on. */
final class Faults {
    private static final Duration STOP_PATIENCE = Duration.ofSeconds(40);

    private final Cluster cluster;
    private final @Nullable Links links;
    private final @Nullable Disks disks;
    private final @Nullable Clocks clocks;
    private final Membership members;
    private final CountDownLatch stop;
    private final List<Long> stopped = new ArrayList<>();

    /**
     * To a cluster.
     *
     * @param links its network, if it has one of its own
     * @param disks its file systems, if it has such
     * @param clocks its nodes' own, if they have such
     * @param members its members
     * @param stop opened when all is to end
     */
    Faults(Cluster cluster, @Nullable Links links, @Nullable Disks disks, @Nullable Clocks clocks, Membership members,
            CountDownLatch stop) {
        this.clocks = clocks;
        this.members = members;
        this.cluster = cluster;
        this.links = links;
        this.disks = disks;
        this.stop = stop;
    }

    /**
     * Whether something can be done here.
     *
     * @param members whether the members can change under the protocol
     */
    static boolean possible(FaultKind kind, boolean inProcess, boolean members, @Nullable Links links,
            @Nullable Disks disks,
            @Nullable Clocks clocks) {
        return switch (kind.need()) {
            case CLOCK -> clocks != null;
            case MEMBERS -> members;
            case NOTHING -> true;
            case NETWORK -> links != null;
            case SERVER -> !inProcess;
            case FILE_SYSTEM -> disks != null;
            case DISK -> disks != null && disks.onDisk();
        };
    }

    private int nodes() {
        return cluster.nodes().size();
    }

    /** The node that a step is for. */
    int victim(TorturePlan.Step step) {
        if (step.victim() != TorturePlan.Step.LEADER) {
            return step.victim();
        }
        return IntStream.range(0, nodes()).mapToObj(cluster::status).flatMap(Optional::stream)
                .filter(NodeStatus::majority).map(NodeStatus::leader).filter(java.util.Objects::nonNull)
                .mapToInt(Integer::intValue).findFirst().orElse(step.choice() % nodes());
    }

    /** Nodes that may be away because of a fault. */
    List<Integer> concerned(TorturePlan.Step step, int victim) {
        return switch (step.kind()) {
            case POWER, ROLLING_RESTART -> IntStream.range(0, nodes()).boxed().toList();
            default -> List.of(victim);
        };
    }

    /**
     * Does it, holds it as long as it is to be held, and undoes it.
     *
     * @return what there is to say about it; may be empty
     */
    String inflict(TorturePlan.Step step, int victim) throws IOException, InterruptedException {
        switch (step.kind()) {
            case KILL -> {
                cluster.kill(victim);
                hold(step);
                cluster.startNode(victim);
            }
            case POWER -> {
                List<Thread> killers = IntStream.range(0, nodes())
                        .mapToObj(id -> Thread.ofPlatform().start(() -> cluster.kill(id))).toList();
                for (Thread killer : killers) {
                    killer.join();
                }
                IntStream.range(0, nodes()).forEach(cluster::startNode);
            }
            case PAUSE -> stand(family(cluster.nodes().get(victim).pid()), step);
            case ENGINE_HANG -> stand(family(serverProcess(victim)), step);
            case ENGINE_KILL -> signal("KILL", List.of(serverProcess(victim)));
            case PARTITION -> partition(step, victim, true, true);
            case ONE_WAY -> {
                boolean sends = step.choice() % 2 == 0;
                partition(step, victim, !sends, sends);
                return sends ? "it is heard, and hears nobody" : "it hears the others, and nobody hears it";
            }
            case ISOLATION -> {
                links().unplug(victim);
                try {
                    hold(step);
                } finally {
                    links().plug(victim);
                }
            }
            case DISK_FULL -> {
                disks().fill(victim);
                try {
                    hold(step);
                } finally {
                    disks().empty(victim);
                }
            }
            case DISK_SLOW -> {
                double millis = disks().busy(victim, step.heldMillis());
                return String.format(Locale.ROOT, "forcing 32 MiB to that disk took %.0f ms on average", millis);
            }
            case LOST_DIRECTORY -> loseDirectory(victim);
            case ROLLING_RESTART -> rollingRestart();
            case CLOCK -> {
                Clocks set = java.util.Objects.requireNonNull(clocks, "there are clocks");
                set.set(victim, step.clockSeconds());
                try {
                    hold(step);
                } finally {
                    set.set(victim, 0);
                }
                return step.clock();
            }
            case MEMBER_ADD -> {
                return members.addAndRemove(() -> hold(step));
            }
            case MEMBER_REPLACE -> {
                return members.replace(() -> hold(step));
            }
            case MEMBER_MOVE -> {
                return members.move(victim);
            }
        }
        return "";
    }

    private Links links() {
        return java.util.Objects.requireNonNull(links, "there is a network");
    }

    private Disks disks() {
        return java.util.Objects.requireNonNull(disks, "there are file systems");
    }

    private void hold(TorturePlan.Step step) throws InterruptedException {
        if (stop.await(step.heldMillis(), TimeUnit.MILLISECONDS)) {
            throw new InterruptedException("stopped");
        }
    }

    private void partition(TorturePlan.Step step, int victim, boolean loseSent, boolean loseReceived)
            throws InterruptedException {
        List<Integer> others = IntStream.range(0, nodes()).filter(id -> id != victim).boxed().toList();
        try {
            for (int other : others) {
                if (loseSent) {
                    links().lose(victim, other);
                }
                if (loseReceived) {
                    links().lose(other, victim);
                }
            }
            hold(step);
        } finally {
            for (int other : others) {
                links().pass(victim, other);
                links().pass(other, victim);
            }
        }
    }

    private static List<Long> family(long pid) {
        return ProcessHandle.of(pid).map(root -> Stream.concat(Stream.of(root), root.descendants())
                .map(ProcessHandle::pid).toList()).orElse(List.of());
    }

    private void stand(List<Long> pids, TorturePlan.Step step) throws InterruptedException {
        synchronized (stopped) {
            stopped.addAll(pids);
        }
        try {
            signal("STOP", pids);
            hold(step);
        } finally {
            undo();
        }
    }

    private static void signal(String name, List<Long> pids) {
        if (!pids.isEmpty()) {
            // One of many may be gone meanwhile, which the command takes for a failure.
            pids.forEach(pid -> Tools.works("kill", "-" + name, pid.toString()));
        }
    }

    /** Lets go on what stands still. */
    void undo() {
        synchronized (stopped) {
            signal("CONT", stopped);
            stopped.clear();
        }
    }

    private Path data(int id) {
        return Path.of(cluster.nodes().get(id).config()).resolveSibling("data");
    }

    private long serverProcess(int id) throws IOException {
        return Long.parseLong(Files.readAllLines(data(id).resolve("postgres").resolve("postmaster.pid")).getFirst()
                .strip());
    }

    /** The others turn it away, and it gets a copy of one of them by itself. */
    private void loseDirectory(int victim) throws IOException {
        cluster.kill(victim);
        clear(data(victim));
        cluster.startNode(victim);
    }

    private static void clear(Path directory) throws IOException {
        try (Stream<Path> parts = Files.list(directory)) {
            for (Path part : parts.filter(part -> !part.endsWith("lost+found")).toList()) {
                Trees.delete(part);
            }
        }
    }

    private void rollingRestart() {
        for (int id = 0; id < nodes(); id++) {
            if (!cluster.stop(id, STOP_PATIENCE)) {
                throw new Failure("node-" + id + " did not stop within " + STOP_PATIENCE.toSeconds() + " s", "");
            }
            long target = Settling.known(cluster);
            cluster.startNode(id);
            Settling.await(cluster, id, target);
        }
    }
}
