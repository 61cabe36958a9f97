package tutti.cli.demo;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;
import tutti.cluster.Cluster;
import tutti.server.http.NodeStatus;

/** How every node of a cluster is, as of half a second ago at most. Safe for several threads. */
final class NodeWatch implements AutoCloseable {
    private static final long PERIOD_MILLIS = 500;

    private final AtomicReferenceArray<@Nullable NodeStatus> latest;
    private final ScheduledExecutorService pollers;

    /**
     * What one look at a node showed.
     *
     * @param status null if it did not answer
     * @param lagPositions behind the highest position that any node knows; null if it did not answer
     */
    record Look(@Nullable NodeStatus status, @Nullable Long lagPositions) {}

    NodeWatch(Cluster cluster) {
        int nodes = cluster.nodes().size();
        latest = new AtomicReferenceArray<>(nodes);
        pollers = Executors.newScheduledThreadPool(nodes, Thread.ofPlatform().daemon().name("watch-", 0).factory());
        for (int id = 0; id < nodes; id++) {
            int node = id;
            // At the same moments: a lag is the difference between what two nodes have said.
            ScheduledFuture<?> _ = pollers.scheduleAtFixedRate(
                    () -> latest.set(node, cluster.status(node).orElse(null)), 0, PERIOD_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    /** The latest look at every node, in order of their ids. */
    List<Look> looks() {
        List<@Nullable NodeStatus> statuses = new ArrayList<>();
        long known = 0;
        for (int node = 0; node < latest.length(); node++) {
            NodeStatus status = latest.get(node);
            statuses.add(status);
            known = status == null ? known : Math.max(known, status.positions().known());
        }
        long highest = known;
        return statuses.stream().map(status -> new Look(status,
                status == null ? null : (Long) Math.max(0, highest - status.positions().applied()))).toList();
    }

    @Override
    public void close() {
        pollers.shutdownNow();
    }
}
