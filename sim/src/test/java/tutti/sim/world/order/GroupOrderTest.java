package tutti.sim.world.order;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import tutti.group.GroupParameters;
import tutti.group.StableRecord;
import tutti.sim.disk.Journal;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.net.Network;

class GroupOrderTest extends VirtualTimeOrderContract {
    @Override
    Opener group(Kernel kernel, Network network, List<String> hosts, long queueBytes) {
        GroupParameters.Flow flow = new GroupParameters.Flow(64, 4 << 20, 8192, 1 << 16, queueBytes, 1_000_000_000,
                1 << 20, 1 << 16, 200);
        GroupParameters.Timing timing = new GroupParameters.Timing(500 * Nanos.MICRO, 2 * Nanos.MILLI, 4 * Nanos.MILLI,
                15 * Nanos.MILLI, 60 * Nanos.MILLI, 60 * Nanos.MILLI);
        List<Integer> members = IntStream.range(0, hosts.size()).boxed().toList();
        Map<Integer, Journal<StableRecord>> journals = new HashMap<>();
        return (host, node) -> new GroupOrder(host, host.life(), network, hosts::get,
                new GroupParameters(node, members, flow, timing),
                journals.computeIfAbsent(node, _ -> new Journal<>(host.disk(), "log")));
    }
}
