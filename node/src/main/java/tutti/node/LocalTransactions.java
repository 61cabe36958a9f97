package tutti.node;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Execution;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Replica.Priority;
import tutti.core.protocol.Request;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.node.metrics.NodeMetrics;
import tutti.runtime.Clock;
import tutti.runtime.Loop;

/**
 * The transactions of this node's clients: from their begin to their answer, between their sessions, the protocol and the
 * pipeline; and who gives way to whom.
 *
 * <pre>
 *            submit        run            executed        commit
 *   OPEN ───────────► WAITING ───► RUNNING ───────► ASKED ───────► CERTIFIED ───► ENDED
 *     └── executed (told of only now, if transactions execute at once) ──►┘
 * </pre>
 *
 * Unless something else is said, everything here is done on the event loop, and effects asked by the protocol after the
 * event during which it asked for them.
 */
final class LocalTransactions {
    private enum Phase {
        /** Runs, or has not looked at the database yet; the protocol has not heard of it. */
        OPEN,
        /** Handed in: waits for the protocol to let it run, or to let it run again. */
        WAITING,
        /** The protocol has let it run. */
        RUNNING,
        /** It has executed, and the protocol knows. */
        ASKED,
        /** It has a position at which it commits. */
        CERTIFIED,
        /** It has been answered, or ended by itself. */
        ENDED
    }

    /** What of the node is needed here. */
    interface Node {
        Protocol protocol();

        CommitPipeline pipeline();

        /** Tells the protocol something now, or after what it is being told. */
        void tell(Runnable event);

        @Nullable
        String refusal();

        long deliveredPosition();

        /**
         * The position up to which the engine itself has seen to it that nothing in the way of a transaction was made
         * visible, if the transaction holds all its locks now.
         *
         * @param begun a position visible before the transaction's snapshot
         */
        long lockedSince(long begun);

        /** Whether the protocol orders transactions by their conflict classes. */
        boolean needsClasses();
    }

    /**
     * A local transaction between {@code begin} and {@code answer}; its fields belong to the event loop. What its session says
     * of it the session's own thread carries out, if it can.
     */
    private final class Open implements Transactions.Ticket {
        private final TransactionId id;
        private final LocalTransaction session;
        private boolean tooOld;
        private long begun;
        private Phase phase = Phase.OPEN;
        private Request request = Request.Interactive.UNDECLARED;
        private Priority priority = Priority.OPTIMISTIC;
        private int runs;
        /** A rollback has been asked of the session since it ran last. */
        private boolean rollingBack;
        /** The session has ended it by itself and wants no answer. */
        private boolean gone;
        private long certifiedAt;
        private long askedNanos;
        private final long sinceNanos = clock.nanoTime();
        /** When it was let run. */
        private long startedNanos = sinceNanos;
        private volatile KeySet touched = KeySet.EMPTY;
        /** Who wants to know when it has ended. */
        private final List<Runnable> waiters = new ArrayList<>(0);

        Open(TransactionId id, LocalTransaction session, long begun, boolean tooOld) {
            this.id = id;
            this.session = session;
            this.begun = begun;
            this.tooOld = tooOld;
        }

        @Override
        public TransactionId id() {
            return id;
        }

        @Override
        public void submit(Request asked) {
            loop.run(() -> onSubmit(this, asked));
        }

        @Override
        public void renewed(long since) {
            long again = horizon.begin(since);
            loop.execute(() -> {
                if (phase == Phase.OPEN) {
                    horizon.end(begun);
                    begun = again;
                    tooOld = again > since;
                } else {
                    horizon.end(again);
                }
            });
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
        public void executed(WriteSet writes, ReadSet reads) {
            loop.run(() -> onExecuted(this, writes, reads));
        }

        @Override
        public void ended() {
            loop.run(() -> onEnded(this, null));
        }

        @Override
        public void failed(AbortReason.Failed cause) {
            loop.run(() -> onEnded(this, cause));
        }

        boolean whole() {
            return request instanceof Request.Whole;
        }
    }

    /** What every replica executes for a local client, who waits for it. */
    private static final class Barrier {
        final Completion<ExecuteResult> done;
        /** When it was asked for, of a request; 0 of other statements, which are not counted among transactions. */
        final long askedNanos;
        final List<Runnable> waiters = new ArrayList<>(0);
        @Nullable
        ExecuteResult result;

        Barrier(Completion<ExecuteResult> done, long askedNanos) {
            this.done = done;
            this.askedNanos = askedNanos;
        }
    }

    /** A transaction that asks to commit while too many others wait for their outcome; bounded by the sessions. */
    private record Turn(Open open, WriteSet writes, ReadSet reads) {}

    private final int number;
    private final int inFlightMax;
    private final Clock clock;
    private final Loop loop;
    private final Node node;
    private final NodeMetrics metrics;
    private final Horizon horizon;
    private final AtomicLong serial;
    private volatile @Nullable WorkloadRecorder recorder;
    private final AtomicInteger inFlight = new AtomicInteger();
    private final Map<LocalTransaction, Open> bySession = new ConcurrentHashMap<>();
    private final Map<Long, Open> holders = new ConcurrentHashMap<>();

    /** Names of transactions that have not begun. */
    private final Set<TransactionId> reserved = ConcurrentHashMap.newKeySet();

    /** Those that the protocol has heard of. */
    private final Map<TransactionId, Open> known = new HashMap<>();
    private final Map<TransactionId, Barrier> barriers = new HashMap<>();
    private final Map<Long, TransactionId> barrierPositions = new HashMap<>();
    private final List<CompletableFuture<Void>> idleWaiters = new ArrayList<>();
    private final ArrayDeque<Turn> turns = new ArrayDeque<>();

    LocalTransactions(int number, long incarnation, int inFlightMax, Clock clock, Loop loop, Node node,
            NodeMetrics metrics, Horizon horizon) {
        this.clock = clock;
        this.number = number;
        this.serial = new AtomicLong(incarnation << 32);
        this.inFlightMax = inFlightMax;
        this.loop = loop;
        this.node = node;
        this.metrics = metrics;
        this.horizon = horizon;
    }

    /** Has transactions that end, or ask to commit, from now on written down. */
    void record(WorkloadRecorder to) {
        recorder = to;
    }

    private TransactionId nextId() {
        return new TransactionId(number, serial.incrementAndGet());
    }

    /** Transactions that wait for the outcome of their commit. Any thread. */
    int inFlight() {
        return inFlight.get();
    }

    /** Whether there is no local transaction, nor a statement that all replicas execute and one here waits for. */
    boolean none() {
        return bySession.isEmpty() && barriers.isEmpty();
    }

    // ------------------------------------------------------------------------------------------ sessions

    /** Any thread. */
    TransactionId reserve() {
        TransactionId name = nextId();
        reserved.add(name);
        return name;
    }

    /** Any thread. */
    void release(TransactionId name) {
        reserved.remove(name);
    }

    /** Any thread. */
    Transactions.Ticket begin(LocalTransaction session, long since, @Nullable TransactionId name) {
        long begun = horizon.begin(since);
        Open open = new Open(name == null ? nextId() : name, session, begun, begun > since);
        bySession.put(session, open);
        if (node.pipeline().lingers()) {
            loop.execute(() -> node.pipeline().hurry(node.deliveredPosition()));
        }
        if (name != null && !reserved.remove(name)) {
            // Somebody has asked for it and was told that it has not committed.
            loop.execute(() -> giveWay(open, node.deliveredPosition()));
        }
        return open;
    }

    /**
     * Sees to it that a transaction ends soon, if it is one of this node's, and tells when it has: then all that can
     * make it commit has been ordered.
     */
    void end(TransactionId transaction, Runnable ended) {
        if (reserved.remove(transaction)) {
            ended.run();
            return;
        }
        Barrier barrier = barriers.get(transaction);
        if (barrier != null) {
            barrier.waiters.add(ended);
            return;
        }
        Open open = known.get(transaction);
        if (open == null) {
            open = bySession.values().stream().filter(each -> each.id.equals(transaction)).findFirst().orElse(null);
        }
        if (open == null || open.phase == Phase.ENDED) {
            ended.run();
            return;
        }
        open.waiters.add(ended);
        if (open.phase == Phase.OPEN || open.phase == Phase.RUNNING) {
            giveWay(open, node.deliveredPosition());
        }
    }

    void barrier(byte[] statement, KeySet keys, @Nullable TransactionId name, Completion<ExecuteResult> done) {
        everywhere(statement, ConflictClasses.ALL, keys, name, new Barrier(done, 0));
    }

    void request(byte[] request, ConflictClasses classes, KeySet keys, @Nullable TransactionId name,
            Completion<ExecuteResult> done) {
        if (classes.all() && node.needsClasses()) {
            metrics.undeclared();
        }
        everywhere(request, classes, keys, name, new Barrier(done, clock.nanoTime()));
    }

    private void everywhere(byte[] statement, ConflictClasses classes, KeySet keys, @Nullable TransactionId name,
            Barrier barrier) {
        if (name != null && !reserved.remove(name)) {
            barrier.done.failed(new EngineFailure("40001", "the statement was given up before it was executed, because"
                    + " somebody has asked what became of it; try again", true));
            return;
        }
        String refusal = node.refusal();
        if (refusal != null) {
            barrier.done.failed(new EngineFailure("57P03", refusal, true));
            return;
        }
        TransactionId id = name == null ? nextId() : name;
        barriers.put(id, barrier);
        node.tell(() -> node.protocol().submitted(id,
                new Request.Whole(statement, classes, keys, Request.Placement.ALL)));
    }

    private void onSubmit(Open open, Request request) {
        if (open.phase != Phase.OPEN || open.rollingBack) {
            // Made a victim in the same moment; its answer is on its way.
            return;
        }
        if (node.protocol().executesAtOnce()) {
            throw new IllegalStateException(open.id + " was handed in though transactions execute at once");
        }
        String refusal = node.refusal();
        if (refusal != null) {
            unavailable(open);
            return;
        }
        if (request.classes().all() && node.needsClasses()) {
            metrics.undeclared();
        }
        open.request = request;
        open.phase = Phase.WAITING;
        horizon.end(open.begun);
        open.begun = -1;
        known.put(open.id, open);
        node.tell(() -> node.protocol().submitted(open.id, request));
    }

    private void unavailable(Open open) {
        rollBack(open, () -> answerNow(open, new Outcome.Aborted(new AbortReason.Failed("unavailable"))));
    }

    private void rollBack(Open open, Runnable then) {
        open.rollingBack = true;
        open.session.rollback(() -> loop.execute(then));
    }

    private void onExecuted(Open open, WriteSet writes, ReadSet reads) {
        if (open.rollingBack || (open.phase != Phase.OPEN && open.phase != Phase.RUNNING)) {
            // It was made a victim while it was asking; its answer is on its way.
            return;
        }
        if (open.askedNanos == 0) {
            open.askedNanos = clock.nanoTime();
            WorkloadRecorder to = recorder;
            if (to != null) {
                to.asks(open.sinceNanos, open.whole(), open.startedNanos, open.request.classes(), writes, reads);
            }
        }
        if (open.phase == Phase.RUNNING) {
            ask(open, writes, reads);
            return;
        }
        if (node.refusal() != null) {
            unavailable(open);
            return;
        }
        if (open.tooOld) {
            long kept = open.begun;
            rollBack(open, () -> answerNow(open, new Outcome.Aborted(new AbortReason.TooOld(kept - 1, kept))));
            return;
        }
        if (!node.protocol().executesAtOnce()) {
            throw new IllegalStateException(open.id + " has executed without having been handed in");
        }
        if (inFlight.get() >= inFlightMax) {
            turns.add(new Turn(open, writes, reads));
            return;
        }
        known.put(open.id, open);
        node.tell(() -> node.protocol().submitted(open.id, open.request));
        ask(open, writes, reads);
    }

    private void ask(Open open, WriteSet writes, ReadSet reads) {
        inFlight.incrementAndGet();
        open.phase = Phase.ASKED;
        Execution execution = new Execution(open.begun, node.lockedSince(open.begun), writes, reads);
        node.tell(() -> node.protocol().executed(open.id, execution));
    }

    /** The session has ended it by itself. */
    private void onEnded(Open open, AbortReason.@Nullable Failed cause) {
        WorkloadRecorder to = recorder;
        if (to != null && cause == null && (open.phase == Phase.OPEN || open.phase == Phase.RUNNING)) {
            to.read(open.sinceNanos);
        }
        switch (open.phase) {
            case OPEN -> {
                if (cause != null) {
                    metrics.aborted(cause.label());
                }
                unregister(open);
            }
            case WAITING -> {
                // The protocol hears of it when it lets it run.
                open.gone = true;
            }
            case RUNNING -> {
                if (open.rollingBack) {
                    // The protocol is about to hear that it was a victim; whatever it answers concerns nobody.
                    open.gone = !open.whole() || cause == null;
                } else if (cause != null && open.whole()) {
                    open.rollingBack = true;
                    tellFailed(open, cause);
                } else {
                    open.gone = true;
                    endUnasked(open, cause);
                }
            }
            case ASKED, CERTIFIED, ENDED -> {
                // Its end is known already, or is about to be.
            }
        }
    }

    /** It has run and wants nothing committed: to the protocol it has changed nothing. */
    private void endUnasked(Open open, AbortReason.@Nullable Failed cause) {
        if (cause == null) {
            ask(open, WriteSet.EMPTY, ReadSet.EMPTY);
        } else {
            metrics.aborted(cause.label());
            tellFailed(open, cause);
        }
    }

    private void tellFailed(Open open, AbortReason.Failed cause) {
        open.phase = Phase.WAITING;
        node.tell(() -> node.protocol().failed(open.id, cause));
    }

    /** Completes when no transaction waits for the outcome of its commit. */
    void idle(CompletableFuture<Void> waiter) {
        if (inFlight.get() == 0) {
            waiter.complete(null);
        } else {
            idleWaiters.add(waiter);
        }
    }

    private void answerNow(Open open, Outcome outcome) {
        if (open.phase == Phase.ENDED) {
            return;
        }
        if (!open.gone) {
            switch (outcome) {
                case Outcome.Committed _ -> metrics.committed(clock.nanoTime() - open.askedNanos);
                case Outcome.Aborted aborted -> metrics.aborted(aborted.reason().label());
            }
        }
        unregister(open);
        if (!open.gone) {
            open.session.answer(outcome);
        }
    }

    private void unregister(Open open) {
        if (open.phase == Phase.ENDED) {
            return;
        }
        boolean waited = open.phase == Phase.ASKED || open.phase == Phase.CERTIFIED;
        open.phase = Phase.ENDED;
        if (open.begun >= 0) {
            horizon.end(open.begun);
        }
        known.remove(open.id);
        bySession.remove(open.session, open);
        forgetTouched(open);
        if (waited) {
            noLongerAsked();
        }
        open.waiters.forEach(Runnable::run);
        open.waiters.clear();
    }

    private void forgetTouched(Open open) {
        KeySet touched = open.touched;
        for (int i = 0; i < touched.size(); i++) {
            holders.remove(touched.hash(i), open);
        }
    }

    private void noLongerAsked() {
        if (inFlight.decrementAndGet() == 0 && turns.isEmpty()) {
            idleWaiters.forEach(waiter -> waiter.complete(null));
            idleWaiters.clear();
        }
        Turn next = turns.poll();
        if (next != null) {
            onExecuted(next.open(), next.writes(), next.reads());
        }
    }

    // ------------------------------------------------------------------------------------------ victims

    /** The engine found that a local transaction makes an applier wait. */
    void onBlocked(long position, LocalTransaction holder) {
        Open open = bySession.get(holder);
        if (open != null && position > node.pipeline().visible()) {
            giveWay(open, position);
        }
    }

    /** Which of these have executed, and wait for their outcome. */
    Set<TransactionId> asking(Set<LocalTransaction> sessions) {
        Set<TransactionId> asking = new LinkedHashSet<>();
        for (LocalTransaction session : sessions) {
            Open open = bySession.get(session);
            if (open != null && open.phase == Phase.ASKED) {
                asking.add(open.id);
            }
        }
        return asking;
    }

    /** The engine found that a local transaction makes another one wait, which gives way to it if it must. */
    void onBlocked(LocalTransaction waiter, LocalTransaction holder) {
        Open waiting = bySession.get(waiter);
        Open open = bySession.get(holder);
        if (waiting != null && open != null && waiting.phase == Phase.RUNNING && waiting.priority == Priority.ORDERED
                && open.priority == Priority.OPTIMISTIC && open.phase != Phase.CERTIFIED) {
            giveWay(open, node.deliveredPosition());
        }
    }

    /** Pushes local transactions out of the way that hold rows which an ordered write set is about to change. */
    void pushAside(KeySet keys, long position) {
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
            case OPEN -> rollBack(open,
                    () -> answerNow(open, new Outcome.Aborted(new AbortReason.Victim(forPosition))));
            case RUNNING, ASKED -> {
                int run = open.runs;
                rollBack(open, () -> {
                    if (open.runs == run && (open.phase == Phase.RUNNING || open.phase == Phase.ASKED)) {
                        node.tell(() -> node.protocol().victim(open.id, forPosition));
                    }
                });
            }
            case CERTIFIED -> {
                if (open.certifiedAt > forPosition && node.pipeline().replay(open.certifiedAt)) {
                    metrics.replayed();
                    rollBack(open, () -> {});
                }
            }
            case WAITING, ENDED -> {
                // It holds nothing (any more).
            }
        }
    }

    // ------------------------------------------------------------------------------------------ effects

    /** {@link tutti.core.protocol.Replica#run}. */
    void run(TransactionId transaction, Priority priority) {
        Open open = known.get(transaction);
        if (open == null) {
            throw new IllegalStateException(transaction + " is to run but is not known");
        }
        open.priority = priority;
        if (open.phase == Phase.RUNNING && !open.rollingBack) {
            if (!open.gone) {
                open.session.run(priority);
            }
            return;
        }
        if (open.phase == Phase.ASKED && open.rollingBack) {
            noLongerAsked();
        }
        open.phase = Phase.WAITING;
        if (open.gone || (open.runs > 0 && !open.whole())) {
            loop.execute(() -> {
                if (open.phase == Phase.WAITING) {
                    tellFailed(open, new AbortReason.Failed(open.gone ? "disconnect" : "cannot-repeat"));
                }
            });
            return;
        }
        open.runs++;
        open.rollingBack = false;
        forgetTouched(open);
        open.touched = KeySet.EMPTY;
        if (open.begun >= 0) {
            horizon.end(open.begun);
        }
        open.begun = horizon.begin();
        open.startedNanos = clock.nanoTime();
        open.phase = Phase.RUNNING;
        open.session.run(priority);
    }

    /** {@link tutti.core.protocol.Replica#commit} of a transaction of this node; null if it is none. */
    boolean commit(TransactionId transaction, long position, WriteSet writes) {
        Open open = known.get(transaction);
        if (open == null) {
            return false;
        }
        open.phase = Phase.CERTIFIED;
        open.certifiedAt = position;
        if (open.rollingBack) {
            node.pipeline().remote(position, writes);
        } else {
            node.pipeline().local(position, writes, open.session);
        }
        return true;
    }

    /** {@link tutti.core.protocol.Replica#execute}: somebody here may be waiting for it. */
    void executing(TransactionId transaction, long position) {
        if (barriers.containsKey(transaction) || known.containsKey(transaction)) {
            barrierPositions.put(position, transaction);
        }
    }

    /** A barrier was executed and is about to be visible. */
    void executed(long position, ExecuteResult result) {
        TransactionId id = barrierPositions.remove(position);
        Open open = id == null ? null : known.get(id);
        if (open != null && !open.gone) {
            open.session.executed(result);
        }
        Barrier barrier = id == null ? null : barriers.get(id);
        if (barrier != null) {
            barrier.result = result;
        }
    }

    /** {@link tutti.core.protocol.Replica#abort} of a transaction of this node. */
    void abort(TransactionId transaction) {
        Open open = known.get(transaction);
        if (open == null) {
            return;
        }
        if (!open.rollingBack && (open.phase == Phase.RUNNING || open.phase == Phase.ASKED)) {
            rollBack(open, () -> {});
        }
        if (open.phase == Phase.ASKED) {
            open.phase = Phase.WAITING;
            noLongerAsked();
        } else if (open.phase == Phase.RUNNING) {
            open.phase = Phase.WAITING;
        }
    }

    /** {@link tutti.core.protocol.Replica#answer}. */
    void answer(TransactionId transaction, Outcome outcome) {
        Open open = known.get(transaction);
        if (open != null) {
            answerNow(open, outcome);
            return;
        }
        Barrier barrier = barriers.remove(transaction);
        if (barrier == null) {
            return;
        }
        barrier.waiters.forEach(Runnable::run);
        ExecuteResult result = barrier.result;
        if (barrier.askedNanos != 0 && result != null && result.tookEffect()) {
            metrics.committed(clock.nanoTime() - barrier.askedNanos);
        }
        if (result != null) {
            barrier.done.succeeded(result);
        } else if (outcome instanceof Outcome.Aborted(AbortReason.Refused refused)) {
            barrier.done.failed(new EngineFailure(READ_ONLY, refused.why(), false));
        } else {
            barrier.done.failed(new EngineFailure("40001", "the statement was not executed: " + outcome, true));
        }
    }

    /** SQLSTATE of a change that this replica may not make under its protocol. */
    static final String READ_ONLY = "25006";
}
