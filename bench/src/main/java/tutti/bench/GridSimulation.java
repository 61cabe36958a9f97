package tutti.bench;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import tutti.grid.GridException;
import tutti.grid.api.Serializer;
import tutti.grid.api.Serializers;
import tutti.grid.node.GridNode;
import tutti.grid.node.GridTransaction;
import tutti.grid.store.Key;
import tutti.sim.disk.DiskConfig;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.machine.SimMachine;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;

/**
 * The measurement of {@link GridMeasurement} with the nodes' own classes on simulated machines: those of the thesis, eight cores each,
 * on a switched gigabit network (section V-A). Time is virtual, so the same seed finds the same on any machine. Keys are not written
 * beforehand: a key that is absent costs what another one does.
 *
 * <p>
 * <b>What costs time.</b> The network; the processors, for every fragment that is sent and received; the clients, for every operation.
 * What the nodes' own code takes is not charged, so throughput is above what such machines would reach.
 */
final class GridSimulation {
    private static final int PORT = 7000;
    private static final int CORES = 8;
    private static final long FRAGMENT_NANOS = 5 * Nanos.MICRO;
    private static final long OPERATION_NANOS = 10 * Nanos.MICRO;
    private static final HostConfig MACHINE = new HostConfig(CORES, 1, 10 * Nanos.MILLI, FRAGMENT_NANOS,
            FRAGMENT_NANOS, DiskConfig.DEFAULT);
    private static final Serializer<Integer> KEYS = Serializers.compact(Integer.class);
    private static final Serializer<Long> VALUES = Serializers.compact(Long.class);

    private final GridMeasurement plan;
    private final Kernel kernel;
    private final RandomStream random;
    private final List<GridNode> nodes = new ArrayList<>();
    private final GridFigures figures = new GridFigures();
    private boolean measuring;

    /** Not begun yet. */
    GridSimulation(GridMeasurement plan, long seed) {
        this.plan = plan;
        this.kernel = new Kernel(seed);
        this.random = kernel.random("clients");
    }

    /** Runs it. */
    GridFigures.Measured run() throws IOException {
        Network network = new Network(kernel);
        Threads threads = new Threads(kernel);
        Segment lan = network.segment("lan", LinkConfig.LAN);
        Map<Integer, InetSocketAddress> addresses = new TreeMap<>();
        List<Host> hosts = new ArrayList<>();
        for (int i = 0; i < plan.nodes(); i++) {
            addresses.put(i, InetSocketAddress.createUnresolved("n" + i, PORT));
            Host host = new Host(kernel, threads, "n" + i, MACHINE);
            network.attach(host, lan);
            hosts.add(host);
        }
        for (int i = 0; i < plan.nodes(); i++) {
            hosts.get(i).boot();
            nodes.add(new GridNode(plan.config(i, addresses), new SimMachine(hosts.get(i), network),
                    GridNode.Observer.NONE));
        }
        kernel.runUntil(100 * Nanos.MILLI);
        for (GridNode node : nodes) {
            for (int i = 0; i < plan.threads(); i++) {
                Client client = new Client(node, random.fork("client " + node.config().self() + " " + i));
                node.loop().execute(client::begin);
            }
        }
        long measured = (long) (plan.seconds() * Nanos.SECOND);
        kernel.runUntil(kernel.now() + measured / 3);
        long before = messages();
        measuring = true;
        kernel.runUntil(kernel.now() + measured);
        return figures.measured(GridFigures.World.SIMULATED, plan, plan.seconds(), messages() - before);
    }

    private long messages() {
        return nodes.stream().mapToLong(node -> node.status().messages()).sum();
    }

    /** Runs transactions, one after the other. On the loop of its node. */
    private final class Client {
        private final GridNode node;
        private final RandomStream dice;
        private boolean written;

        Client(GridNode node, RandomStream dice) {
            this.node = node;
            this.dice = dice;
        }

        void begin() {
            written = false;
            operation(node.begin(plan.level(), false), 1);
        }

        private void operation(GridTransaction transaction, int number) {
            if (number > GridMeasurement.OPERATIONS) {
                commit(transaction);
                return;
            }
            Key key = new Key(0, KEYS.write(dice.nextInt(plan.keys())));
            if (GridMeasurement.isWrite(dice.nextInt(100), number, written)) {
                written = true;
                transaction.write(key, VALUES.write(dice.nextLong()));
                later(transaction, number);
            } else {
                transaction.read(key, new GridTransaction.Answer<>() {
                    @Override
                    public void is(GridTransaction.Value value) {
                        later(transaction, number);
                    }

                    @Override
                    public void failed(GridException why) {
                        transaction.rollback();
                        ended(why);
                    }
                });
            }
        }

        private void later(GridTransaction transaction, int number) {
            var _ = node.loop().schedule(OPERATION_NANOS, () -> operation(transaction, number + 1));
        }

        private void commit(GridTransaction transaction) {
            long asked = kernel.now();
            transaction.commit(new GridTransaction.Answer<>() {
                @Override
                public void is(Long stamp) {
                    if (measuring) {
                        figures.committed(kernel.now() - asked);
                    }
                    again();
                }

                @Override
                public void failed(GridException why) {
                    ended(why);
                }
            });
        }

        private void ended(GridException why) {
            if (measuring) {
                figures.failed(why.reason());
            }
            again();
        }

        private void again() {
            var _ = node.loop().schedule(OPERATION_NANOS, this::begin);
        }
    }
}
