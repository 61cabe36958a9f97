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
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;

/** Elections where the votes take longer to get to disks than an election is given at first: they end nevertheless. */
class ElectionsSimTest {
    private static final int PORT = 7000;
    private static final int SEEDS = 3;
    /** For how long nobody else leads once somebody does, in times after which a silent leader is missed. */
    private static final int LEADS_MIN = 30;

    private final List<Host> hosts = new ArrayList<>();
    private final Map<Integer, RaftOrder> orders = new HashMap<>();
    private final List<String> failures = new ArrayList<>();

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
        hosts.clear();
        orders.clear();
        Network lines = new Network(kernel);
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
            RaftOrderConfig config = RaftOrderConfig.of(node, members).withTimeouts(timeout, timeout);
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
