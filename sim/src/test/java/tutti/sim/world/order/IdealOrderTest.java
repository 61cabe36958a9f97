package tutti.sim.world.order;

import java.util.List;
import java.util.TreeSet;
import java.util.stream.IntStream;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.net.Network;

class IdealOrderTest extends VirtualTimeOrderContract {
    @Override
    Opener group(Kernel kernel, Network network, List<String> hosts, long queueBytes) {
        Distribution delay = new Distribution.Uniform(0, 500 * Nanos.MICRO);
        return new IdealOrder(kernel,
                new IdealOrder.Settings(delay, delay, delay, queueBytes, Distribution.ZERO),
                new TreeSet<>(IntStream.range(0, hosts.size()).boxed().toList()))::open;
    }
}
