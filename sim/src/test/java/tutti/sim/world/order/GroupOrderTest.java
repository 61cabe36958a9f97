package tutti.sim.world.order;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import tutti.group.GroupParameters;
import tutti.order.group.GroupOrder;
import tutti.order.group.GroupOrderConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.world.node.NodeHost.OrderFactory;

class GroupOrderTest extends SimOrderContract {
    @Override
    boolean remembersStops() {
        return false;
    }

    @Override
    OrderFactory factory(Kernel kernel, Map<Integer, InetSocketAddress> members, long queueBytes) {
        GroupParameters.Flow flow = new GroupParameters.Flow(64, 4 << 20, 8192, 1 << 16, queueBytes, 1_000_000_000,
                1 << 20, 1 << 13, 200);
        GroupParameters.Timing timing = new GroupParameters.Timing(500 * Nanos.MICRO, 2 * Nanos.MILLI, 4 * Nanos.MILLI,
                15 * Nanos.MILLI, 60 * Nanos.MILLI, 60 * Nanos.MILLI);
        return (_, node, machine, _) -> GroupOrder.open(
                new GroupOrderConfig("test", node, new TreeMap<>(members), queueBytes, flow, timing,
                        List.of(new byte[32])),
                machine,
                machine.directory("order"));
    }
}
