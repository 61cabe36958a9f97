package tutti.sim.world.order;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import tutti.order.raft.RaftOrder;
import tutti.order.raft.RaftOrderConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.world.node.NodeHost.OrderFactory;

class RaftOrderTest extends SimOrderContract {
    @Override
    OrderFactory factory(Kernel kernel, Map<Integer, InetSocketAddress> members, long queueBytes) {
        return (_, node, machine, _) -> RaftOrder.open(RaftOrderConfig.of(node, members).withSegmentBytes(1 << 16)
                .withQueue(queueBytes, 1 << 16).withTimeouts(Duration.ofMillis(300), Duration.ofMillis(300)), machine,
                machine.directory("order"));
    }
}
