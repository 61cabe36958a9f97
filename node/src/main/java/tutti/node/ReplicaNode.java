package tutti.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.Execution;
import tutti.core.protocol.Message;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Replica;
import tutti.core.protocol.Request;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.spi.Order;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.node.metrics.NodeMetrics;

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
     * @param directory for the node's own files
     * @param protocolName how the protocol is called in configurations; nodes with different ones refuse each other
     * @param appliers how many write sets are applied side by side, at least 1
     * @param groupPositionsMax how many positions are made visible by one engine transaction at most
     * @param inFlightMax how many local transactions may wait for their outcome at a time; further ones wait their turn
     * @param backlogBytesMax how many bytes of delivered and not yet visible changes are held in memory before delivery
     *            waits
     * @param durabilityNanos how often the engine's durable position is told to the others, in nanoseconds
     * @param snapshotPositions after how many positions a snapshot of the protocol is taken
     */
    public record Settings(int node, Set<Integer> replicas, Path directory, String protocolName, int appliers,
            int groupPositionsMax, int inFlightMax, long backlogBytesMax, long durabilityNanos,
            long snapshotPositions) {
        /** Four appliers, groups of 64, 1000 in flight, 256 MiB, two seconds, 50,000 positions. */
        public static Settings defaults(int node, Set<Integer> replicas, Path directory, String protocolName) {
            return new Settings(node, replicas, directory, protocolName, 4, 64, 1000, 256L << 20, 2_000_000_000L,
                    50_000);
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

    /** A local transaction between {@code begin} and {@code answer}; its fields belong to the event loop. */
    private final class Open implements Ticket {
        private final TransactionId id;
        private final LocalTransaction session;
        private final long begun;
        private Phase phase = Phase.OPEN;
        /** Set once a rollback has been asked of the session. */
        private boolean rollingBack;
        private long certifiedAt;
        private long askedNanos;
        private volatile KeySet touched = KeySet.EMPTY;

        Open(TransactionId id, LocalTransaction session, long begun) {
            this.id = id;
            this.session = session;
            this.begun = begun;
        }

        @Override
        public TransactionId id() {
            return id;
        }

        @Override
        public void touched(KeySet keys) {
            touched = keys;
            for (int i = 0; i < keys.size(); i++) {
                if (keys.kind(i) != KeyKind.REFERENCE) {
                    holders.put(keys.hash(i), this);
                }
            }
        }

        @Override
        public void executed(WriteSet writes) {
            loop.execute(() -> onExecuted(this, writes));
        }

        @Override
        public void ended() {
            loop.execute(() -> onEnded(this, null));
        }

        @Override
        public void failed(AbortReason.Failed cause) {
            loop.execute(() -> onEnded(this, cause));
        }
    }

    private enum Phase {
        /** Runs; the protocol has not heard of it. */
        OPEN,
        /** Its message is on its way. */
        ASKED,
        /** It has a position at which it commits. */
        CERTIFIED,
        /** It has been answered, or ended by itself. */
        ENDED
    }

    /** A barrier that a local client waits for. */
    private static final class Waiting {
        final Completion<ExecuteResult> done;
        @Nullable
        ExecuteResult result;

        Waiting(Completion<ExecuteResult> done) {
            this.done = done;
        }
    }

    /** A transaction that asks to commit while too many others wait for their outcome; bounded by the sessions. */
    private record Turn(Open open, WriteSet writes) {}

    private record Delivery(long position, int sender, @Nullable Control control, @Nullable Message message) {}

    private final Settings settings;
    private final Order order;
    private final Engine engine;
    private final Protocol protocol;
    private final NodeFiles files;
    private final NodeMetrics metrics;
    private final FailureListener failureListener;
    private final EventLoop loop;
    private final long incarnation;
    private final AtomicLong serial;
    private final Horizon horizon = new Horizon();
    private final Map<LocalTransaction, Open> bySession = new ConcurrentHashMap<>();
    private final Map<Long, Open> holders = new ConcurrentHashMap<>();
    private final CompletableFuture<Void> ready = new CompletableFuture<>();

    /* Between the order's thread and the loop. */
    private final ConcurrentLinkedQueue<Delivery> deliveries = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean deliveriesScheduled = new AtomicBoolean();
    private final ReentrantLock backlogLock = new ReentrantLock();
    private final Condition backlogShrank = backlogLock.newCondition();
    private long backlogBytes;
    private boolean stopping;

    /* Read from any thread. */
    private volatile State state = State.NEW;
    private volatile @Nullable Throwable failure;
    private volatile Order.View view = new Order.View(Set.of(), false, -1);
    private volatile long visiblePosition;
    private volatile long deliveredPosition;

    /* Of the event loop. */
    private final Map<TransactionId, Open> local = new HashMap<>();
    private final Map<TransactionId, Waiting> barriers = new HashMap<>();
    private final Map<Long, TransactionId> barrierPositions = new HashMap<>();
    private final Map<Long, Open> certified = new HashMap<>();
    private final List<CompletableFuture<Void>> idleWaiters = new ArrayList<>();
    private final ArrayDeque<Turn> turns = new ArrayDeque<>();
    private final AtomicInteger inFlight = new AtomicInteger();
    private final ArrayDeque<byte[]> unsent = new ArrayDeque<>();
    /** From where on each node would need the log after a crash, as it has told. */
    private final long[] restart = new long[256];
    /** Positions of the snapshots in files. */
    private final TreeSet<Long> snapshots = new TreeSet<>();
    private @Nullable CommitPipeline pipeline;
    private long recoveredPosition;
    private long snapshotPosition;
    private long helloPosition;
    private volatile long durablePosition;
    private long toldRestart;
    private boolean snapshotRuns;
    private volatile @Nullable Thread snapshotWriter;

    /**
     * Puts a replica together; {@link #start} begins.
     *
     * @param protocol makes the protocol for the world it is given
     * @throws IOException if the node's files cannot be used
     */
    public ReplicaNode(Settings settings, Order order, Engine engine, Function<Replica, Protocol> protocol,
            NodeMetrics metrics, FailureListener failureListener) throws IOException {
        this.metrics = metrics;
        this.settings = settings;
        this.order = order;
        this.engine = engine;
        this.failureListener = failureListener;
        this.files = new NodeFiles(settings.directory());
        this.incarnation = files.nextIncarnation();
        this.serial = new AtomicLong(incarnation << 32);
        this.protocol = protocol.apply(new World());
        this.loop = new EventLoop("tutti-replica-" + settings.node(), cause -> fail(cause, false));
    }

    /**
     * Recovers, joins the order, and returns while it catches up; {@link #ready} completes when it has.
     *
     * @throws IOException if the node's files cannot be read
     * @throws Order.TruncatedException if the log no longer holds what this engine has missed
     */
    public void start() throws IOException, Order.TruncatedException {
        recoveredPosition = engine.appliedPosition();
        Optional<NodeFiles.Snapshot> snapshot = files.newestUpTo(recoveredPosition);
        if (snapshot.isPresent()) {
            protocol.restore(snapshot.get().state());
            snapshotPosition = snapshot.get().position();
            snapshots.add(snapshotPosition);
        }
        state = State.CATCHING_UP;
        visiblePosition = recoveredPosition;
        horizon.visible(recoveredPosition);
        deliveredPosition = snapshotPosition;
        engine.onBlocked((position, holder) -> loop.execute(() -> onBlocked(position, holder)));
        engine.onLost(() -> fail(new IllegalStateException(
                "the engine's server went away or restarted; its last commits must be made again from the log"), true));
        pipeline = new CommitPipeline(engine, loop, new PipelineEvents(), metrics, recoveredPosition,
                settings.appliers(), settings.groupPositionsMax());
        LOG.info("node {} incarnation {}: engine holds position {}, protocol begins at {}", settings.node(),
                incarnation,
                recoveredPosition, snapshotPosition);
        order.start(snapshotPosition, new OrderEvents());
        loop.execute(() -> {
            protocol.committed(recoveredPosition, horizon.visible(recoveredPosition));
            send(new Control.Hello(incarnation, settings.protocolName()).encode());
        });
        loop.schedule(this::tellDurable, settings.durabilityNanos());
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

    /** Highest position that is visible in the engine. */
    public long visiblePosition() {
        return visiblePosition;
    }

    /** Highest position that the order has delivered here. */
    public long deliveredPosition() {
        return deliveredPosition;
    }

    /** This life's number, larger than any before. */
    public long incarnation() {
        return incarnation;
    }

    /** What the order says of itself. */
    public Order.Status orderStatus() {
        return order.status();
    }

    /** Local transactions that wait for the outcome of their commit. */
    public int inFlight() {
        return inFlight.get();
    }

    /** Completes when no local transaction waits for the outcome of its commit, which may be at once. */
    public CompletableFuture<Void> idle() {
        CompletableFuture<Void> waiter = new CompletableFuture<>();
        loop.execute(() -> {
            if (inFlight.get() == 0) {
                waiter.complete(null);
            } else {
                idleWaiters.add(waiter);
            }
        });
        return waiter;
    }

    /** Highest position that a crash of this node's engine would not undo, as of the last time it was asked. */
    public long durablePosition() {
        return durablePosition;
    }

    // ------------------------------------------------------------------------------------------ front end

    @Override
    public Ticket begin(LocalTransaction session) {
        Open open = new Open(nextId(), session, horizon.begin());
        bySession.put(session, open);
        return open;
    }

    private TransactionId nextId() {
        return new TransactionId(settings.node(), serial.incrementAndGet());
    }

    @Override
    public void barrier(byte[] statement, KeySet keys, Completion<ExecuteResult> done) {
        loop.execute(() -> {
            String refusal = refusal();
            if (refusal != null) {
                done.failed(new EngineFailure("57P03", refusal, true));
                return;
            }
            TransactionId id = nextId();
            barriers.put(id, new Waiting(done));
            protocol.submitted(id, new Request.Whole(statement, ConflictClasses.ALL, keys, Request.Placement.ALL));
        });
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

    private void onExecuted(Open open, WriteSet writes) {
        if (open.phase != Phase.OPEN || open.rollingBack) {
            // It was made a victim while it was asking; its answer is on its way.
            return;
        }
        if (open.askedNanos == 0) {
            open.askedNanos = System.nanoTime();
        }
        String refusal = refusal();
        if (refusal != null) {
            open.rollingBack = true;
            open.session.rollback(() -> loop
                    .execute(() -> answerNow(open, new Outcome.Aborted(new AbortReason.Failed("unavailable")))));
            return;
        }
        if (inFlight.get() >= settings.inFlightMax()) {
            turns.add(new Turn(open, writes));
            return;
        }
        inFlight.incrementAndGet();
        open.phase = Phase.ASKED;
        local.put(open.id, open);
        protocol.submitted(open.id, Request.Interactive.UNDECLARED);
        long held = engine.locksReferencedRows() ? pipeline().visible() : open.begun;
        protocol.executed(open.id, new Execution(open.begun, held, writes, ReadSet.EMPTY));
    }

    private void onEnded(Open open, AbortReason.@Nullable Failed cause) {
        if (open.phase == Phase.OPEN) {
            if (cause != null) {
                metrics.aborted(cause.label());
            }
            unregister(open);
        }
    }

    private void answerNow(Open open, Outcome outcome) {
        if (open.phase == Phase.ENDED) {
            return;
        }
        switch (outcome) {
            case Outcome.Committed _ -> metrics.committed(System.nanoTime() - open.askedNanos);
            case Outcome.Aborted aborted -> metrics.aborted(aborted.reason().label());
        }
        unregister(open);
        open.session.answer(outcome);
    }

    private void unregister(Open open) {
        if (open.phase == Phase.ENDED) {
            return;
        }
        boolean waited = open.phase == Phase.ASKED || open.phase == Phase.CERTIFIED;
        open.phase = Phase.ENDED;
        horizon.end(open.begun);
        local.remove(open.id);
        bySession.remove(open.session, open);
        KeySet touched = open.touched;
        for (int i = 0; i < touched.size(); i++) {
            holders.remove(touched.hash(i), open);
        }
        if (waited) {
            if (inFlight.decrementAndGet() == 0 && turns.isEmpty()) {
                idleWaiters.forEach(waiter -> waiter.complete(null));
                idleWaiters.clear();
            }
            Turn next = turns.poll();
            if (next != null) {
                onExecuted(next.open(), next.writes());
            }
        }
    }

    // ------------------------------------------------------------------------------------------ victims

    /** The engine found that a local transaction makes an applier wait. */
    private void onBlocked(long position, LocalTransaction holder) {
        Open open = bySession.get(holder);
        if (open != null && position > pipeline().visible()) {
            giveWay(open, position);
        }
    }

    /** Pushes local transactions out of the way that hold rows which an ordered write set is about to change. */
    private void pushAside(KeySet keys, long position) {
        if (holders.isEmpty()) {
            return;
        }
        for (int i = 0; i < keys.size(); i++) {
            Open open = holders.get(keys.hash(i));
            if (open != null && keys.kind(i) != KeyKind.REFERENCE && open.phase != Phase.CERTIFIED) {
                giveWay(open, position);
            }
        }
    }

    private void giveWay(Open open, long forPosition) {
        if (open.rollingBack) {
            return;
        }
        switch (open.phase) {
            case OPEN -> {
                open.rollingBack = true;
                open.session.rollback(() -> loop.execute(
                        () -> answerNow(open, new Outcome.Aborted(new AbortReason.Victim(forPosition)))));
            }
            case ASKED -> {
                open.rollingBack = true;
                open.session.rollback(() -> loop.execute(() -> {
                    if (open.phase == Phase.ASKED) {
                        protocol.victim(open.id, forPosition);
                    }
                }));
            }
            case CERTIFIED -> {
                if (open.certifiedAt > forPosition && pipeline().replay(open.certifiedAt)) {
                    metrics.replayed();
                    open.rollingBack = true;
                    open.session.rollback(() -> {});
                }
            }
            case ENDED -> {
                // It ended while the engine was looking.
            }
        }
    }

    // ------------------------------------------------------------------------------------------ effects

    /** The protocol's world; called on the loop only. */
    private final class World implements Replica {
        @Override
        public void apply(TransactionId transaction, long position, WriteSet writes) {
            if (position <= recoveredPosition) {
                return;
            }
            metrics.certified(writes.keys().size());
            pushAside(writes.keys(), position);
            pipeline().remote(position, writes);
        }

        @Override
        public void commit(TransactionId transaction, long position, WriteSet writes) {
            Open open = local.get(transaction);
            if (open == null) {
                throw new IllegalStateException(transaction + " is to be committed but is not known");
            }
            metrics.certified(writes.keys().size());
            open.phase = Phase.CERTIFIED;
            open.certifiedAt = position;
            certified.put(position, open);
            if (open.rollingBack) {
                pipeline().remote(position, writes);
            } else {
                pipeline().local(position, writes, open.session);
            }
        }

        @Override
        public void execute(TransactionId transaction, long position, Request.Whole request) {
            if (position <= recoveredPosition) {
                return;
            }
            if (barriers.containsKey(transaction)) {
                barrierPositions.put(position, transaction);
            }
            pipeline().barrier(position, request);
        }

        @Override
        public void run(TransactionId transaction, Priority priority) {
            throw new UnsupportedOperationException("sessions of this node run their transactions at once; "
                    + settings.protocolName() + " cannot run on it");
        }

        @Override
        public void prepare(TransactionId transaction, WriteSet writes) {
            throw new UnsupportedOperationException("this node's engine prepares no transactions of others; "
                    + settings.protocolName() + " cannot run on it");
        }

        @Override
        public void skip(long position) {
            pipeline().skip(position);
        }

        @Override
        public void abort(TransactionId transaction) {
            Open open = local.get(transaction);
            if (open != null && !open.rollingBack) {
                open.rollingBack = true;
                open.session.rollback(() -> {});
            }
        }

        @Override
        public void answer(TransactionId transaction, Outcome outcome) {
            Open open = local.get(transaction);
            if (open != null) {
                answerNow(open, outcome);
                return;
            }
            Waiting waiting = barriers.remove(transaction);
            if (waiting != null) {
                ExecuteResult result = waiting.result;
                if (result != null) {
                    waiting.done.succeeded(result);
                } else {
                    waiting.done.failed(new EngineFailure("40001", "the statement was not executed: " + outcome, true));
                }
            }
        }

        @Override
        public void order(Message message) {
            send(Control.envelope(message));
        }

        @Override
        public void multicast(Message message, Set<Integer> nodes) {
            throw new UnsupportedOperationException("this node's order offers no multicast besides the total order; "
                    + settings.protocolName() + " cannot run on it");
        }

        @Override
        public void timer(long timer, long delayNanos) {
            loop.schedule(() -> protocol.timer(timer), delayNanos);
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
                order.submit(unsent.peek());
                unsent.remove();
            } catch (Order.OverflowException full) {
                return;
            }
        }
    }

    // ------------------------------------------------------------------------------------------ order

    /** Called on the order's thread. */
    private final class OrderEvents implements Order.Listener {
        @Override
        public void delivered(long position, int sender, ByteBuffer payload) {
            int bytes = payload.remaining();
            Control control = Control.decode(payload);
            Message message = control == null ? protocol.decode(payload) : null;
            awaitRoom(bytes);
            deliveries.add(new Delivery(position, sender, control, message));
            if (!deliveriesScheduled.get() && deliveriesScheduled.compareAndSet(false, true)) {
                loop.execute(ReplicaNode.this::takeDeliveries);
            }
        }

        @Override
        public void view(Order.View newView) {
            view = newView;
            LOG.info("node {} sees {}, leader {}, {}", settings.node(), newView.members(), newView.leader(),
                    newView.majority() ? "a majority" : "no majority");
            loop.execute(() -> protocol.view(newView.members()));
        }

        @Override
        public void failed(Throwable cause) {
            fail(cause, false);
        }
    }

    /** Keeps the bytes delivered and not yet visible within bounds by making the order's thread wait. */
    private void awaitRoom(int bytes) {
        backlogLock.lock();
        try {
            while (backlogBytes > settings.backlogBytesMax() && !stopping) {
                backlogShrank.awaitUninterruptibly();
            }
            backlogBytes += bytes;
        } finally {
            backlogLock.unlock();
        }
    }

    /** The backlog is what the pipeline holds, as of now; deliveries in between are counted from zero again. */
    private void measureBacklog() {
        backlogLock.lock();
        try {
            backlogBytes = pipeline().queuedBytes();
            backlogShrank.signalAll();
        } finally {
            backlogLock.unlock();
        }
    }

    private void takeDeliveries() {
        deliveriesScheduled.set(false);
        for (Delivery delivery = deliveries.poll(); delivery != null; delivery = deliveries.poll()) {
            deliveredPosition = delivery.position();
            Control control = delivery.control();
            Message message = delivery.message();
            if (control != null) {
                pipeline().skip(delivery.position());
                onControl(delivery, control);
            } else if (message != null) {
                protocol.delivered(delivery.position(), delivery.sender(), message);
            }
        }
        sendQueued();
        measureBacklog();
        maybeSnapshot();
    }

    private void onControl(Delivery delivery, Control control) {
        switch (control) {
            case Control.Hello hello -> {
                if (!hello.protocol().equals(settings.protocolName())) {
                    throw new IllegalStateException("node " + delivery.sender() + " runs protocol " + hello.protocol()
                            + ", this node " + settings.protocolName() + ": give all nodes the same `protocol`");
                }
                if (delivery.sender() == settings.node() && hello.incarnation() == incarnation) {
                    helloPosition = delivery.position();
                    maybeReady();
                }
            }
            case Control.Restart told -> {
                restart[delivery.sender()] = Math.max(restart[delivery.sender()], told.position());
                truncate();
            }
        }
    }

    private void maybeReady() {
        if (state == State.CATCHING_UP && helloPosition > 0 && pipeline().visible() >= helloPosition) {
            state = State.READY;
            LOG.info("node {} is ready at position {}", settings.node(), pipeline().visible());
            ready.complete(null);
        }
    }

    // ------------------------------------------------------------------------------------------ visibility

    private final class PipelineEvents implements CommitPipeline.Events {
        @Override
        public void visible(long position) {
            visiblePosition = position;
            protocol.committed(position, horizon.visible(position));
            certified.keySet().removeIf(at -> at <= position);
            measureBacklog();
            maybeReady();
        }

        @Override
        public void executed(long position, ExecuteResult result) {
            metrics.barrierExecuted();
            TransactionId id = barrierPositions.remove(position);
            if (id != null) {
                Waiting waiting = barriers.get(id);
                if (waiting != null) {
                    waiting.result = result;
                }
            }
        }

        @Override
        public void failed(Throwable cause) {
            fail(cause, true);
        }
    }

    // ------------------------------------------------------------------------------------------ log keeping

    /** Tells the others, from time to time, from where on this node would need the log after a crash. */
    private void tellDurable() {
        engine.durablePosition(new Completion<>() {
            @Override
            public void succeeded(Long position) {
                loop.execute(() -> {
                    durablePosition = position;
                    long restart = snapshots.stream().filter(at -> at <= position).reduce(0L, Math::max);
                    if (restart > toldRestart && state == State.READY) {
                        toldRestart = restart;
                        send(new Control.Restart(restart).encode());
                    }
                    loop.schedule(ReplicaNode.this::tellDurable, settings.durabilityNanos());
                });
            }

            @Override
            public void failed(EngineFailure cause) {
                LOG.warn("node {}: the engine does not tell its durable position: {} {}", settings.node(),
                        cause.sqlState(), cause.message());
                loop.schedule(ReplicaNode.this::tellDurable, settings.durabilityNanos());
            }
        });
    }

    private void maybeSnapshot() {
        if (snapshotRuns || deliveredPosition - snapshotPosition < settings.snapshotPositions()) {
            return;
        }
        NodeFiles.Snapshot snapshot = new NodeFiles.Snapshot(deliveredPosition, protocol.snapshot());
        snapshotPosition = snapshot.position();
        snapshotRuns = true;
        snapshotWriter = Thread.ofVirtual().name("tutti-snapshot").start(() -> {
            try {
                files.save(snapshot);
                loop.execute(() -> {
                    snapshotRuns = false;
                    snapshots.add(snapshot.position());
                });
            } catch (IOException broken) {
                fail(new IOException("cannot keep a snapshot in " + settings.directory() + ": " + broken.getMessage(),
                        broken), false);
            }
        });
    }

    /** Lets the log forget what no replica would need after a crash, and removes snapshots that are of no use then. */
    private void truncate() {
        long needless = settings.replicas().stream().mapToLong(node -> restart[node]).min().orElse(0);
        if (needless == 0) {
            return;
        }
        order.truncate(needless);
        try {
            files.removeBefore(restart[settings.node()]);
            snapshots.removeIf(at -> at < restart[settings.node()]);
        } catch (IOException broken) {
            fail(broken, false);
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
        stopWaiting();
        ready.completeExceptionally(cause);
        failureListener.failed(cause, restartable);
    }

    private void stopWaiting() {
        backlogLock.lock();
        try {
            stopping = true;
            backlogShrank.signalAll();
        } finally {
            backlogLock.unlock();
        }
    }

    private CommitPipeline pipeline() {
        CommitPipeline present = pipeline;
        if (present == null) {
            throw new IllegalStateException("the replica has not been started");
        }
        return present;
    }

    /** Leaves the order and stops; transactions that were not answered stay in doubt. Does not close the engine. */
    @Override
    public void close() {
        synchronized (this) {
            if (state != State.FAILED) {
                state = State.STOPPED;
            }
        }
        stopWaiting();
        order.close();
        loop.close();
        if (pipeline != null) {
            pipeline.close();
        }
        awaitSnapshot();
        ready.completeExceptionally(new IllegalStateException("the replica was stopped before it was ready"));
    }

    /** A snapshot that is being written is finished first: the directory may have another user next. */
    private void awaitSnapshot() {
        Thread writer = snapshotWriter;
        if (writer == null) {
            return;
        }
        try {
            writer.join();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String toString() {
        return "replica " + settings.node() + " " + state + " at " + visiblePosition + " of " + deliveredPosition
                + ", snapshots " + snapshots;
    }
}
