package tutti.cli.torture;

import java.time.Duration;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import tutti.cluster.Cluster;
import tutti.server.http.NodeStatus;

/** Waits until nodes are where they should be. */
final class Settling {
    /** For a node to be ready and to have everything. */
    static final Duration PATIENCE = Duration.ofMinutes(3);

    private Settling() {}

    /** The highest position that any node that answers knows of. */
    static long known(Cluster cluster) {
        OptionalLong highest = IntStream.range(0, cluster.nodes().size()).mapToObj(cluster::status)
                .flatMap(status -> status.stream()).mapToLong(status -> status.positions().known()).max();
        return highest.orElse(0);
    }

    /** Waits until a node is ready and has applied a position. */
    static void await(Cluster cluster, int id, long position) {
        cluster.await(id, PATIENCE, "ready at position " + position,
                status -> status.state() == NodeStatus.State.READY && status.positions().applied() >= position);
    }

    /** Waits until every node is ready, has nothing under way and everything that any of them knows. */
    static void await(Cluster cluster) {
        IntStream nodes = IntStream.range(0, cluster.nodes().size());
        nodes.forEach(id -> cluster.await(id, PATIENCE, "ready, with nothing under way",
                status -> status.state() == NodeStatus.State.READY && status.inFlight() == 0));
        long target = known(cluster);
        for (int id = 0; id < cluster.nodes().size(); id++) {
            await(cluster, id, target);
        }
    }
}
