package tutti.sim.world.node;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.spi.Order;
import tutti.core.txn.TablePlacement;
import tutti.core.txn.TransactionId;
import tutti.node.ApplySettings;
import tutti.node.ReplicaNode;
import tutti.node.TransactionNames;
import tutti.node.copy.IncomingFiles;
import tutti.runtime.DamagedFileException;
import tutti.runtime.Directory;
import tutti.runtime.RemovedNodeException;
import tutti.sim.fault.FaultKind;
import tutti.sim.host.Host;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.machine.SimMachine;
import tutti.sim.net.Network;
import tutti.sim.world.database.Database;
import tutti.sim.world.database.DatabaseLog;
import tutti.sim.world.database.EngineKind;
import tutti.sim.world.database.Images;
import tutti.sim.world.database.LocalTables;
import tutti.sim.world.database.Run;
import tutti.sim.world.database.SimEngine;

/**
 * A host with a node on it, and its database. The node begins with each boot, and again when it has failed in a way that a new
 * start may mend, as the command {@code run-node} has it. Calls and callbacks are events of the kernel.
 */
public final class NodeHost {
    /** Where the order listens. */
    public static final int PORT = 7000;
    static final String ORDER = "order";
    static final String REPLICA = "node";
    static final List<String> COPY_PARTS = List.of(Images.PART, REPLICA, ORDER);
    private static final Label START = Label.of("node", "start");
    private static final Label END = Label.of("node", "end");
    /** How long a majority may be away before clients of a node with an odd number hear of doubt; at the others they wait for ever. */
    private static final long DOUBT_NANOS = 50 * Nanos.MILLI;
    private static final long RESTART_NANOS = 20 * Nanos.MILLI;
    private static final long RETENTION_NANOS = 100 * Nanos.MILLI;
    /** How long a node that has failed goes on until its process ends it, at most. */
    private static final long END_NANOS_MAX = 3 * Nanos.MILLI;
    /** A node that fails more often than this, and whose database comes no further meanwhile, will fail for ever. */
    private static final int RESTARTS_MAX = 20;

    /** Makes the protocol of one node. */
    public interface ProtocolFactory {
        /** A replica at the beginning of the order. */
        Protocol create(int node, Set<Integer> replicas, ReplicaWorld world);
    }

    /** Opens the order of a node for one life, whose number is higher than those before. */
    public interface OrderFactory {
        /** Not started yet. */
        Order open(Host host, int node, SimMachine machine, long life) throws IOException;

        /**
         * The same, where members come, go and move.
         *
         * @param configured all nodes and where they are, as this one is configured
         */
        default Order open(Host host, int node, SortedMap<Integer, InetSocketAddress> configured, SimMachine machine,
                long life) throws IOException {
            return open(host, node, machine, life);
        }

        /** Makes the order's directory of a copy that of a node. */
        default void adopt(int node, SortedMap<Integer, InetSocketAddress> configured, SimMachine machine,
                Directory directory, long number) throws IOException {
            throw new IOException("this order has no copies");
        }
    }

    /**
     * What nodes are made of.
     *
     * @param hosts names by node
     * @param founders how many of them are replicas in the beginning
     * @param members who are members by now; nothing if they stay the same
     * @param images of the databases of this world
     * @param copyBytesPerSecond that nodes send of a copy
     * @param chosen protocol, which nodes tell each other, and how its messages are read
     * @param protocol makes protocols
     * @param order opens orders
     * @param engine what their databases are like
     * @param placement of tables
     * @param timing of the databases
     * @param statement how long a client's statement takes, thinking included
     * @param tuning of the nodes
     * @param worst what faults have done to the data of a host so far, by its name: what a node may refuse for
     */
    public record Settings(List<String> hosts, int founders, Optional<Members> members, Images images,
            long copyBytesPerSecond, ChosenProtocol chosen, ProtocolFactory protocol,
            OrderFactory order, EngineKind engine, TablePlacement placement, Database.Timing timing,
            Distribution statement, Tuning tuning, Function<String, FaultKind.Promise> worst) {
        public Settings {
            hosts = List.copyOf(hosts);
        }

        /** The nodes with which the cluster begins. */
        public Set<Integer> replicas() {
            Set<Integer> all = new TreeSet<>();
            for (int node = 0; node < founders; node++) {
                all.add(node);
            }
            return all;
        }
    }

    /** What operators know of the members. */
    public interface Members {
        /** Where they are, by number. */
        SortedMap<Integer, InetSocketAddress> addresses();

        /** Whether a node was removed. */
        boolean isRemoved(int node);
    }

    /** See {@link ReplicaNode.Settings}. */
    public record Tuning(int appliers, int groupPositionsMax, int inFlightMax, long backlogBytesMax,
            long durabilityNanos, long snapshotPositions, long lingerNanos) {}

    private final Host host;
    private final Network network;
    private final int node;
    private final Settings settings;
    private final WorldLog log;
    private final LongSupplier messages;
    private final Database database;
    private @Nullable SimMachine machine;
    private @Nullable NodeLife life;
    private long lives;
    /** How often it has failed while its database held what it holds up to this position. */
    private int restarts;
    private long restartedAt;
    private @Nullable Throwable refusal;
    private boolean lostSight;
    private long sightsLost;
    private int port = PORT;
    private @Nullable SortedMap<Integer, InetSocketAddress> configured;
    private boolean lacksCopy;
    /** Somebody has stopped it, and starts it again. */
    private boolean stopped;
    private @Nullable IncomingCopy incoming;

    /**
     * On a host that is down and attached to the network.
     *
     * @param messages numbers the messages of the whole simulation
     */
    public NodeHost(Host host, Network network, int node, Settings settings, WorldLog log, LongSupplier messages) {
        this.host = host;
        this.network = network;
        this.node = node;
        this.settings = settings;
        this.log = log;
        this.messages = messages;
        this.database = new Database(host, settings.engine, settings.timing, new DatabaseTap(), settings.images,
                new LocalTables(settings.placement, node));
        host.onBoot(_ -> boot());
    }

    private final class DatabaseTap implements DatabaseLog {
        @Override
        public void applied(TransactionId transaction, long stateHash) {
            log.applied(node, transaction, stateHash);
        }

        @Override
        public void passedOver(TransactionId transaction, long stateHash) {
            log.passedOver(node, transaction, stateHash);
        }

        @Override
        public void holds(TransactionId transaction, int table, long hash) {
            log.holds(node, transaction, table, hash);
        }

        @Override
        public void executed(Run run) {
            log.requested(run);
            NodeLife now = life;
            SimulatedSession waiting = now == null ? null : now.client(run.transaction());
            if (waiting != null) {
                waiting.executedHere(run);
            }
        }

        @Override
        public void undertaken(Run run) {
            log.executed(run);
        }

        @Override
        public void skipped(long position) {
            log.skipped(node, position);
        }

        @Override
        public void inconsistent(long position, String what) {
            log.violated("foreign keys", "node " + node + " at position " + position + ": " + what);
        }
    }

    private void boot() {
        refusal = null;
        database.boot();
        machine = new SimMachine(host, network);
        incoming = null;
        host.onCrash(() -> {
            log.count("crash");
            NodeLife now = life;
            life = null;
            if (now != null) {
                now.end();
            }
        });
        start();
    }

    private void start() {
        if (stopped || life != null || incoming != null) {
            return;
        }
        if (settings.members.isEmpty()) {
            begin();
            return;
        }
        incoming = new IncomingCopy(this, Objects.requireNonNull(machine), COPY_PARTS);
        incoming.begin();
    }

    /** There is no copy to be awaited, or none any more. */
    void copied(IncomingCopy by, boolean another) {
        if (by.equals(incoming)) {
            incoming = null;
            lacksCopy = false;
            if (another) {
                log.count("node copied");
                database.reopen();
            }
            begin();
        }
    }

    /** There is no copy yet, or it could not be looked for. */
    void notCopied(IncomingCopy by, Throwable cause) {
        if (!by.equals(incoming)) {
            return;
        }
        incoming = null;
        lacksCopy |= by.isWanted();
        log.count("no copy");
        boolean damaged = cause instanceof DamagedFileException
                && settings.worst.apply(host.name()).compareTo(FaultKind.Promise.REFUSES) >= 0;
        if (isRemoved() || damaged) {
            refusal = cause;
        } else {
            host.after(RESTART_NANOS, START, this::start);
        }
    }

    /** Whether it takes part in nothing any more: it is down, or what the others have told it has ended its node. */
    public boolean hasLeft() {
        NodeLife now = life;
        return host.state() == Host.State.DOWN || (incoming == null && (now == null || now.hasLeft()));
    }

    /** Whether it was told that it was removed, and no list shows that yet. */
    public boolean isRemovedUnseen() {
        return refusal instanceof RemovedNodeException && !isRemoved();
    }

    private boolean isRemoved() {
        return settings.members.map(members -> members.isRemoved(node)).orElse(false);
    }

    /** Whether it cannot begin before it has a copy of another node's state. */
    public boolean awaitsCopy() {
        IncomingCopy now = incoming;
        return lacksCopy || (now != null && now.isWanted());
    }

    /** Stops it until {@link #startAt}. */
    public void stop() {
        stopped = true;
        if (host.state() == Host.State.DOWN) {
            return;
        }
        host.after(0, END, () -> {
            NodeLife now = life;
            IncomingCopy copy = incoming;
            life = null;
            incoming = null;
            if (copy != null) {
                copy.close();
            }
            if (now != null) {
                now.close();
            }
            if (!stopped) {
                // It was told to start before it had come to its end.
                host.after(RESTART_NANOS, START, this::start);
            }
        });
    }

    /** Starts it again, with its order at this port. */
    public void startAt(int where) {
        stopped = false;
        port = where;
        configured = null;
        if (host.state() != Host.State.DOWN) {
            host.after(RESTART_NANOS, START, this::start);
        }
    }

    /** Where its order listens. */
    public int port() {
        return port;
    }

    /** All nodes and where they are, as its operator wrote it down: those with which all began, or, for a new one, those that there are. */
    SortedMap<Integer, InetSocketAddress> configured() {
        if (configured == null) {
            SortedMap<Integer, InetSocketAddress> nodes = new TreeMap<>();
            if (node < settings.founders) {
                settings.replicas().forEach(each -> nodes.put(each, address(settings.hosts.get(each), PORT)));
            } else {
                settings.members.ifPresent(members -> nodes.putAll(members.addresses()));
            }
            nodes.put(node, address(host.name(), port));
            configured = nodes;
        }
        return configured;
    }

    Set<Integer> configuredNodes() {
        return settings.members.isPresent() ? configured().keySet() : settings.replicas();
    }

    /** Those that it asks for copies. */
    SortedMap<Integer, InetSocketAddress> donors() {
        SortedMap<Integer, InetSocketAddress> donors = new TreeMap<>(
                settings.members.map(Members::addresses).orElse(new TreeMap<>()));
        donors.keySet().removeIf(other -> other == node);
        return donors;
    }

    private static InetSocketAddress address(String name, int port) {
        return InetSocketAddress.createUnresolved(name, port);
    }

    private void begin() {
        SimEngine engine = database.open();
        if (engine == null) {
            log.count("connection refused");
            host.after(RESTART_NANOS, START, this::start);
            return;
        }
        life = new NodeLife(this, ++lives, Objects.requireNonNull(machine), engine);
    }

    /**
     * A life has failed. What a new start may mend is started anew at once; so is, until that helps, what stopped itself for its
     * disk's sake. A node whose data was damaged may refuse to go on. Its process hears of it somewhat later, and until then what is
     * left of the node goes on.
     */
    void failed(NodeLife failed, Throwable cause, boolean restartable) {
        if (isRemoved() || cause instanceof RemovedNodeException) {
            // The order may say so before any node shows it.
            ended(failed, () -> refusal = cause);
            return;
        }
        if (settings.members.isPresent() && IncomingFiles.helps(cause)) {
            log.count("copy wanted");
            ended(failed, () -> {
                incoming = new IncomingCopy(this, Objects.requireNonNull(machine), COPY_PARTS);
                incoming.want();
            });
            return;
        }
        long held = database.visible();
        restarts = held > restartedAt ? 1 : restarts + 1;
        restartedAt = held;
        boolean again = restartable && restarts <= RESTARTS_MAX;
        FaultKind.Promise worst = settings.worst.apply(host.name());
        if (!again && worst == FaultKind.Promise.RECOVERS) {
            broken(cause);
            return;
        }
        boolean refuses = !again && worst != FaultKind.Promise.STOPS;
        log.count(again ? "node restarted" : refuses ? "node refused" : "node stopped");
        host.after(host.random("end of life " + lives).nextLong(END_NANOS_MAX), END, () -> {
            if (failed.equals(life)) {
                life = null;
                if (!failed.knowsOfFailure()) {
                    log.violated("lifecycle", "node " + node + " has failed (" + cause.getMessage() + ") and says: "
                            + failed);
                }
                failed.close();
                if (refuses) {
                    refusal = cause;
                } else {
                    host.after(RESTART_NANOS, START, this::start);
                }
            }
        });
    }

    private void ended(NodeLife failed, Runnable then) {
        host.after(host.random("end of life " + lives).nextLong(END_NANOS_MAX), END, () -> {
            if (failed.equals(life)) {
                life = null;
                failed.close();
                then.run();
            }
        });
    }

    /** A life serves nobody any more, but takes part in the order. */
    void excluded(NodeLife excluded, Throwable cause) {
        if (cause instanceof ReplicaNode.RemovedException) {
            log.count("node removed");
            if (!isRemoved()) {
                log.violated("membership", "node " + node + " says: " + cause.getMessage() + "; but no list says so");
            }
        } else {
            log.count("node excluded");
            log.excluded(node);
        }
        host.after(0, END, () -> {
            if (excluded.equals(life)) {
                refusal = cause;
                excluded.end();
            }
        });
    }

    /** Whether it does not come back: its node refuses to go on with the data that it has, or its host is gone. */
    public boolean refuses() {
        return refusal != null || host.isRetired();
    }

    /** Something has happened that no start mends: the run ends. */
    void broken(Throwable cause) {
        host.kernel().schedule(0, END, () -> {
            throw new IllegalStateException("node " + node + " cannot go on: " + cause.getMessage(), cause);
        });
    }

    /** The run ends here: whatever the node has under way stays open. */
    public void cut() {
        NodeLife now = life;
        if (now != null) {
            log.ended(node, now.number());
        }
    }

    /** Whether it serves clients. */
    public boolean isReady() {
        NodeLife now = life;
        return now != null && now.isReady();
    }

    /** Whether it serves, and nothing is left to be done. */
    public boolean isQuiet() {
        NodeLife now = life;
        return now != null && now.isQuiet();
    }

    /** The last position that its order has delivered in this life, of messages that change nothing, too; 0 if it is down. */
    public long delivered() {
        ReplicaNode now = replica();
        return now == null ? 0 : now.deliveredPosition();
    }

    /** The present replica, to be asked; null if there is none. */
    public @Nullable ReplicaNode replica() {
        NodeLife now = life;
        return now == null ? null : now.replica();
    }

    /**
     * A client begins a transaction.
     *
     * @throws IllegalStateException if the node does not serve
     */
    public void begin(Submission submission, Client client) {
        NodeLife now = life;
        if (now == null || !now.isReady()) {
            throw new IllegalStateException("node " + node + " does not serve");
        }
        now.begin(submission, client);
    }

    /** Sets whether clients lose sight of it soon after it has begun to commit for them; those for whom it does, too. */
    public void setLostSight(boolean lost) {
        lostSight = lost;
        NodeLife now = life;
        if (lost && now != null) {
            now.lostSight();
        }
    }

    /** How many clients have lost sight of it because of that. */
    public long sightsLost() {
        return sightsLost;
    }

    boolean isLostSightOf() {
        return lostSight;
    }

    void sightLost() {
        sightsLost++;
    }

    /** Its number. */
    public int node() {
        return node;
    }

    /** Its machine. */
    public Host host() {
        return host;
    }

    /** Its database. */
    public Database database() {
        return database;
    }

    Settings settings() {
        return settings;
    }

    /** Where nodes give each other copies of what some of them lack, the log is soon no longer kept for those that are away. */
    private ReplicaNode.Retention retention() {
        return settings.members.isEmpty() || settings.placement.isEverywhere()
                ? ReplicaNode.Retention.UNLIMITED
                : new ReplicaNode.Retention(Long.MAX_VALUE, RETENTION_NANOS);
    }

    /** @param founders with whom the order began */
    ReplicaNode.Settings replicaSettings(Set<Integer> founders) {
        Tuning tuning = settings.tuning;
        return new ReplicaNode.Settings(node, founders, settings.placement, settings.chosen,
                new ApplySettings(tuning.appliers, tuning.groupPositionsMax, tuning.lingerNanos), tuning.inFlightMax,
                tuning.backlogBytesMax, Long.MAX_VALUE, tuning.durabilityNanos, tuning.snapshotPositions,
                retention(), TransactionNames.PLAIN,
                node % 2 == 1 ? DOUBT_NANOS : 0);
    }

    Order openOrder(SimMachine on, long number) throws IOException {
        return settings.members.isPresent()
                ? settings.order.open(host, node, configured(), on, number)
                : settings.order.open(host, node, on, number);
    }

    void adopt(SimMachine on, Directory directory, long number) throws IOException {
        settings.order.adopt(node, configured(), on, directory, number);
    }

    WorldLog log() {
        return log;
    }

    long nextMessage() {
        return messages.getAsLong();
    }

    @Override
    public String toString() {
        NodeLife now = life;
        Throwable why = refusal;
        return "node " + node + " " + host.state()
                + (now != null
                        ? " " + now
                        : incoming != null
                                ? " " + incoming
                                : host.isRetired()
                                        ? " for good"
                                        : why == null ? " down" : " refuses: " + why.getMessage());
    }
}
