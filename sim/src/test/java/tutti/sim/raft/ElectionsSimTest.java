package tutti.sim.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import java.util.function.IntPredicate;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tutti.core.spi.DurableLog;
import tutti.order.raft.RaftOrder;
import tutti.order.raft.RaftOrderConfig;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.machine.SimMachine;
import tutti.sim.net.Impairment;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;

/** Elections where the votes take longer to get to disks than an election is given at first: they end nevertheless. And those that nobody needs. */
class ElectionsSimTest {
    private static final int PORT = 7000;
    private static final int SEEDS = 3;
    /** For how long nobody else leads once somebody does, in times after which a silent leader is missed. */
    private static final int LEADS_MIN = 30;

    private final List<Host> hosts = new ArrayList<>();
    private final Map<Integer, RaftOrder> orders = new HashMap<>();
    private final List<String> failures = new ArrayList<>();
    private Network network = new Network(new Kernel(0));

    /**
     * A disk forces something in about a millisecond, times its slowness, and an election waits for eight such writes in turn. After a moment in
     * which all stand still they miss their leader, and have another one in a few of the times after which they do.
     */
    @ParameterizedTest(name = "{0} nodes, disks {1} times as slow, {2} ms")
    @CsvSource({"3, 80, 600, 2", "5, 150, 1000, 4", "5, 250, 1000, 10"})
    void disksThatAreBusyDelayElectionsAndDoNotKeepThemFromEnding(int nodes, int slowness, int timeoutMillis,
            int timeoutsMax) {
        for (int seed = 1; seed <= SEEDS; seed++) {
            Kernel kernel = new Kernel(seed);
            boot(kernel, nodes, Duration.ofMillis(timeoutMillis));
            long timeout = timeoutMillis * Nanos.MILLI;
            await(kernel, 10 * Nanos.SECOND, "a leader on quick disks", this::allFollow);
            hosts.forEach(host -> host.disk().setSlowness(slowness));
            hosts.forEach(Host::pause);
            kernel.runUntil(kernel.now() + 2 * timeout);
            hosts.forEach(Host::resume);
            await(kernel, timeout, "they miss their leader", () -> orders.values().stream().noneMatch(this::follows));
            settle(kernel, timeout, timeoutsMax, seed);
            assertEquals(List.of(), failures);
        }
    }

    /** Of five, two are cut off with logs of different lengths: each is refused by the other for its log or its term, and comes back as it was. */
    @Test
    void whoWasCutOffDeposesNobody() {
        for (int seed = 1; seed <= SEEDS; seed++) {
            Kernel kernel = new Kernel(seed);
            boot(kernel, 5, Duration.ofSeconds(1));
            await(kernel, 10 * Nanos.SECOND, "a leader", this::allFollow);
            int leader = orders.get(0).view().leader();
            List<Integer> others = orders.keySet().stream().filter(node -> node != leader).sorted().toList();
            List<Integer> cutOff = others.subList(2, 4);
            List<Network.Impaired> first = cutOff(kernel, cutOff.subList(0, 1));
            await(kernel, 10 * Nanos.SECOND, "the first is alone", () -> !follows(orders.get(cutOff.getFirst())));
            append(leader, 1);
            await(kernel, Nanos.SECOND, "the second has what the first has not",
                    () -> orders.get(cutOff.getLast()).status().lastDelivered() == 1);
            List<Network.Impaired> both = cutOff(kernel, cutOff);
            first.forEach(Network.Impaired::lift);
            kernel.runUntil(kernel.now() + 20 * Nanos.SECOND);
            both.forEach(Network.Impaired::lift);
            List<Integer> together = orders.keySet().stream().filter(node -> !cutOff.contains(node)).toList();
            long end = kernel.now() + 10 * Nanos.SECOND;
            while (kernel.now() < end) {
                kernel.runUntil(kernel.now() + 5 * Nanos.MILLI);
                together.forEach(node -> assertEquals(leader, orders.get(node).view().leader(), "at node " + node));
            }
            assertTrue(allFollow(), "those who were cut off follow, too");
            assertEquals(List.of(), failures);
        }
    }

    /** Each file that is removed waits for the disk, and all nodes may remove them at the same position. */
    @Test
    void whoForgetsALongLogStaysInTouch() {
        Kernel kernel = new Kernel(1);
        boot(kernel, 3, config -> config.withTimeouts(Duration.ofSeconds(1), Duration.ofSeconds(1))
                .withSegmentBytes(1 << 12).withBatches(1, 4));
        await(kernel, 10 * Nanos.SECOND, "a leader", this::allFollow);
        int leader = orders.get(0).view().leader();
        int entries = 500;
        for (int i = 0; i < entries; i++) {
            append(leader, 3000);
        }
        await(kernel, 60 * Nanos.SECOND, "all have them", () -> orders.values().stream()
                .allMatch(order -> order.status().lastDelivered() == entries));
        hosts.get(leader).disk().setSlowness(50);
        orders.values().forEach(order -> order.truncate(entries));
        long end = kernel.now() + 60 * Nanos.SECOND;
        while (kernel.now() < end) {
            kernel.runUntil(kernel.now() + 10 * Nanos.MILLI);
            orders.forEach((node, order) -> assertEquals(leader, order.view().leader(), "at node " + node));
        }
        orders.values().forEach(order -> assertTrue(order.status().firstRetained() > entries - 10));
        assertEquals(List.of(), failures);
    }

    private void append(int node, int bytes) {
        try {
            orders.get(node).append(new byte[bytes]);
        } catch (DurableLog.OverflowException full) {
            throw new AssertionError(full);
        }
    }

    private List<Network.Impaired> cutOff(Kernel kernel, List<Integer> nodes) {
        List<String> within = names(nodes::contains);
        List<String> without = names(node -> !nodes.contains(node));
        return List.of(
                network.impair(new Impairment(within, without, new Impairment.Effect.Block()),
                        kernel.random("from " + nodes)),
                network.impair(new Impairment(without, within, new Impairment.Effect.Block()),
                        kernel.random("to " + nodes)));
    }

    private List<String> names(IntPredicate chosen) {
        return IntStream.range(0, hosts.size()).filter(chosen).mapToObj(node -> hosts.get(node).name()).toList();
    }

    /** All follow one leader, and go on to do so. */
    private void settle(Kernel kernel, long timeout, int timeoutsMax, int seed) {
        long begun = kernel.now();
        long settled = begun;
        int leader = -1;
        while (kernel.now() - settled < LEADS_MIN * timeout) {
            kernel.runUntil(kernel.now() + timeout / 20);
            int now = allFollow() ? orders.get(0).view().leader() : -1;
            if (now < 0 || now != leader) {
                settled = kernel.now();
                leader = now;
            }
            assertTrue(settled - begun < timeoutsMax * timeout,
                    () -> "no leader that stays, seed " + seed + ": "
                            + orders.values().stream().map(RaftOrder::view).toList() + failures);
        }
    }

    private boolean follows(RaftOrder order) {
        return order.view().majority();
    }

    private boolean allFollow() {
        return orders.size() == hosts.size() && orders.values().stream().allMatch(this::follows)
                && orders.values().stream().map(order -> order.view().leader()).distinct().count() == 1;
    }

    private void await(Kernel kernel, long nanosMax, String what, BooleanSupplier condition) {
        long end = kernel.now() + nanosMax;
        while (!condition.getAsBoolean()) {
            assertTrue(kernel.now() < end, () -> "not within " + Nanos.text(nanosMax) + ": " + what + "; " + failures
                    + orders.values().stream().map(RaftOrder::view).toList());
            kernel.runUntil(kernel.now() + 10 * Nanos.MILLI);
        }
    }

    private void boot(Kernel kernel, int nodes, Duration timeout) {
        boot(kernel, nodes, config -> config.withTimeouts(timeout, timeout));
    }

    private void boot(Kernel kernel, int nodes, UnaryOperator<RaftOrderConfig> configured) {
        hosts.clear();
        orders.clear();
        Network lines = new Network(kernel);
        network = lines;
        Threads threads = new Threads(kernel);
        Segment lan = lines.segment("lan", LinkConfig.LAN);
        Map<Integer, InetSocketAddress> members = new TreeMap<>();
        for (int node = 0; node < nodes; node++) {
            Host host = new Host(kernel, threads, "n" + node, HostConfig.DEFAULT);
            lines.attach(host, lan);
            hosts.add(host);
            members.put(node, InetSocketAddress.createUnresolved(host.name(), PORT));
        }
        for (int node = 0; node < nodes; node++) {
            RaftOrderConfig config = configured.apply(RaftOrderConfig.of(node, members));
            hosts.get(node).boot();
            SimMachine machine = new SimMachine(hosts.get(node), lines);
            machine.background("main", () -> {
                RaftOrder order = RaftOrder.open(config, machine, machine.directory("order"));
                orders.put(config.self(), order);
                order.start(0, new DurableLog.Reader() {
                    @Override
                    public void delivered(long position, int sender, ByteBuffer payload) {
                        // Nothing is ordered here.
                    }

                    @Override
                    public void failed(Throwable cause) {
                        failures.add("node " + config.self() + ": " + cause);
                    }
                });
            });
        }
    }
}
