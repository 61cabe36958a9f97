package tutti.sim.raft;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.check.CheckResult;
import tutti.check.order.DeliveryHistory;
import tutti.check.order.TotalOrderCheck;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.order.raft.RaftOrder;
import tutti.order.raft.RaftOrderConfig;
import tutti.runtime.Loop;
import tutti.runtime.PeerIdentity;
import tutti.sim.fault.EngineFaults;
import tutti.sim.fault.FaultKind;
import tutti.sim.fault.FaultPlan;
import tutti.sim.fault.Injector;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.kernel.SimulationFailure;
import tutti.sim.machine.SimMachine;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;

/**
 * The Raft order on simulated machines, under a plan of faults: nodes append while they live, read from where their state
 * was safe, and truncate what is safe everywhere. When all is healed everything must come to rest, in one total order that
 * has lost nothing that anybody was told of.
 */
final class RaftRun {
    private static final long REST_NANOS_MAX = 120 * Nanos.SECOND;
    private static final String CLUSTER = "simulated";
    private static final int PORT = 7000;
    private static final int PAYLOAD_MAX = 3000;
    private static final int SAFE_LAG_MAX = 50;

    private final Kernel kernel;
    private final Network network;
    private final FaultPlan plan;
    private final Map<Integer, InetSocketAddress> members = new TreeMap<>();
    private final DeliveryHistory history = new DeliveryHistory();
    private final List<Node> nodes = new ArrayList<>();
    private final List<String> failures = new ArrayList<>();
    /** By position: the message that somebody was told there. */
    private final Map<Long, Long> told = new HashMap<>();
    private final Injector injector;
    private boolean appending = true;
    private int lives;
    private long messages;

    /**
     * What came of it.
     *
     * @param failures empty if all is well
     * @param delivered messages that were ordered
     * @param happened how often the faults did something
     * @param fingerprint of the run
     */
    record Result(List<String> failures, int delivered, Map<FaultKind, Long> happened, String fingerprint) {}

    /** A host and the state that it keeps. */
    private final class Node implements DurableLog.Reader, Group.Listener {
        private final int number;
        private final Host host;
        private final RandomStream random;
        private @Nullable RaftOrder order;
        private int life;
        /** What its state durably holds. */
        private long safe;
        private long delivered;

        Node(int number, Host host) {
            this.number = number;
            this.host = host;
            this.random = kernel.random("node " + number);
        }

        void boot() {
            host.identify(new PeerIdentity(CLUSTER, number));
            SimMachine machine = new SimMachine(host, network);
            order = null;
            int ofLife = ++lives;
            life = ofLife;
            history.joined(ofLife, safe);
            delivered = safe;
            host.onCrash(() -> history.crashed(ofLife));
            machine.background("main", () -> {
                try {
                    RaftOrder opened = RaftOrder.open(
                            RaftOrderConfig.of(number, members).withCluster(CLUSTER).withSegmentBytes(1 << 16)
                                    .withCacheBytes(1 << 16)
                                    .withQueue(1 << 18, 1 << 13).withBatches(1 << 13, 4)
                                    .withTimeouts(Duration.ofMillis(300), Duration.ofMillis(300)),
                            machine, machine.directory("order"));
                    Loop client = machine.loop("client", this::failed);
                    opened.join(this);
                    opened.start(safe, this);
                    client.execute(() -> {
                        order = opened;
                        append(client, opened);
                    });
                } catch (Exception failure) {
                    failed(failure);
                }
            });
        }

        private void append(Loop client, RaftOrder to) {
            if (appending) {
                ByteBuffer payload = ByteBuffer.allocate(Long.BYTES + random.nextInt(PAYLOAD_MAX)).putLong(++messages);
                try {
                    to.append(payload.array());
                    history.sent(life, messages);
                } catch (DurableLog.OverflowException full) {
                    // It tries again later.
                }
            }
            to.truncate(nodes.stream().mapToLong(node -> node.safe).min().orElse(0));
            client.schedule(random.between(1, 40) * Nanos.MILLI, () -> append(client, to));
        }

        @Override
        public void delivered(long position, int sender, ByteBuffer payload) {
            long message = payload.getLong();
            history.delivered(life, position, message);
            Long before = told.putIfAbsent(position, message);
            if (before != null && before != message) {
                failures.add(host.name() + " was told message " + message + " at position " + position
                        + ", where message " + before + " was told before");
            }
            if (position != delivered + 1) {
                failures.add(host.name() + " was told position " + position + " after " + delivered);
            }
            delivered = position;
            if (random.nextInt(SAFE_LAG_MAX) == 0) {
                safe = Math.max(safe, position - random.nextInt(SAFE_LAG_MAX));
            }
        }

        @Override
        public void view(Group.View view) {
            // Nobody acts on it here.
        }

        @Override
        public void failed(Throwable cause) {
            failures.add(host.name() + " failed at " + Nanos.text(kernel.now()) + ": " + cause);
        }
    }

    RaftRun(long seed, FaultPlan plan) {
        this.plan = plan;
        kernel = new Kernel(seed);
        network = new Network(kernel);
        Threads threads = new Threads(kernel);
        Segment lan = network.segment("lan", LinkConfig.LAN);
        for (String name : plan.hosts()) {
            Host host = new Host(kernel, threads, name, HostConfig.DEFAULT);
            network.attach(host, lan);
            members.put(nodes.size(), InetSocketAddress.createUnresolved(name, PORT));
            Node node = new Node(nodes.size(), host);
            nodes.add(node);
            host.onBoot(_ -> node.boot());
        }
        injector = new Injector(kernel, network, EngineFaults.NONE, plan);
    }

    Result run() {
        try {
            nodes.forEach(node -> node.host.boot());
            kernel.runUntil(Nanos.SECOND);
            injector.start();
            kernel.runUntil(Nanos.SECOND + plan.safetyNanos());
            kernel.runUntil(kernel.now() + Nanos.SECOND);
            appending = false;
            rest();
        } catch (SimulationFailure failure) {
            failures.add(failure.getMessage());
        }
        if (failures.isEmpty()) {
            CheckResult check = TotalOrderCheck.check(history);
            check.violations().forEach(violation -> failures.add(violation.toString()));
        }
        return new Result(failures, told.size(), injector.happened(), kernel.fingerprint());
    }

    private void rest() {
        long end = kernel.now() + REST_NANOS_MAX;
        while (kernel.now() < end && failures.isEmpty()) {
            kernel.runUntil(kernel.now() + Nanos.SECOND / 10);
            if (isAtRest()) {
                return;
            }
        }
        if (failures.isEmpty()) {
            failures.add("it does not come to rest: " + nodes.stream().map(node -> node.host.name() + " "
                    + node.delivered + " " + (node.order == null ? "not open" : node.order.status())).toList());
        }
    }

    private boolean isAtRest() {
        Set<Long> ends = new HashSet<>();
        for (Node node : nodes) {
            RaftOrder order = node.order;
            if (order == null || order.status().queuedBytes() > 0) {
                return false;
            }
            ends.add(node.delivered);
            ends.add(order.status().lastKnown());
        }
        return ends.size() == 1;
    }
}
