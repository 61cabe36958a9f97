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
        return node -> RaftOrder.open(RaftNodes.config(node, members, directory).withQueue(queueBytes, 1 << 16));
    }
}
