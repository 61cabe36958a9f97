package tutti.bench;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.grid.GridException;
import tutti.grid.node.GridNode;
import tutti.grid.node.GridTransaction;
import tutti.grid.store.Key;
import tutti.sim.disk.DiskConfig;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
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

    private final GridMeasurement plan;
    private final Kernel kernel;
    private final List<GridNode> nodes = new ArrayList<>();
    private final GridFigures figures = new GridFigures();
    private final long seed;
    private boolean measuring;
    private boolean over;

    /** Not begun yet. */
    GridSimulation(GridMeasurement plan, long seed) {
        this.plan = plan;
        this.kernel = new Kernel(seed);
        this.seed = seed;
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
        while (!nodes.stream().allMatch(GridNode::isMember)) {
            kernel.runUntil(kernel.now() + 10 * Nanos.MILLI);
        }
        int clients = 0;
        for (GridNode node : nodes) {
            for (int i = 0; i < plan.threads(); i++) {
                Client client = new Client(node, plan.workload().source(plan.keys(), seed, clients++));
                node.loop().execute(client::begin);
            }
        }
        long measured = (long) (plan.seconds() * Nanos.SECOND);
        kernel.runUntil(kernel.now() + measured / 3);
        long before = messages();
        measuring = true;
        kernel.runUntil(kernel.now() + measured);
        measuring = false;
        long sent = messages() - before;
        if (plan.isChecked()) {
            over = true;
            kernel.runUntil(kernel.now() + plan.lockTimeout().toNanos() + Nanos.SECOND);
            plan.check(GridTpcc.checkedKeys().stream().map(this::found).toList());
        }
        return figures.measured(GridFigures.World.SIMULATED, plan, plan.seconds(), sent);
    }

    private static Key key(Object of) {
        return new Key(0, GridScript.KEYS.write(of));
    }

    private static @Nullable Object value(byte @Nullable [] bytes) {
        return bytes == null ? null : GridScript.VALUES.read(bytes);
    }

    /** What an owner has in the end. */
    private @Nullable Object found(Object key) {
        GridNode owner = nodes.get(nodes.getFirst().owners().of(key(key))[0]);
        return value(owner.newest(key(key)).value());
    }

    private long messages() {
        return nodes.stream().mapToLong(node -> node.status().messages()).sum();
    }

    /** Runs transactions, one after the other. On the loop of its node. */
    private final class Client {
        private final GridNode node;
        private final GridScript.Source source;
        private GridScript script;

        Client(GridNode node, GridScript.Source source) {
            this.node = node;
            this.source = source;
            this.script = source.next();
        }

        void begin() {
            if (over) {
                return;
            }
            script = source.next();
            operation(node.begin(plan.level(), script.isReadOnly()));
        }

        private void operation(GridTransaction transaction) {
            GridScript.Operation next = script.next();
            if (next == null) {
                commit(transaction);
                return;
            }
            Key key = key(next.key().get());
            var written = next.value();
            if (written != null) {
                transaction.write(key, GridScript.VALUES.write(written.get()));
                later(transaction);
            } else {
                transaction.read(key, new GridTransaction.Answer<>() {
                    @Override
                    public void is(GridTransaction.Value value) {
                        next.reader().accept(value(value.bytes()));
                        later(transaction);
                    }

                    @Override
                    public void failed(GridException why) {
                        transaction.rollback();
                        ended(why);
                    }
                });
            }
        }

        private void later(GridTransaction transaction) {
            var _ = node.loop().schedule(OPERATION_NANOS, () -> operation(transaction));
        }

        private void commit(GridTransaction transaction) {
            long asked = kernel.now();
            transaction.commit(new GridTransaction.Answer<>() {
                @Override
                public void is(Long stamp) {
                    if (measuring && script.isReadOnly()) {
                        figures.read();
                    } else if (measuring) {
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
