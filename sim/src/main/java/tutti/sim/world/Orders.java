package tutti.sim.world;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import tutti.core.spi.Order;
import tutti.group.GroupParameters;
import tutti.order.OrderSettings;
import tutti.order.group.GroupOrder;
import tutti.order.group.GroupOrderConfig;
import tutti.order.raft.RaftOrder;
import tutti.order.raft.RaftOrderConfig;
import tutti.order.raft.RaftOrderDescriptor;
import tutti.runtime.Directory;
import tutti.sim.fault.FaultKind;
import tutti.sim.host.Host;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.machine.SimMachine;
import tutti.sim.world.order.IdealOrder;
import tutti.sim.world.node.NodeHost;

/**
 * The total order of a scenario.
 *
 * @param factory opens a replica's part in it
 * @param calm ends what it makes up by itself: wrong views
 * @param untrue how many packets members have left out that no correct member sends, of which there are none here
 */
record Orders(NodeHost.OrderFactory factory, Runnable calm, LongSupplier untrue) {
    private static final long QUEUE_BYTES = 64 << 10;
    private static final int SMALL_SEGMENT_BYTES = 1 << 12;

    static Orders of(Scenario scenario, Kernel kernel, RandomStream knobs) {
        return switch (scenario.order()) {
            case RAFT -> raft(scenario, knobs);
            case GROUP -> group(scenario, knobs);
            case IDEAL -> ideal(scenario, kernel, knobs);
        };
    }

    private static SortedMap<Integer, InetSocketAddress> members(Scenario scenario) {
        SortedMap<Integer, InetSocketAddress> members = new TreeMap<>();
        for (String host : scenario.hosts()) {
            members.put(members.size(), InetSocketAddress.createUnresolved(host, NodeHost.PORT));
        }
        return members;
    }

    private static Orders raft(Scenario scenario, RandomStream knobs) {
        SortedMap<Integer, InetSocketAddress> members = members(scenario);
        Duration failure = Duration.ofMillis(knobs.between(150, 600));
        int drawnBytes = (int) knobs.between(1 << 12, 1 << knobs.between(13, 19));
        // What is to happen at operations that are rare needs many of them.
        int segmentBytes = scenario.plan().has(FaultKind.KILL_BEHIND) ? SMALL_SEGMENT_BYTES : drawnBytes;
        int batchBytes = (int) knobs.between(1 << 10, 1 << 15);
        int window = (int) knobs.between(1, 5);
        return new Orders(new NodeHost.OrderFactory() {
            @Override
            public Order open(Host host, int node, SimMachine machine, long life) throws IOException {
                return open(host, node, members, machine, life);
            }

            @Override
            public Order open(Host host, int node, SortedMap<Integer, InetSocketAddress> configured,
                    SimMachine machine, long life) throws IOException {
                return RaftOrder.open(RaftOrderConfig.of(node, configured)
                        .withVoters(scenario.protocol().voters(configured.keySet())).withSegmentBytes(segmentBytes)
                        .withCacheBytes(segmentBytes).withQueue(QUEUE_BYTES, (int) QUEUE_BYTES)
                        .withBatches(batchBytes, window).withTimeouts(failure, failure), machine,
                        machine.directory("order"));
            }

            @Override
            public void adopt(int node, SortedMap<Integer, InetSocketAddress> configured, SimMachine machine,
                    Directory directory, long number) throws IOException {
                OrderSettings all = OrderSettings.of("", node, configured);
                new RaftOrderDescriptor().adopt(new OrderSettings(all.cluster(), all.clusterId(), all.datagramKeys(),
                        node, all.members(), all.voters(), QUEUE_BYTES, (int) QUEUE_BYTES, batchBytes, segmentBytes,
                        failure, Map.of()), machine, directory, number);
            }
        }, () -> {}, () -> 0);
    }

    private static Orders group(Scenario scenario, RandomStream knobs) {
        Map<Integer, InetSocketAddress> members = members(scenario);
        GroupParameters.Flow flow = new GroupParameters.Flow(knobs.nextInt(4) == 0 ? 8 : 64, 1 << 20,
                knobs.nextInt(3) == 0 ? 256 : 8192, 32 << 10, QUEUE_BYTES, 1_000_000_000, 1 << 20, 16 << 10, 200);
        GroupParameters.Timing timing = new GroupParameters.Timing(500 * Nanos.MICRO, 2 * Nanos.MILLI,
                4 * Nanos.MILLI, 15 * Nanos.MILLI, 60 * Nanos.MILLI, 60 * Nanos.MILLI);
        List<GroupOrder> opened = new ArrayList<>();
        return new Orders((_, node, machine, _) -> {
            GroupOrder order = GroupOrder.open(new GroupOrderConfig("simulated", node, new TreeMap<>(members),
                    QUEUE_BYTES, flow, timing, List.of()), machine, machine.directory("order"));
            opened.add(order);
            return order;
        }, () -> {}, () -> opened.stream().mapToLong(GroupOrder::untrue).sum());
    }

    private static Orders ideal(Scenario scenario, Kernel kernel, RandomStream knobs) {
        TreeSet<Integer> all = new TreeSet<>(IntStream.range(0, scenario.hosts().size()).boxed().toList());
        boolean faults = !scenario.plan().faults().isEmpty();
        IdealOrder ideal = new IdealOrder(kernel, new IdealOrder.Settings(
                new Distribution.Uniform(50 * Nanos.MICRO, knobs.between(100, 2000) * Nanos.MICRO),
                new Distribution.Uniform(20 * Nanos.MICRO, knobs.between(50, 3000) * Nanos.MICRO),
                new Distribution.Uniform(Nanos.MILLI, 60 * Nanos.MILLI), QUEUE_BYTES,
                faults && knobs.chance(0.5)
                        ? new Distribution.Exponential(200 * Nanos.MILLI)
                        : Distribution.ZERO),
                all);
        return new Orders((host, node, _, _) -> ideal.open(host, node), ideal::calm, () -> 0);
    }
}
