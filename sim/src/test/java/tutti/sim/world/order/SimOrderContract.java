package tutti.sim.world.order;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;
import tutti.core.spi.Order;
import tutti.order.OrderContract;
import tutti.order.Recorder;
import tutti.sim.disk.DiskConfig;
import tutti.sim.disk.Unsynced;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.machine.SimMachine;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;
import tutti.sim.world.node.NodeHost.OrderFactory;

/**
 * The contract of all orders, held against those that run in the simulated world, once for each seed; a seed gives the same run
 * every time. A node that a test stops ends in one of the ways in which nodes end: it closes, its process is killed, or its
 * machine loses power with what was not flushed lost or torn.
 */
@ParameterizedClass(name = "seed {0}")
@MethodSource("seeds")
abstract class SimOrderContract extends OrderContract {
    private static final int PORT = 7000;
    private static final Label STEP = Label.of("test", "step");
    private static final long NANOS_MAX = 300 * Nanos.SECOND;

    @Parameter
    long seed;

    /** {@code -Dtutti.order.seeds=N} runs N. */
    static LongStream seeds() {
        return LongStream.rangeClosed(1, Long.getLong("tutti.order.seeds", 10));
    }

    /** What opens the nodes of an order. */
    abstract OrderFactory factory(Kernel kernel, Map<Integer, InetSocketAddress> members, long queueBytes);

    boolean remembersStops() {
        return true;
    }

    @Override
    protected final Cluster cluster(int nodes, long queueBytes) {
        Kernel kernel = new Kernel(seed);
        Network network = new Network(kernel);
        RandomStream random = kernel.random("test");
        Segment lan = network.segment("lan", LinkConfig.LAN);
        // No simulated thread is ever made.
        Threads threads = new Threads(kernel);
        Map<Integer, InetSocketAddress> members = new TreeMap<>();
        List<Host> hosts = new ArrayList<>();
        HostConfig config = HostConfig.DEFAULT.withMessageCosts(0, 0).withDisk(DiskConfig.DEFAULT.withLatency(
                new Distribution.Uniform(20 * Nanos.MICRO, random.between(50, 3000) * Nanos.MICRO)));
        for (int node = 0; node < nodes; node++) {
            Host host = new Host(kernel, threads, "n" + node, config);
            network.attach(host, lan);
            hosts.add(host);
            members.put(node, InetSocketAddress.createUnresolved(host.name(), PORT));
        }
        OrderFactory factory = factory(kernel, members, queueBytes);
        return new Cluster() {
            @Override
            public Order open(int node) throws Exception {
                Host host = hosts.get(node);
                if (host.state() == Host.State.DOWN) {
                    host.boot();
                }
                return new Life(factory.open(host, node, new SimMachine(host, network), host.life()), host, random);
            }

            @Override
            public boolean remembersStops() {
                return SimOrderContract.this.remembersStops();
            }

            @Override
            public Runnable beside(int times, IntConsumer step) {
                int[] done = {0};
                Runnable next = new Runnable() {
                    @Override
                    public void run() {
                        step.accept(done[0]++);
                        if (done[0] < times) {
                            kernel.schedule(random.nextLong(200 * Nanos.MICRO), STEP, this);
                        }
                    }
                };
                kernel.schedule(0, STEP, next);
                return () -> await(() -> done[0] == times, () -> "all steps, not " + done[0]);
            }

            @Override
            public Recorder.Waiting waiting() {
                return (_, condition, what) -> await(condition, what);
            }

            private void await(BooleanSupplier condition, Supplier<String> what) {
                long end = kernel.now() + NANOS_MAX;
                while (!condition.getAsBoolean()) {
                    if (kernel.now() > end) {
                        throw new AssertionError("waited for " + what.get());
                    }
                    kernel.runUntil(kernel.now() + 200 * Nanos.MICRO);
                }
            }
        };
    }

    /** A node's part from the boot of its host to its end. */
    private static final class Life extends PassingOrder {
        private final Host host;
        private final RandomStream random;
        private final long life;

        Life(Order order, Host host, RandomStream random) {
            super(order);
            this.host = host;
            this.random = random;
            this.life = host.life();
        }

        @Override
        public void close() {
            if (host.state() == Host.State.DOWN || host.life() != life) {
                return;
            }
            if (random.chance(0.5)) {
                super.close();
            }
            host.crash(random.pick(List.of(Unsynced.values())), random);
        }
    }
}
