package tutti.order.raft;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import tutti.keys.ClusterAuthority;
import tutti.order.OrderContract;

/** The order of nodes that prove to each other who they are. */
@Tag("long")
class ProvenRaftOrderTest extends OrderContract {
    @TempDir
    private Path directory;

    @Override
    protected Cluster cluster(int nodes, long queueBytes) throws Exception {
        Map<Integer, InetSocketAddress> members = RaftNodes.members(nodes);
        ClusterAuthority authority = ClusterAuthority.create(Instant.now());
        return node -> RaftNodes.open(RaftNodes.config(node, members).withQueue(queueBytes, 1 << 16), authority,
                directory);
    }
}
