package tutti.node;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Guarantee;
import tutti.core.protocol.OrderedParameters;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.TransactionRequest;
import tutti.core.protocol.Trait;
import tutti.core.spi.Completion;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.Group;
import tutti.core.spi.LocalTransaction;
import tutti.core.spi.Order;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.TablePlacement;
import tutti.core.txn.TransactionId;
import tutti.node.metrics.NodeMetrics;
import tutti.node.trace.Traces;
import tutti.runtime.Directory;
import tutti.runtime.Machine;

/**
 * One replica: runs a {@link Protocol} on a loop of its machine between a total order, an engine and the sessions of a front
 * end, and brings it from whatever the engine and the log hold to a state in which it may serve.
 *
 * <p>
 * <b>Recovery.</b> The engine knows the last position a that it has committed. The newest protocol snapshot at a position
 * s ≤ a is restored and the log is delivered from s on: the message at s, so that it is known to be the same log, and those
 * behind it to the protocol. It decides everything again, as it did before; what lies at or below a is not done again. The node is ready once a message of its own, submitted after the start, has come
 * back and everything before it is visible: then it has caught up with all that was acknowledged before it started.
 *
 * <p>
 * <b>Truncation.</b> Each replica tells the others, in the order, the position of its newest snapshot that its engine
 * holds durably: after a crash it would need the log from there. What lies before that at all replicas is forgotten; those
 * that are away for longer than {@link Retention} allows do not count.
 *
 * <p>
 * <b>Checked in production.</b> What must hold between order, protocol, engine and files is asserted where it can be seen
 * ({@link CommitPipeline}, {@link EngineCommits}, {@link LogContinuity}, {@link ControlMessages}). A violation stops the
 * replica, and says what was expected and found.
 *
 * <p>
 * <b>Threads.</b> Protocol, pipeline and transactions' states belong to the event loop. Public methods may be called from
 * any thread.
 */
public final class ReplicaNode implements Transactions, AutoCloseable {
    /**
     * For how long a node that is away, or excluded, holds the order's log at the others.
     *
     * @param bytes the log may become so large on its account
     * @param nanos it may be away for so long
     */
    public record Retention(long bytes, long nanos) {
        /** For ever. */
        public static final Retention UNLIMITED = new Retention(Long.MAX_VALUE, Long.MAX_VALUE);
    }

    /**
     * What a replica is made of.
     *
     * @param node its number, 0 to 255
     * @param replicas numbers of all replicas with which the order began ({@link Group#founders})
     * @param placement of tables with which the cluster begins; the same at all nodes
     * @param protocol with its parameters; whoever differs from those with which the cluster began stops
     * @param applying how it applies what others have changed, to begin with
     * @param inFlightMax how many local transactions may wait for their outcome at a time; further ones wait their turn
     * @param backlogBytesMax how many bytes of what is delivered and not yet visible are held in memory before delivery waits: of changes,
     *            their keys, requests that each replica executes, and each position
     * @param waitingBytesMax about how many bytes of memory requests may take, of all nodes' clients, that are ordered and not executed: while there
     *            are as many, this node tells nobody that a further one is logged, and has it wait
     * @param durabilityNanos how often at most the engine's durable position is asked for and told to the others, in nanoseconds
     * @param snapshotPositions after how many positions a snapshot of the protocol is taken; earlier, if 64 MiB have been delivered; later, if less has been
     *            delivered than what waits takes
     * @param retention for how long the order's log is kept for nodes that are away
     * @param names by which clients know transactions
     * @param doubtNanos how long this node may reach no majority before clients that wait for the outcome of a commit are told that it is in
     *            doubt, in nanoseconds; 0 for ever
     */
    public record Settings(int node, Set<Integer> replicas, TablePlacement placement, ChosenProtocol protocol,
            ApplySettings applying, int inFlightMax, long backlogBytesMax, long waitingBytesMax, long durabilityNanos,
            long snapshotPositions, Retention retention, TransactionNames names, long doubtNanos) {
        /** @throws IllegalArgumentException if the protocol needs all tables at all nodes, or a node keeps what no other one keeps all of */
        public Settings {
            Set<Integer> alone = placement.isEverywhere() ? Set.of() : placement.withoutDonor(replicas);
            if (!alone.isEmpty()) {
                throw new IllegalArgumentException("nobody could give a copy to nodes " + alone
                        + ": no other node keeps all the tables that one of them keeps; place some tables on one node more");
            }
            if (!placement.isEverywhere() && !protocol.claims().tablesMayBePartial()) {
                throw new IllegalArgumentException("under protocol " + protocol.name()
                        + " every node executes what clients of others ask for, so all keep all tables");
            }
        }

        /** Four appliers, groups of 64, 1000 in flight, 256 MiB, 128 MiB, two seconds, 50,000 positions; nothing waits, the log is kept for all. */
        public static Settings defaults(int node, Set<Integer> replicas, ChosenProtocol protocol) {
            return new Settings(node, replicas, TablePlacement.EVERYWHERE, protocol, ApplySettings.DEFAULTS, 1000,
                    256L << 20, 128L << 20, 2_000_000_000L, 50_000, Retention.UNLIMITED, TransactionNames.PLAIN, 0);
        }
    }

    /** Where a replica stands; the legal transitions are downward, and from anywhere to the last three. */
    public enum State {
        /** Nothing has been started. */
        NEW,
        /** Delivers and applies what it missed. Reads see an old prefix; writes are refused. */
        CATCHING_UP,
        /** Serves. */
        READY,
        /**
         * Its database holds effects that the others have left out: it takes part in the order, so that no quorum is lost with it,
         * and in nothing else. Its refusals say how to go on.
         */
        EXCLUDED,
        /** Stopped on request. */
        STOPPED,
        /** Stopped because it could not go on; its listener has heard why. */
        FAILED
    }

    /** Hears of the end that nobody asked for. */
    public interface FailureListener {
        /**
         * The replica has stopped.
         *
         * @param cause why
         * @param restartable whether starting anew from engine and log may help
         */
        void failed(Throwable cause, boolean restartable);

        /**
         * The replica is {@linkplain State#EXCLUDED excluded}: its clients are to go elsewhere. Whoever does not close it keeps
         * its part in the order.
         */
        default void excluded(Throwable cause) {
            failed(cause, false);
        }
    }

    /**
     * Why a replica has failed that begins anew at once, with no client's session open: at a position whose effects it could
     * not make beside them, and most nodes have made.
     */
    public static final class BehindException extends IllegalStateException {
        private static final long serialVersionUID = 1;

        BehindException(String message) {
            super(message);
        }
    }

    /** Why a replica has failed that runs another protocol than its cluster, or with other parameters. It has never taken part in that. */
    public static final class OtherProtocolException extends IllegalStateException {
        private static final long serialVersionUID = 1;

        OtherProtocolException(String message) {
            super(message);
        }
    }

    /** Why a replica serves nobody any more that was removed from its cluster. */
    public static final class RemovedException extends IllegalStateException {
        private static final long serialVersionUID = 1;

        RemovedException(String message) {
            super(message);
        }
    }

    /** A change of the members that somebody asks for. */
    public sealed interface MemberChange {
        /** Which node it is about. */
        int node();

        /**
         * A node comes; it begins with a copy.
         *
         * @param address host and port of its order
         */
        record Add(int node, String address) implements MemberChange {}

        /** A node goes, for good. */
        record Remove(int node) implements MemberChange {}

        /** A node is somewhere else from now on. */
        record Move(int node, String address) implements MemberChange {}
    }

    /**
     * A position that some node could not apply.
     *
     * @param transaction whose effects they are
     * @param everywhere whether each node executes it by itself
     * @param sqlState of the first such node's error
     * @param message likewise
     * @param votes by node: {@code made}, {@code refused}, or {@code trouble} if its database is in trouble and it waits
     * @param verdict {@code OPEN}, {@code HOLDS} or {@code SKIPPED}
     */
    public record Position(long position, TransactionId transaction, boolean everywhere, String sqlState,
            String message, Map<Integer, String> votes, String verdict) {}

    /**
     * A table that some nodes may lack.
     *
     * @param name as people read it
     * @param nodes that keep it
     * @param made whether the databases are known to have done it
     * @param since position of the message that placed it last; 0 if the cluster began so
     */
    public record PlacedTable(String name, Set<Integer> nodes, boolean made, long since) {}

    private final Settings settings;
    private final Order order;
    private final ReplicaCore core;
    private final NodeMetrics metrics;

    /**
     * Puts a replica together; {@link #start} begins.
     *
     * @param machine that it runs on
     * @param directory for the node's own files; nobody else's
     * @param protocol makes the protocol for the world it is given
     * @throws IOException if the node's files cannot be used
     */
    public ReplicaNode(Settings settings, Machine machine, Directory directory, Order order, Engine engine,
            Function<ReplicaWorld, Protocol> protocol, NodeMetrics metrics, FailureListener failureListener)
            throws IOException {
        this.settings = settings;
        this.order = order;
        this.metrics = metrics;
        this.core = new ReplicaCore(settings, machine, directory, order, engine, protocol, metrics, failureListener);
    }

    /**
     * Begins: the engine is asked for its position, the newest snapshot up to there is restored, and the replica joins the
     * order and catches up, until {@link #ready}. Called once.
     *
     * @return completes when it has joined the order; fails, as the replica does, if the node's files cannot be read, the
     *         engine does not answer, or the log no longer holds what the engine has missed ({@link DurableLog.TruncatedException})
     */
    public CompletableFuture<Void> start() {
        return core.start();
    }

    /** Has what clients do written down; before {@link #start}. */
    public void record(WorkloadRecorder recorder) {
        core.transactions().record(recorder);
    }

    @Override
    public Traces traces() {
        return core.traces();
    }

    /** Completes when the replica has caught up for the first time; fails if it stops before. */
    public CompletableFuture<Void> ready() {
        return core.lifecycle().ready();
    }

    /** Where it stands. */
    public State state() {
        return core.lifecycle().state();
    }

    @Override
    public long visiblePosition() {
        return core.visiblePosition();
    }

    /** Nodes for which this one does not keep the order's log any more, since they have been away for too long. */
    public Set<Integer> givenUp() {
        return core.logKeeping().givenUp();
    }

    /** Keeps the order's log for so long from now on, for those that are away or excluded. From any thread. */
    public void retention(Retention limits) {
        core.loop().execute(() -> core.logKeeping().retention(limits));
    }

    /** Applies what others have changed by these settings from now on. From any thread. */
    public void applying(ApplySettings settings) {
        core.loop().execute(() -> core.pipeline().applying(settings));
    }

    /** Those parameters of the protocol that are each node's own have other values from now on; others are not looked at. From any thread. */
    public void configured(ChosenProtocol now) {
        core.loop().execute(() -> core.configured(now));
    }

    /** Highest position that the order has delivered here. */
    public long deliveredPosition() {
        return core.deliveredPosition();
    }

    @Override
    public long arrivedPosition() {
        return core.inbox().arrivedPosition();
    }

    /** This life's number, larger than any before. */
    public long incarnation() {
        return core.life().incarnation();
    }

    /** What the order's log says of itself. */
    public DurableLog.Status orderStatus() {
        return order.log().status();
    }

    /** Which nodes can be reached. */
    public Group.View view() {
        return core.inbox().view();
    }

    /** Local transactions that wait for the outcome of their commit. */
    public int inFlight() {
        return core.transactions().inFlight();
    }

    /** Completes when no local transaction waits for the outcome of its commit, which may be at once. */
    public CompletableFuture<Void> idle() {
        CompletableFuture<Void> waiter = new CompletableFuture<>();
        core.loop().execute(() -> core.transactions().idle(waiter));
        return waiter;
    }

    /** Highest position that a crash of this node's engine would not undo, as of the last time it was asked. */
    public long durablePosition() {
        return core.logKeeping().durablePosition();
    }

    // ------------------------------------------------------------------------------------------ front end

    @Override
    public boolean executesAtOnce() {
        return core.claims().has(Trait.EXECUTES_AT_ONCE);
    }

    @Override
    public boolean needsReads() {
        return core.claims().has(Trait.NEEDS_READS);
    }

    @Override
    public boolean takesReads() {
        return core.claims().has(Trait.TAKES_READS);
    }

    @Override
    public boolean needsClasses() {
        return core.claims().has(Trait.NEEDS_CLASSES);
    }

    @Override
    public boolean hearsOfWaits() {
        return core.claims().has(Trait.HEARS_OF_WAITS);
    }

    @Override
    public void repeats() {
        metrics.repeated();
    }

    @Override
    public void repeatedInVain() {
        metrics.repeatedInVain();
    }

    @Override
    public void lost(NodeMetrics.Loss loss) {
        metrics.lost(loss);
    }

    @Override
    public void slow(long nanos, String statement) {
        metrics.slow(nanos, statement);
    }

    @Override
    public boolean isWanted(long key) {
        return core.transactions().bookings().isWanted(key);
    }

    @Override
    public boolean wantsAny() {
        return core.transactions().bookings().wantsAny();
    }

    @Override
    public boolean mayBeWanted(int kind) {
        return core.transactions().bookings().mayBeWanted(kind);
    }

    @Override
    public void want(long key) {
        core.loop().execute(() -> core.transactions().bookings().want(key));
    }

    @Override
    public Booking book(long key, Completion<Long> come) {
        return core.transactions().bookings().begin(key, come);
    }

    @Override
    public boolean everywhereIfPossible() {
        return core.claims().has(Trait.EVERYWHERE_IF_POSSIBLE);
    }

    @Override
    public boolean wholeOnly() {
        return core.claims().has(Trait.WHOLE_ONLY);
    }

    @Override
    public boolean classesCoverReads() {
        return needsClasses() && serializable();
    }

    @Override
    public boolean promises() {
        return core.claims().has(Trait.CERTIFIES_BY_KEYS);
    }

    @Override
    public boolean serializable() {
        return core.claims().guarantee() == Guarantee.SERIALIZABILITY;
    }

    @Override
    public long hold() {
        return core.horizon().begin();
    }

    @Override
    public void unhold(long position) {
        core.horizon().end(position);
    }

    @Override
    public TransactionNames names() {
        return settings.names();
    }

    @Override
    public TransactionId reserve() {
        return core.transactions().reserve();
    }

    @Override
    public void release(TransactionId name) {
        core.transactions().release(name);
    }

    @Override
    public Ticket begin(LocalTransaction session, long since, @Nullable TransactionId name) {
        return core.transactions().begin(session, since, name);
    }

    @Override
    public Ticket again(LocalTransaction session, long since, TransactionId name) {
        return core.transactions().again(session, since, name);
    }

    @Override
    public void barrier(byte[] statement, KeySet keys, @Nullable TransactionId name, Completion<ExecuteResult> done) {
        core.loop().execute(() -> core.transactions().barrier(statement, keys, name, done));
    }

    @Override
    public void outcome(TransactionId transaction, Completion<TransactionOutcome> done) {
        whenServing(done, () -> core.questions().ask(transaction, done));
    }

    @Override
    public void await(long position, Completion<Long> done) {
        core.loop().execute(() -> core.questions().await(position, done));
    }

    @Override
    public void awaitAll(Completion<Long> done) {
        whenServing(done, () -> core.questions().awaitAll(done));
    }

    @Override
    public void awaitElsewhere(long position, long patienceNanos, Completion<Set<Integer>> done) {
        core.loop().execute(() -> core.elsewhere().await(position, patienceNanos, done));
    }

    /** Positions that some node could not apply, the latest thousand and all that are open, ascending. From any thread. */
    public void positions(Completion<List<Position>> done) {
        core.loop().execute(() -> done.succeeded(core.settlement().positions()));
    }

    /**
     * Has a position decided by hand at which the nodes wait for each other. From any thread.
     *
     * @param holds whether its effects hold; if not, nodes that have made them are excluded
     * @param done told when that is in the order's hands; fails if nobody waits for it
     */
    public void decide(long position, boolean holds, Completion<Void> done) {
        core.loop().execute(() -> core.settlement().decide(position, holds, done));
    }

    /** Has a life of a node end in the order, as when its node is not in sight; for tests. */
    void fence(int node, long incarnation) {
        core.loop().execute(() -> core.send(new Control.Fence(node, incarnation)));
    }

    /**
     * Begins to give a node a copy: has all nodes told that it begins anew, and takes what its replica begins with, behind which the log is kept until
     * {@link #copied} is called. From any thread.
     *
     * @param receiver takes no part in the order, from before this is called until it has the copy
     * @param directory number of its new order directory, which no other has
     * @param done told when the database may be copied: all is visible in it that the copy must hold. Fails if this node does not
     *            serve, the other takes part, or another copy is begun. Never told if the node stops
     */
    public void copy(int receiver, long directory, Completion<StateCopy> done) {
        core.loop().execute(() -> core.copies().begin(receiver, directory, done));
    }

    /** In place of a node's number: what is copied is for nobody yet. */
    static final int BACKUP = -2;

    /**
     * Takes what the replica of any node could begin with, and keeps the log behind that until {@link #copied} is called. From any thread.
     *
     * @param done told when the database may be copied, as for {@link #copy}. Fails if this node does not serve, or gives a copy
     */
    public void backUp(Completion<StateCopy> done) {
        core.loop().execute(() -> core.copies().backUp(done));
    }

    /** A copy that was taken has been made, or given up. From any thread. */
    public void copied(StateCopy copy, boolean complete) {
        core.loop().execute(() -> core.copies().end(copy, complete));
    }

    /**
     * Has somebody look where {@link #look} has this number ordered, at whichever node that is called; he is told never if it is not. Takes
     * the place of an earlier one. From any thread.
     *
     * @param done told when he is expected; fails if this node does not serve
     */
    public void expect(long number, PositionReader reader, Completion<Void> done) {
        whenServing(done, () -> {
            core.readsAtPosition().expect(number, reader);
            done.succeeded(null);
        });
    }

    /**
     * Has a number ordered at which those nodes look that expect to. From any thread.
     *
     * @param done told when that is in the order's hands; fails if this node does not serve
     */
    public void look(long number, Completion<Void> done) {
        whenServing(done, () -> {
            core.send(new Control.Look(number));
            done.succeeded(null);
        });
    }

    /** The members as of the position that was delivered last. From any thread. */
    public Group.Members members() {
        return core.changes().list();
    }

    /**
     * Changes the members, while all goes on. From any thread.
     *
     * @param done told the members as of the message in the order that changes them; fails with {@code 0A000} if order or protocol want
     *            them to stay the same, with {@code 55000} if it cannot be done now, and with {@code 57P03} if that is not known
     */
    public void change(MemberChange change, Completion<Group.Members> done) {
        core.loop().execute(() -> core.changes().ask(change, done));
    }

    /** The tables that some nodes may lack, by name, as of the position that was delivered last. From any thread. */
    public List<PlacedTable> placements() {
        return core.placements().list();
    }

    /** Those of {@link #placements} that this node does not keep. From any thread. */
    public List<PlacedTable> lacks() {
        return placements().stream().filter(table -> !table.nodes().contains(settings.node())).toList();
    }

    /**
     * Keeps tables on some nodes only, from one position of the order on, while all goes on ({@link Engine#preparePlacement}). From any thread.
     *
     * @param tables at least one, as a person names them
     * @param nodes that keep them then; none to forget that they are placed
     * @param done told all that are placed, when this node's database has made it; fails with {@code 0A000} if protocol or database want all nodes to
     *            keep all tables, with {@code 55000} if it cannot be, with the database's reason if that refuses it, and with {@code 57P03} if that is
     *            not known
     */
    public void place(List<String> tables, Set<Integer> nodes, Completion<List<PlacedTable>> done) {
        List<String> names = List.copyOf(tables);
        Set<Integer> keepers = Set.copyOf(nodes);
        core.loop().execute(() -> core.placements().ask(names, keepers, done));
    }

    /** The parameters of the protocol that the order can change, as of the position that was delivered last. From any thread. */
    public OrderedParameters parameters() {
        return core.parameters().present();
    }

    /**
     * Changes them, from one position of the order on, at all nodes. From any thread.
     *
     * @param wanted values by name, of those that change
     * @param done told all as of the message in the order that changes them; fails with {@code 0A000} if the protocol has none, with {@code 22023}
     *            if a value cannot be, with {@code 55000} if it cannot be done now, and with {@code 57P03} if that is not known
     */
    public void change(Map<String, String> wanted, Completion<OrderedParameters> done) {
        Map<String, String> values = Map.copyOf(wanted);
        core.loop().execute(() -> core.parameters().ask(values, done));
    }

    private void whenServing(Completion<?> done, Runnable task) {
        core.loop().execute(() -> {
            String refusal = refusal();
            if (refusal == null) {
                task.run();
            } else {
                done.failed(new EngineFailure("57P03", refusal, true));
            }
        });
    }

    @Override
    public void request(byte[] request, ConflictClasses classes, KeySet keys, @Nullable TransactionId name,
            Completion<ExecuteResult> done) {
        core.loop().execute(() -> core.transactions().request(request, classes, keys,
                TransactionRequest.Placement.ALL, name, done));
    }

    @Override
    public boolean undertakes() {
        return core.claims().has(Trait.UNDERTAKES);
    }

    @Override
    public void undertake(byte[] request, ConflictClasses classes, @Nullable TransactionId name,
            Completion<ExecuteResult> done) {
        core.loop().execute(() -> core.transactions().request(request, classes, KeySet.EMPTY,
                TransactionRequest.Placement.OWNER, name, done));
    }

    @Override
    public void log(byte[] request, ConflictClasses classes, @Nullable TransactionId name,
            Completion<TransactionId> logged) {
        core.loop().execute(() -> core.transactions().log(request, classes, name, logged));
    }

    @Override
    public @Nullable String refusal() {
        return core.refusal();
    }

    /** Leaves the order and stops; transactions that were not answered stay in doubt. Does not close the engine. */
    @Override
    public void close() {
        core.close();
    }

    @Override
    public String toString() {
        return "replica " + settings.node() + " " + state() + " at " + core.visiblePosition() + " of "
                + core.deliveredPosition()
                + ", durable " + durablePosition();
    }
}
