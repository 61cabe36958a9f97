package tutti.order.local;

import java.util.stream.Collectors;
import java.util.stream.IntStream;
import tutti.order.OrderContract;
import tutti.runtime.real.RealMachine;

class LocalOrderTest extends OrderContract {
    @Override
    protected Cluster cluster(int nodes, long queueBytes) {
        return group(nodes, queueBytes)::open;
    }

    static LocalOrderGroup group(int nodes, long queueBytes) {
        return new LocalOrderGroup(RealMachine.INSTANCE,
                IntStream.range(0, nodes).boxed().collect(Collectors.toSet()), queueBytes, 1 << 16);
    }
}
