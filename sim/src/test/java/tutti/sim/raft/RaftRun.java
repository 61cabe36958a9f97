package tutti.sim.raft;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.check.CheckResult;
import tutti.check.order.DeliveryHistory;
import tutti.check.order.TotalOrderCheck;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.order.OrderSettings;
import tutti.order.raft.RaftOrder;
import tutti.order.raft.RaftOrderConfig;
import tutti.order.raft.RaftOrderDescriptor;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;
import tutti.runtime.LostDirectoryException;
import tutti.runtime.Loop;
import tutti.runtime.PeerIdentity;
import tutti.sim.fault.EngineFaults;
import tutti.sim.fault.FaultKind;
import tutti.sim.fault.FaultPlan;
import tutti.sim.fault.Injector;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
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
    /** Nobody needs what is so far behind what is safe everywhere, even if the end of its log has to be cut. */
    private static final int SAFETY_MARGIN = 250;

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
    private final boolean losses;
    /** Changes of the members, where there are any. */
    private final @Nullable RaftChanges changes;
    /** Messages that say that a node begins anew. */
    private final Map<Long, Copying> replacements = new HashMap<>();
    private boolean appending = true;
    private int lives;
    private long messages;
    private int copies;

    /**
     * What came of it.
     *
     * @param failures empty if all is well
     * @param delivered messages that were ordered
     * @param happened how often the faults did something
     * @param fingerprint of the run
     */
    record Result(List<String> failures, int delivered, Map<FaultKind, Long> happened, String fingerprint) {}

    /**
     * A node that has lost what it had, and the copy with which it begins anew.
     *
     * @param number of its new directory
     */
    private record Copying(Node receiver, Node donor, int donorLife, long number) {
        String directory() {
            return "order-" + number;
        }
    }

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
        private String directory = "order";
        private @Nullable SimMachine machine;
        private @Nullable RaftOrder opened;
        /** It has lost everything, and has no copy yet. */
        private boolean lost;
        private @Nullable Copying copying;
        /** The copy that it began with last, and the one that the others were told of last, at a position. */
        private long begunWith;
        private long named;
        private long namedAt;
        /** It was removed, and has been told so. */
        private boolean over;

        Node(int number, Host host) {
            this.number = number;
            this.host = host;
            this.random = kernel.random("node " + number);
        }

        void boot() {
            host.identify(new PeerIdentity(CLUSTER, number));
            SimMachine booted = new SimMachine(host, network);
            machine = booted;
            order = null;
            opened = null;
            lost |= losses && lives >= nodes.size() && nodes.stream().noneMatch(Node::takesNoPart)
                    && random.nextInt(3) > 0;
            if (changes != null && !changes.begins(number)) {
                return;
            }
            if (lost) {
                copying = null;
                askForCopy(booted.loop("lost", this::failed));
                return;
            }
            begin(booted);
        }

        /** It has no copy, or not the one that counts. */
        private boolean takesNoPart() {
            return lost || named != begunWith;
        }

        private String where() {
            return "not open, life " + life
                    + (lost ? ", without a copy" + (copying == null ? "" : " yet: " + copying.number) : "")
                    + (lives() ? "" : ", down");
        }

        private boolean needsLog() {
            return changes == null || changes.isMember(number);
        }

        private boolean lives() {
            return machine != null && !machine.isGone();
        }

        /** Asks some other node again and again, until a copy is there. */
        private void askForCopy(Loop loop) {
            if (!lost || !needsLog()) {
                return;
            }
            Node donor = nodes.get((number + 1 + random.nextInt(nodes.size() - 1)) % nodes.size());
            if (donor.order != null && donor.lives() && !donor.over) {
                Copying asked = new Copying(this, donor, donor.life, 100 + ++copies);
                copying = asked;
                replacements.put(++messages, asked);
                try {
                    donor.order.append(ByteBuffer.allocate(Long.BYTES).putLong(messages).array());
                    history.sent(donor.life, messages);
                } catch (DurableLog.OverflowException | IllegalStateException notNow) {
                    copying = null;
                }
            }
            loop.schedule(2 * Nanos.SECOND, () -> askForCopy(loop));
        }

        /** As the donor: what it was told of up to a position is what the receiver begins with. */
        private void give(Copying asked, long position, RaftOrder from) {
            SimMachine here = Objects.requireNonNull(machine);
            from.copy(position - 1, copy -> here.background("copy", () -> {
                Directory staging = here.directory("copy-" + asked.number);
                copy.write(staging);
                Map<String, byte[]> files = new TreeMap<>();
                read(staging, "", files);
                read(staging.directory("log"), "log/", files);
                if (asked.equals(asked.receiver.copying) && asked.receiver.lives()) {
                    asked.receiver.take(asked, position, files);
                }
            }));
        }

        private void take(Copying asked, long position, Map<String, byte[]> files) {
            SimMachine here = Objects.requireNonNull(machine);
            here.background("copy", () -> {
                Directory into = here.directory(asked.directory());
                for (Map.Entry<String, byte[]> file : files.entrySet()) {
                    boolean ofLog = file.getKey().startsWith("log/");
                    Directory directory = ofLog ? into.directory("log") : into;
                    try (DataFile to = directory.open(file.getKey().substring(ofLog ? 4 : 0), Directory.Open.EMPTY)) {
                        to.write(ByteBuffer.wrap(file.getValue()), 0);
                        to.force(true);
                    }
                    directory.sync();
                }
                new RaftOrderDescriptor().adopt(settings(number), here, into, asked.number);
                // When the files are there, and not when the work on them has begun.
                here.loop("copied", this::failed).execute(() -> {
                    if (lost && asked.equals(copying)) {
                        lost = false;
                        begunWith = asked.number;
                        copying = null;
                        this.directory = asked.directory();
                        safe = position;
                        begin(here);
                    }
                });
            });
        }

        private void begin(SimMachine on) {
            int ofLife = ++lives;
            life = ofLife;
            history.joined(ofLife, safe);
            delivered = safe;
            host.onCrash(() -> history.crashed(ofLife));
            on.background("main", () -> {
                try {
                    RaftOrder now = RaftOrder.open(
                            RaftOrderConfig.of(number, configured(number)).withCluster(CLUSTER)
                                    .withSegmentBytes(1 << 16)
                                    .withCacheBytes(1 << 16)
                                    .withQueue(1 << 18, 1 << 13).withBatches(1 << 13, 4)
                                    .withTimeouts(Duration.ofMillis(300), Duration.ofMillis(300)),
                            on, on.directory(directory));
                    opened = now;
                    Loop client = on.loop("client", this::failed);
                    now.join(this);
                    now.start(safe, this);
                    if (changes != null) {
                        changes.begun(now, safe);
                    }
                    client.execute(() -> {
                        order = now;
                        append(client, now);
                    });
                } catch (Exception failure) {
                    failed(failure);
                }
            });
        }

        private void append(Loop client, RaftOrder to) {
            if (over || order != to) {
                return;
            }
            if (appending) {
                ByteBuffer payload = ByteBuffer.allocate(Long.BYTES + random.nextInt(PAYLOAD_MAX)).putLong(++messages);
                try {
                    to.append(payload.array());
                    history.sent(life, messages);
                } catch (DurableLog.OverflowException full) {
                    // It tries again later.
                } catch (IllegalStateException stopped) {
                    // Why is told to this node.
                    return;
                }
            }
            to.truncate(nodes.stream().filter(Node::needsLog).mapToLong(node -> node.safe).min().orElse(0)
                    - (changes == null ? 0 : SAFETY_MARGIN));
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
            Copying asked = replacements.get(message);
            RaftOrder here = opened;
            if (asked != null && position > asked.receiver.namedAt) {
                asked.receiver.namedAt = position;
                asked.receiver.named = asked.number;
            }
            if (asked != null && here != null) {
                here.replaced(asked.receiver.number, asked.number, position, position);
                if (equals(asked.donor) && life == asked.donorLife) {
                    give(asked, position, here);
                }
            }
            if (changes != null && here != null) {
                changes.delivered(here, position, message);
            }
            if (random.nextInt(SAFE_LAG_MAX) == 0) {
                safe = Math.max(safe, position - random.nextInt(SAFE_LAG_MAX));
            }
        }

        /** As a server does then, it gets a copy: what it lacks is not in the log of those who lead. */
        private void beginAnew() {
            history.crashed(life);
            lost = true;
            copying = null;
            order = null;
            RaftOrder former = Objects.requireNonNull(opened);
            opened = null;
            Loop loop = Objects.requireNonNull(machine).loop("lost", this::failed);
            loop.execute(() -> {
                former.close();
                askForCopy(loop);
            });
        }

        @Override
        public void view(Group.View view) {
            // Nobody acts on it here.
        }

        @Override
        public void failed(Throwable cause) {
            // It is told so, or finds that the others have forgotten what it lacks.
            if (changes != null && changes.wasRemoved(number)) {
                over = true;
                history.crashed(life);
                return;
            }
            // A donor that it had given up may have named another copy, later than the one that gave it this one.
            boolean another = cause instanceof LostDirectoryException && named != begunWith;
            // The log of one that has begun with a copy may not go back as far as this one has come.
            boolean behind = cause instanceof DurableLog.TruncatedException
                    && nodes.stream().anyMatch(node -> node.begunWith != 0);
            if (another || behind || (changes != null && cause instanceof LostDirectoryException)) {
                beginAnew();
                return;
            }
            failures.add(host.name() + " failed at " + Nanos.text(kernel.now()) + ": " + cause);
        }
    }

    RaftRun(long seed, FaultPlan plan) {
        this(seed, plan, false);
    }

    /**
     * A run.
     *
     * @param losses whether nodes that come back may have lost all that they had
     */
    RaftRun(long seed, FaultPlan plan, boolean losses) {
        this(seed, plan, losses, false);
    }

    /** A run of three nodes on the first hosts, to which others come, and of which some go. */
    static RaftRun changing(long seed, FaultPlan plan) {
        return new RaftRun(seed, plan, false, true);
    }

    private RaftRun(long seed, FaultPlan plan, boolean losses, boolean changing) {
        this.plan = plan;
        this.losses = losses;
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
        changes = changing ? new RaftChanges(members, kernel.random("changes"), new Changing()) : null;
    }

    private Map<Integer, InetSocketAddress> configured(int number) {
        return changes == null ? members : changes.configured(number);
    }

    private final class Changing implements RaftChanges.Nodes {
        @Override
        public long append(int node) {
            RaftOrder to = nodes.get(node).order;
            if (to == null || !nodes.get(node).lives() || nodes.get(node).over) {
                return 0;
            }
            try {
                to.append(ByteBuffer.allocate(Long.BYTES).putLong(++messages).array());
                history.sent(nodes.get(node).life, messages);
                return messages;
            } catch (DurableLog.OverflowException | IllegalStateException notNow) {
                return 0;
            }
        }

        @Override
        public boolean isUp(int node) {
            return nodes.get(node).order != null && nodes.get(node).lives() && !nodes.get(node).over;
        }

        @Override
        public void comes(int node) {
            Node added = nodes.get(node);
            added.lost = true;
            SimMachine on = added.machine;
            if (on != null && added.lives()) {
                added.askForCopy(on.loop("lost", added::failed));
            }
        }
    }

    /** How often members have changed. */
    int changes() {
        return changes == null ? 0 : changes.count();
    }

    /** How many copies were asked for. */
    int copies() {
        return copies;
    }

    private OrderSettings settings(int number) {
        OrderSettings some = OrderSettings.of("any", number, configured(number)).withClusterId(CLUSTER);
        return new OrderSettings(some.cluster(), some.clusterId(), some.datagramKeys(), number, some.members(),
                some.voters(), 1 << 18, 1 << 13, 1 << 13, 1 << 16, Duration.ofMillis(300), Map.of());
    }

    private static void read(Directory from, String prefix, Map<String, byte[]> into) throws IOException {
        for (String name : from.list()) {
            try (DataFile file = from.open(name, Directory.Open.EXISTING)) {
                ByteBuffer content = ByteBuffer.allocate((int) file.size());
                file.read(content, 0);
                into.put(prefix + name, content.array());
            }
        }
    }

    Result run() {
        try {
            nodes.forEach(node -> node.host.boot());
            kernel.runUntil(Nanos.SECOND);
            injector.start();
            if (changes != null) {
                changing(changes);
            }
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

    private void changing(RaftChanges all) {
        kernel.schedule(Nanos.SECOND / 4, Label.of("members", "change"), () -> {
            if (appending) {
                all.next();
                changing(all);
            }
        });
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
                    + node.delivered + " " + (node.order == null ? node.where() : node.order.status())).toList());
        }
    }

    private boolean isAtRest() {
        Set<Long> ends = new HashSet<>();
        for (Node node : nodes) {
            if (changes != null && !changes.isMember(node.number)) {
                continue;
            }
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
