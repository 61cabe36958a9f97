package tutti.sim.world.order;

import java.net.InetSocketAddress;
import java.util.Map;
import java.util.TreeSet;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.world.node.NodeHost.OrderFactory;

class IdealOrderTest extends SimOrderContract {
    @Override
    OrderFactory factory(Kernel kernel, Map<Integer, InetSocketAddress> members, long queueBytes) {
        Distribution delay = new Distribution.Uniform(0, 500 * Nanos.MICRO);
        IdealOrder ideal = new IdealOrder(kernel,
                new IdealOrder.Settings(delay, delay, delay, queueBytes, Distribution.ZERO),
                new TreeSet<>(members.keySet()));
        return (host, node, _, _) -> ideal.open(host, node);
    }
}
