package tutti.order.raft;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;
import tutti.order.OrderContract;

class RaftOrderTest extends OrderContract {
    @TempDir
    private Path directory;

    @Override
    protected Cluster cluster(int nodes, long queueBytes) throws Exception {
        Map<Integer, InetSocketAddress> members = RaftNodes.members(nodes);
        return node -> RaftNodes.open(RaftNodes.config(node, members).withQueue(queueBytes, 1 << 16), directory);
    }
}
