package tutti.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.Message;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.Replica;
import tutti.core.protocol.Request;
import tutti.core.spi.Completion;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.Group;
import tutti.core.spi.LocalTransaction;
import tutti.core.spi.Order;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.node.metrics.NodeMetrics;
import tutti.runtime.Directory;
import tutti.runtime.Loop;
import tutti.runtime.Machine;

/**
 * One replica in the real world: runs a {@link Protocol} on an event loop between a total order, an engine and the
 * sessions of a front end, and brings it from whatever the engine and the log hold to a state in which it may serve.
 *
 * <p>
 * <b>Recovery.</b> The engine knows the last position a that it has committed. The newest protocol snapshot at a position
 * s ≤ a is restored and the log is delivered from s + 1. The protocol decides everything again, as it did before; what
 * lies at or below a is not done again. The node is ready once a message of its own, submitted after the start, has come
 * back and everything before it is visible: then it has caught up with all that was acknowledged before it started.
 *
 * <p>
 * <b>Truncation.</b> Each replica tells the others, in the order, the position of its newest snapshot that its engine
 * holds durably: after a crash it would need the log from there. What lies before that at all replicas is forgotten.
 *
 * <p>
 * <b>Threads.</b> Protocol, pipeline and transactions' states belong to the event loop. Public methods may be called from
 * any thread.
 */
public final class ReplicaNode implements Transactions, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ReplicaNode.class);

    /**
     * What a replica is made of.
     *
     * @param node its number, 0 to 255
     * @param replicas numbers of all replicas
     * @param protocolName how the protocol is called in configurations; nodes with different ones refuse each other
     * @param protocolParameters what of it is not as by default; nodes with different ones refuse each other
     * @param appliers how many write sets are applied side by side, at least 1
     * @param groupPositionsMax how many positions are made visible by one engine transaction at most
     * @param inFlightMax how many local transactions may wait for their outcome at a time; further ones wait their turn
     * @param backlogBytesMax how many bytes of delivered and not yet visible changes are held in memory before delivery
     *            waits
     * @param durabilityNanos how often the engine's durable position is told to the others, in nanoseconds
     * @param snapshotPositions after how many positions a snapshot of the protocol is taken
     * @param lingerNanos for how long transactions of other nodes may wait for more, while nobody here waits to see them, in
     *            nanoseconds; 0 for never
     */
    public record Settings(int node, Set<Integer> replicas, String protocolName,
            Map<String, String> protocolParameters, int appliers,
            int groupPositionsMax, int inFlightMax, long backlogBytesMax, long durabilityNanos,
            long snapshotPositions, long lingerNanos) {
        /** Four appliers, groups of 64, 1000 in flight, 256 MiB, two seconds, 50,000 positions, no waiting for more. */
        public static Settings defaults(int node, Set<Integer> replicas, String protocolName) {
            return defaults(node, replicas, protocolName, Map.of());
        }

        /** Likewise, with parameters of the protocol. */
        public static Settings defaults(int node, Set<Integer> replicas, String protocolName,
                Map<String, String> protocolParameters) {
            return new Settings(node, replicas, protocolName, protocolParameters, 4, 64, 1000, 256L << 20,
                    2_000_000_000L, 50_000, 0);
        }

        /** The protocol as nodes tell it each other. */
        String protocol() {
            return protocolParameters.isEmpty() ? protocolName : protocolName + " " + new TreeMap<>(protocolParameters);
        }
    }

    /** Where a replica stands; the legal transitions are downward, and from anywhere to the last two. */
    public enum State {
        /** Nothing has been started. */
        NEW,
        /** Delivers and applies what it missed. Reads see an old prefix; writes are refused. */
        CATCHING_UP,
        /** Serves. */
        READY,
        /** Stopped on request. */
        STOPPED,
        /** Stopped because it could not go on; {@link #failure} says why. */
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
    }

    private record Delivery(long position, int sender, @Nullable Control control, @Nullable Message message) {}

    private final Settings settings;
    private final Order order;
    private final Engine engine;
    private final Protocol protocol;
    private final Protocols.Claims claims;
    private final NodeFiles files;
    private final NodeMetrics metrics;
    private final FailureListener failureListener;
    private final Loop loop;
    private final long incarnation;
    private final Horizon horizon = new Horizon();
    private final LocalTransactions transactions;
    private final Outcomes outcomes;
    private final Questions questions;
    private final CompletableFuture<Void> joined = new CompletableFuture<>();
    private final CompletableFuture<Void> ready = new CompletableFuture<>();

    /* Between the order's thread and the loop. */
    private final ConcurrentLinkedQueue<Delivery> deliveries = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean deliveriesScheduled = new AtomicBoolean();
    private final Backlog backlog;

    /* Read from any thread. */
    private volatile State state = State.NEW;
    private volatile @Nullable Throwable failure;
    private volatile Group.View view = Group.View.NONE;
    private volatile long visiblePosition;
    private volatile long deliveredPosition;
    /** Of what the order has handed over, whether the loop has come to it or not. */
    private volatile long arrivedPosition;

    /* Of the event loop. */
    private final ArrayDeque<Runnable> events = new ArrayDeque<>();
    private final ArrayDeque<Runnable> effects = new ArrayDeque<>();
    private boolean telling;
    /** Which request of a timer counts. */
    private final Map<Long, Long> timers = new HashMap<>();
    private long timerTurns;
    private final ArrayDeque<byte[]> unsent = new ArrayDeque<>();
    private final LogKeeping logKeeping;
    private final CommitPipeline pipeline;
    private long recoveredPosition;
    private Set<Integer> orderers = Set.of();
    private long helloPosition;

    /**
     * Puts a replica together; {@link #start} begins.
     *
     * @param machine that it runs on
     * @param directory for the node's own files; nobody else's
     * @param protocol makes the protocol for the world it is given
     * @throws IOException if the node's files cannot be used
     */
    public ReplicaNode(Settings settings, Machine machine, Directory directory, Order order, Engine engine,
            Function<Replica, Protocol> protocol, NodeMetrics metrics, FailureListener failureListener)
            throws IOException {
        this.metrics = metrics;
        this.settings = settings;
        this.order = order;
        this.engine = engine;
        this.failureListener = failureListener;
        this.files = new NodeFiles(directory);
        this.incarnation = files.nextIncarnation();
        this.protocol = protocol.apply(new World());
        this.claims = Protocols.describe(settings.protocolName(), settings.protocolParameters()).claims();
        this.loop = machine.loop("tutti-replica-" + settings.node(), cause -> fail(cause, false));
        this.transactions = new LocalTransactions(settings.node(), incarnation, settings.inFlightMax(),
                machine.clock(), loop, new Parts(), metrics, horizon);
        this.outcomes = new Outcomes(this.protocol.commitsByOwnMessage());
        this.backlog = new Backlog(settings.backlogBytesMax(), order.log());
        this.logKeeping = new LogKeeping(settings, engine, machine, loop, files, new Log());
        this.pipeline = new CommitPipeline(engine, machine.clock(), loop, new PipelineEvents(), metrics,
                settings.appliers(), settings.groupPositionsMax(), settings.lingerNanos(), this::unwatched);
        this.questions = new Questions(new Asked(), outcomes, incarnation << 32);
    }

    /**
     * Begins: the engine is asked for its position, the newest snapshot up to there is restored, and the replica joins the
     * order and catches up, until {@link #ready}. Called once.
     *
     * @return completes when it has joined the order; fails, as the replica does, if the node's files cannot be read, the
     *         engine does not answer, or the log no longer holds what the engine has missed ({@link DurableLog.TruncatedException})
     */
    public CompletableFuture<Void> start() {
        state = State.CATCHING_UP;
        engine.onBlocked(new Engine.BlockedListener() {
            @Override
            public void blocked(long position, LocalTransaction holder) {
                loop.execute(() -> transactions.onBlocked(position, holder));
            }

            @Override
            public void blocked(LocalTransaction waiter, LocalTransaction holder) {
                loop.execute(() -> transactions.onBlocked(waiter, holder));
            }

            @Override
            public void waits(Engine.Applier waiter, Set<LocalTransaction> locals, Set<Engine.Applier> appliers) {
                loop.execute(() -> pipeline.waits(waiter, transactions.asking(locals), appliers));
            }
        });
        engine.onLost(() -> fail(new IllegalStateException(
                "the engine's server went away or restarted; its last commits must be made again from the log"), true));
        engine.appliedPosition(new LoopCompletion<>(loop, position -> {
            try {
                recover(position);
                joined.complete(null);
            } catch (IOException | DurableLog.TruncatedException | RuntimeException cannot) {
                fail(cannot, false);
            }
        }, unknown -> fail(new IllegalStateException(
                "the engine does not tell its position: " + unknown.sqlState() + " " + unknown.message()), true)));
        return joined.copy();
    }

    private void recover(long position) throws IOException, DurableLog.TruncatedException {
        recoveredPosition = position;
        Optional<NodeFiles.Snapshot> snapshot = files.newestUpTo(position);
        long snapshotPosition = snapshot.map(NodeFiles.Snapshot::position).orElse(0L);
        if (snapshot.isPresent()) {
            NodeSnapshot kept = NodeSnapshot.of(snapshot.get().state());
            protocol.restore(kept.protocol());
            kept.restore(outcomes);
            logKeeping.recovered(snapshotPosition);
        }
        visiblePosition = position;
        long seen = horizon.visible(position);
        deliveredPosition = snapshotPosition;
        pipeline.open(position);
        LOG.info("node {} incarnation {}: engine holds position {}, protocol begins at {}", settings.node(),
                incarnation, position, snapshotPosition);
        OrderEvents events = new OrderEvents();
        order.group().join(events);
        order.log().start(snapshotPosition, events);
        // the first message of this life, as a fence ends with it
        send(new Control.Hello(incarnation, settings.protocol()).encode());
        tell(() -> protocol.committed(position, seen));
        loop.schedule(settings.durabilityNanos(), logKeeping::tellDurable);
    }

    /** Has what clients do written down; before {@link #start}. */
    public void record(WorkloadRecorder recorder) {
        transactions.record(recorder);
    }

    /** Completes when the replica has caught up for the first time; fails if it stops before. */
    public CompletableFuture<Void> ready() {
        return ready.copy();
    }

    /** Where it stands. */
    public State state() {
        return state;
    }

    /** Why it has failed, or null. */
    public @Nullable Throwable failure() {
        return failure;
    }

    @Override
    public long visiblePosition() {
        return visiblePosition;
    }

    /** Highest position that the order has delivered here. */
    public long deliveredPosition() {
        return deliveredPosition;
    }

    @Override
    public long arrivedPosition() {
        return arrivedPosition;
    }

    /** This life's number, larger than any before. */
    public long incarnation() {
        return incarnation;
    }

    /** What the order's log says of itself. */
    public DurableLog.Status orderStatus() {
        return order.log().status();
    }

    /** Which nodes can be reached. */
    public Group.View view() {
        return view;
    }

    /** Local transactions that wait for the outcome of their commit. */
    public int inFlight() {
        return transactions.inFlight();
    }

    /** Completes when no local transaction waits for the outcome of its commit, which may be at once. */
    public CompletableFuture<Void> idle() {
        CompletableFuture<Void> waiter = new CompletableFuture<>();
        loop.execute(() -> transactions.idle(waiter));
        return waiter;
    }

    /** Highest position that a crash of this node's engine would not undo, as of the last time it was asked. */
    public long durablePosition() {
        return logKeeping.durablePosition();
    }

    // ------------------------------------------------------------------------------------------ front end

    @Override
    public boolean executesAtOnce() {
        return protocol.executesAtOnce();
    }

    @Override
    public boolean needsReads() {
        return protocol.needsReads();
    }

    @Override
    public boolean needsClasses() {
        return claims.needsClasses();
    }

    @Override
    public boolean everywhereIfPossible() {
        return claims.everywhereIfPossible();
    }

    @Override
    public boolean wholeOnly() {
        return claims.wholeOnly();
    }

    @Override
    public boolean classesCoverReads() {
        return claims.needsClasses() && serializable();
    }

    @Override
    public boolean serializable() {
        return claims.isolation() == Protocols.Isolation.SERIALIZABILITY;
    }

    @Override
    public long hold() {
        return horizon.begin();
    }

    @Override
    public void unhold(long position) {
        horizon.end(position);
    }

    @Override
    public Ticket begin(LocalTransaction session, long since) {
        return transactions.begin(session, since, null);
    }

    @Override
    public TransactionId reserve() {
        return transactions.reserve();
    }

    @Override
    public void release(TransactionId name) {
        transactions.release(name);
    }

    @Override
    public Ticket begin(LocalTransaction session, long since, @Nullable TransactionId name) {
        return transactions.begin(session, since, name);
    }

    @Override
    public void barrier(byte[] statement, KeySet keys, Completion<ExecuteResult> done) {
        barrier(statement, keys, null, done);
    }

    @Override
    public void barrier(byte[] statement, KeySet keys, @Nullable TransactionId name, Completion<ExecuteResult> done) {
        loop.execute(() -> transactions.barrier(statement, keys, name, done));
    }

    @Override
    public void outcome(TransactionId transaction, Completion<TransactionOutcome> done) {
        whenServing(done, () -> questions.ask(transaction, done));
    }

    @Override
    public void await(long position, Completion<Long> done) {
        loop.execute(() -> questions.await(position, done));
    }

    /** Whether nobody at this node waits to see something, and no other node does to hear that it can be seen here. */
    private boolean unwatched() {
        return state == State.READY && transactions.none() && !protocol.visibilityAwaitedElsewhere();
    }

    @Override
    public void awaitAll(Completion<Long> done) {
        whenServing(done, () -> questions.awaitAll(done));
    }

    /** Has a life of a node end in the order, as when its node is not in sight; for tests. */
    void fence(int node, long life) {
        loop.execute(() -> send(new Control.Fence(node, life).encode()));
    }

    private void whenServing(Completion<?> done, Runnable task) {
        loop.execute(() -> {
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
        loop.execute(() -> transactions.request(request, classes, keys, name, done));
    }

    @Override
    public @Nullable String refusal() {
        return switch (state) {
            case NEW, CATCHING_UP -> "the node is catching up with the cluster: visible position " + visiblePosition
                    + " of " + Math.max(deliveredPosition, visiblePosition) + "; try again soon, or another node";
            case STOPPED -> "the node is stopping; use another node";
            case FAILED -> "the node has stopped because of an error (" + failure + "); use another node";
            case READY -> view.majority()
                    ? null
                    : "the node cannot reach a majority of the cluster (it sees " + view.members()
                            + "): writes wait until it does; use a node that can";
        };
    }

    // ------------------------------------------------------------------------------------------ protocol

    /** Tells the protocol something, and then does what it asked for meanwhile; one event after the other. */
    private void tell(Runnable event) {
        events.add(event);
        if (telling) {
            return;
        }
        telling = true;
        for (Runnable next = events.poll(); next != null; next = events.poll()) {
            next.run();
            for (Runnable effect = effects.poll(); effect != null; effect = effects.poll()) {
                effect.run();
            }
        }
        telling = false;
    }

    /** What its clients' transactions need of this node. */
    private final class Parts implements LocalTransactions.Node {
        @Override
        public Protocol protocol() {
            return protocol;
        }

        @Override
        public CommitPipeline pipeline() {
            return pipeline;
        }

        @Override
        public void tell(Runnable event) {
            ReplicaNode.this.tell(event);
        }

        @Override
        public @Nullable String refusal() {
            return ReplicaNode.this.refusal();
        }

        @Override
        public long deliveredPosition() {
            return deliveredPosition;
        }

        @Override
        public long lockedSince(long begun) {
            return engine.locksReferencedRows() ? pipeline.visible() : begun;
        }

        @Override
        public boolean needsClasses() {
            return claims.needsClasses();
        }
    }

    /** What questions of clients need of this node. */
    private final class Asked implements Questions.Node {
        @Override
        public void hurry(long position) {
            pipeline.hurry(position);
        }

        @Override
        public long visible() {
            return visiblePosition;
        }

        @Override
        public long delivered() {
            return deliveredPosition;
        }

        @Override
        public Set<Integer> members() {
            return view.members();
        }

        @Override
        public void send(Control control) {
            ReplicaNode.this.send(control.encode());
        }

        @Override
        public void schedule(long delayNanos, Runnable task) {
            loop.schedule(delayNanos, task);
        }
    }

    /** The protocol's world; called on the loop only, during an event. */
    private final class World implements Replica {
        @Override
        public void apply(TransactionId transaction, long position, WriteSet writes) {
            outcomes.committed(transaction);
            effects.add(() -> {
                pipeline.drop(transaction);
                if (position > recoveredPosition) {
                    metrics.certified(writes.keys().size());
                    transactions.pushAside(writes.keys(), position);
                    pipeline.remote(position, writes);
                }
            });
        }

        @Override
        public void commit(TransactionId transaction, long position, WriteSet writes) {
            outcomes.committed(transaction);
            effects.add(() -> {
                metrics.certified(writes.keys().size());
                if (!transactions.commit(transaction, position, writes)
                        && !pipeline.prepared(transaction, position, writes)) {
                    throw new IllegalStateException(transaction + " is to be committed but is not known");
                }
            });
        }

        @Override
        public void execute(TransactionId transaction, long position, Request.Whole request) {
            outcomes.request(transaction, position, position <= recoveredPosition);
            effects.add(() -> {
                if (position > recoveredPosition) {
                    transactions.executing(transaction, position);
                    pipeline.barrier(position, request);
                }
            });
        }

        @Override
        public void run(TransactionId transaction, Priority priority) {
            effects.add(() -> transactions.run(transaction, priority));
        }

        @Override
        public void prepare(TransactionId transaction, WriteSet writes) {
            effects.add(() -> pipeline.prepare(transaction, writes));
        }

        @Override
        public void skip(long position) {
            effects.add(() -> pipeline.skip(position));
        }

        @Override
        public void abort(TransactionId transaction) {
            effects.add(() -> {
                transactions.abort(transaction);
                pipeline.drop(transaction);
            });
        }

        @Override
        public void answer(TransactionId transaction, Outcome outcome) {
            effects.add(() -> transactions.answer(transaction, outcome));
        }

        @Override
        public void order(Message message) {
            byte[] payload = Control.envelope(message);
            effects.add(() -> send(payload));
        }

        @Override
        public void multicast(Message message, Set<Integer> nodes) {
            ByteBuffer payload = ByteBuffer.allocate(message.encodedSize());
            message.encode(payload);
            effects.add(() -> order.group().multicast(payload.array(), nodes));
        }

        @Override
        public void timer(long timer, long delayNanos) {
            effects.add(() -> {
                long turn = ++timerTurns;
                timers.put(timer, turn);
                loop.schedule(delayNanos, () -> {
                    if (timers.remove(timer, turn)) {
                        tell(() -> protocol.timer(timer));
                    }
                });
            });
        }
    }

    private void send(byte[] payload) {
        unsent.add(payload);
        sendQueued();
    }

    /** What does not fit into the order's queue waits here; bounded by the sessions, each of which waits for its answer. */
    private void sendQueued() {
        while (!unsent.isEmpty()) {
            try {
                order.log().append(unsent.peek());
                unsent.remove();
            } catch (DurableLog.OverflowException full) {
                return;
            }
        }
    }

    // ------------------------------------------------------------------------------------------ order

    /** Called on the order's thread, or on the loop from inside {@link DurableLog#append}. */
    private final class OrderEvents implements DurableLog.Reader, Group.Listener {
        @Override
        public void delivered(long position, int sender, ByteBuffer payload) {
            int bytes = payload.remaining();
            Control control = Control.decode(payload);
            Message message = control == null ? protocol.decode(payload) : null;
            backlog.add(bytes);
            deliveries.add(new Delivery(position, sender, control, message));
            arrivedPosition = position;
            if (!deliveriesScheduled.get() && deliveriesScheduled.compareAndSet(false, true)) {
                loop.execute(ReplicaNode.this::takeDeliveries);
            }
        }

        @Override
        public void view(Group.View newView) {
            view = newView;
            LOG.info("node {} sees {}, leader {}, {}", settings.node(), newView.members(), newView.leader(),
                    newView.majority() ? "a majority" : "no majority");
            loop.execute(() -> {
                tell(() -> protocol.view(newView.members()));
                questions.reconsider();
            });
        }

        @Override
        public void received(int sender, ByteBuffer payload) {
            Message message = protocol.decode(payload);
            loop.execute(() -> tell(() -> protocol.received(sender, message)));
        }

        @Override
        public void tentative(int sender, ByteBuffer payload) {
            if (Control.decode(payload) == null) {
                Message message = protocol.decode(payload);
                loop.execute(() -> tell(() -> protocol.tentative(sender, message)));
            }
        }

        @Override
        public void failed(Throwable cause) {
            fail(cause, false);
        }
    }

    private void takeDeliveries() {
        deliveriesScheduled.set(false);
        for (Delivery delivery = deliveries.poll(); delivery != null; delivery = deliveries.poll()) {
            deliveredPosition = delivery.position();
            Control control = delivery.control();
            Message message = delivery.message();
            if (control != null) {
                pipeline.skip(delivery.position());
                if (control instanceof Control.Hello || outcomes.counts(delivery.sender())) {
                    onControl(delivery, control);
                }
            } else if (!outcomes.counts(delivery.sender())) {
                pipeline.skip(delivery.position());
            } else if (message != null) {
                Delivery told = delivery;
                tell(() -> protocol.delivered(told.position(), told.sender(), message));
            }
        }
        questions.reconsider();
        sendQueued();
        advise();
        backlog.measured(pipeline.queuedBytes());
        logKeeping.delivered(deliveredPosition,
                () -> new NodeSnapshot(protocol.snapshot(), outcomes.encode()).encode());
    }

    /** Tells the order where the protocol would have it decided. */
    private void advise() {
        Set<Integer> wanted = protocol.orderers();
        if (!wanted.equals(orderers)) {
            orderers = wanted;
            order.group().prefer(wanted);
        }
    }

    private void onControl(Delivery delivery, Control control) {
        switch (control) {
            case Control.Hello hello -> {
                if (!hello.protocol().equals(settings.protocol())) {
                    throw new IllegalStateException("node " + delivery.sender() + " runs protocol " + hello.protocol()
                            + ", this node " + settings.protocol()
                            + ": give all nodes the same `protocol` and `protocol-parameters`, which a cluster keeps for good");
                }
                outcomes.born(delivery.sender(), hello.incarnation());
                if (delivery.sender() == settings.node() && hello.incarnation() == incarnation) {
                    helloPosition = delivery.position();
                    maybeReady();
                }
            }
            case Control.Restart told ->
                logKeeping.toldRestart(delivery.sender(), told.position(), settings.replicas());
            case Control.Question question -> {
                TransactionId asked = question.transaction();
                if (asked.node() == settings.node() && asked.incarnation() == incarnation) {
                    transactions.end(asked, () -> send(new Control.Ended(asked).encode()));
                }
                if (delivery.sender() == settings.node()) {
                    questions.delivered(asked);
                }
            }
            case Control.Ended ended -> {
                if (delivery.sender() == ended.transaction().node()) {
                    questions.ended(ended.transaction());
                }
            }
            case Control.Fence fence -> {
                if (outcomes.fence(fence.node(), fence.incarnation()) && fence.node() == settings.node()
                        && fence.incarnation() == incarnation) {
                    fail(new IllegalStateException("node " + delivery.sender() + " took this node for lost and told a"
                            + " client so; what is under way here counts for nothing, so it begins anew"), true);
                }
            }
            case Control.Mark mark -> {
                if (delivery.sender() == settings.node()) {
                    questions.marked(mark.number(), delivery.position());
                }
            }
        }
    }

    private void maybeReady() {
        if (state == State.CATCHING_UP && helloPosition > 0 && pipeline.visible() >= helloPosition) {
            state = State.READY;
            LOG.info("node {} is ready at position {}", settings.node(), pipeline.visible());
            ready.complete(null);
        }
    }

    // ------------------------------------------------------------------------------------------ visibility

    private final class PipelineEvents implements CommitPipeline.Events {
        @Override
        public void visible(long position) {
            visiblePosition = position;
            questions.visible(position);
            long seen = horizon.visible(position);
            tell(() -> protocol.committed(position, seen));
            backlog.measured(pipeline.queuedBytes());
            maybeReady();
        }

        @Override
        public void prepared(TransactionId transaction) {
            tell(() -> protocol.prepared(transaction));
        }

        @Override
        public void blocked(TransactionId transaction, Set<TransactionId> holders) {
            tell(() -> protocol.blocked(transaction, holders));
        }

        @Override
        public void notPrepared(TransactionId transaction, EngineFailure cause) {
            LOG.debug("{} could not be prepared: {} {}", transaction, cause.sqlState(), cause.message());
            tell(() -> protocol.failed(transaction, new AbortReason.Failed("prepare")));
        }

        @Override
        public void executed(long position, ExecuteResult result) {
            metrics.barrierExecuted();
            outcomes.executed(position, result.tookEffect());
            transactions.executed(position, result);
            questions.reconsider();
        }

        @Override
        public void failed(Throwable cause) {
            fail(cause, true);
        }
    }

    // ------------------------------------------------------------------------------------------ log keeping

    private final class Log implements LogKeeping.Node {
        @Override
        public void tellRestart(long position) {
            send(new Control.Restart(position).encode());
        }

        @Override
        public boolean isReady() {
            return state == State.READY;
        }

        @Override
        public void truncate(long position) {
            order.log().truncate(position);
        }

        @Override
        public void fail(Throwable cause) {
            ReplicaNode.this.fail(cause, false);
        }
    }

    // ------------------------------------------------------------------------------------------ end

    private void fail(Throwable cause, boolean restartable) {
        synchronized (this) {
            if (state == State.STOPPED || state == State.FAILED) {
                return;
            }
            state = State.FAILED;
            failure = cause;
        }
        LOG.error("node {} stops: {}", settings.node(), cause.getMessage(), cause);
        joined.completeExceptionally(cause);
        ready.completeExceptionally(cause);
        failureListener.failed(cause, restartable);
    }

    /** Leaves the order and stops; transactions that were not answered stay in doubt. Does not close the engine. */
    @Override
    public void close() {
        synchronized (this) {
            if (state != State.FAILED) {
                state = State.STOPPED;
            }
        }
        loop.close();
        order.close();
        pipeline.close();
        logKeeping.awaitSnapshot();
        IllegalStateException stopped = new IllegalStateException("the replica was stopped before it was ready");
        joined.completeExceptionally(stopped);
        ready.completeExceptionally(stopped);
    }

    @Override
    public String toString() {
        return "replica " + settings.node() + " " + state + " at " + visiblePosition + " of " + deliveredPosition
                + ", durable " + durablePosition();
    }
}
