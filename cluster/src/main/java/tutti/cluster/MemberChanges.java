package tutti.cluster;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import tutti.command.Failure;
import tutti.server.http.NodeStatus;
import tutti.server.http.StatusJson;

/** Has the members of a running cluster changed, by whichever of its nodes does it first. For one thread. */
public final class MemberChanges {
    private static final Duration PATIENCE = Duration.ofSeconds(15);
    private static final long LOOK_MILLIS = 500;

    private final List<ChosenNodes.Chosen> nodes;

    /** Of the cluster that these nodes are of. */
    public MemberChanges(List<ChosenNodes.Chosen> nodes) {
        this.nodes = List.copyOf(nodes);
    }

    /** Of a cluster on this machine that runs. */
    public static MemberChanges of(Cluster cluster) {
        return new MemberChanges(cluster.nodes().stream().map(ChosenNodes::of).toList());
    }

    /**
     * The members, as the first node that answers knows them.
     *
     * @throws Failure if none does
     */
    public NodeStatus.Members members() throws InterruptedException {
        return StatusJson.readMembers(
                ChosenNodes.first(nodes, false, "/members", PATIENCE, "no node says who the members are").text());
    }

    /** One of them, if it is a member. */
    public Optional<NodeStatus.Place> member(int id) throws InterruptedException {
        return members().nodes().stream().filter(each -> each.id() == id).findFirst();
    }

    /** One comes; it decides when it has been started and has caught up. */
    public void add(int id, String address) throws InterruptedException {
        change("add=" + id + order(address));
    }

    /** One goes, for good. */
    public void remove(int id) throws InterruptedException {
        change("remove=" + id);
    }

    /** One is somewhere else. */
    public void move(int id, String address) throws InterruptedException {
        change("move=" + id + order(address));
    }

    private void change(String query) throws InterruptedException {
        var _ = ChosenNodes.first(nodes, true, "/members?" + query, PATIENCE, "the members stay as they are");
    }

    private static String order(String address) {
        return "&order=" + URLEncoder.encode(address, StandardCharsets.UTF_8);
    }

    /**
     * Waits until one that has come has caught up, and decides with the others.
     *
     * @return whether it did in time
     * @throws Failure if it is no member any more
     */
    public boolean awaitDeciding(int id, Duration patience) throws InterruptedException {
        CountDownLatch never = new CountDownLatch(1);
        long begun = System.nanoTime();
        while (true) {
            Optional<NodeStatus.Place> place;
            try {
                place = member(id);
            } catch (Failure nobody) {
                // Nodes that restart do not know the members for a moment.
                place = Optional.empty();
                if (System.nanoTime() - begun > patience.toNanos()) {
                    throw nobody;
                }
                boolean _ = never.await(LOOK_MILLIS, TimeUnit.MILLISECONDS);
                continue;
            }
            if (place.isEmpty()) {
                throw new Failure("node " + id + " is no member any more", "somebody else has removed it");
            }
            if (!place.get().catchesUp()) {
                return true;
            }
            if (System.nanoTime() - begun > patience.toNanos()) {
                return false;
            }
            boolean _ = never.await(LOOK_MILLIS, TimeUnit.MILLISECONDS);
        }
    }
}
