package tutti.node;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Execution;
import tutti.core.protocol.ReplicaWorld.Priority;
import tutti.core.protocol.Response;
import tutti.core.protocol.TransactionRequest;
import tutti.core.protocol.Trait;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * One transaction of a client of this node, from its begin to its answer, between its session, the protocol and the pipeline.
 *
 * <pre>
 *            submit        run            executed        commit
 *   OPEN ───────────► WAITING ───► RUNNING ───────► ASKED ───────► CERTIFIED ───► ENDED
 *     └── executed (told of only now, if transactions execute at once) ──►┘
 * </pre>
 *
 * Back to WAITING leads what the protocol has run again or gives up; ENDED is reached from everywhere.
 *
 * <p>
 * What a session says of it, as its {@link Transactions.Ticket}, the session's own thread carries out on the loop, if it can.
 * Everything else is done on the loop, and effects asked by the protocol after the event during which it asked for them.
 */
final class ClientTransaction implements Transactions.Ticket {
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
        ENDED;

        private Set<Phase> next() {
            return switch (this) {
                case OPEN -> EnumSet.of(WAITING, ASKED, ENDED);
                case WAITING -> EnumSet.of(RUNNING, ENDED);
                case RUNNING -> EnumSet.of(WAITING, ASKED, ENDED);
                case ASKED -> EnumSet.of(WAITING, CERTIFIED, ENDED);
                case CERTIFIED -> EnumSet.of(ENDED);
                case ENDED -> EnumSet.noneOf(Phase.class);
            };
        }

        /** Whether its client waits for the outcome of its commit. */
        private boolean inFlight() {
            return this == ASKED || this == CERTIFIED;
        }
    }

    private final ClientTransactions all;
    private final TransactionId id;
    private final @Nullable TransactionId name;
    private final LocalTransaction session;
    private Phase phase = Phase.OPEN;
    /** Position visible before its snapshot, registered with the horizon; negative if none is. */
    private long begun;
    private boolean tooOld;
    /** What the clients are told of requests that this node executes as an owner, for others or for itself; none before that is known. */
    private List<Response> responses = List.of();
    private final boolean undertaken;
    private TransactionRequest request = TransactionRequest.Interactive.UNDECLARED;
    private Priority priority = Priority.OPTIMISTIC;
    private int runs;
    /** A rollback has been asked of the session since it ran last. */
    private boolean rollingBack;
    /** It has executed, and as many others as may wait for their outcome do. */
    private boolean queued;
    /** The session has ended it by itself and wants no answer. */
    private boolean gone;
    /** Its client waits no more, and knows that its outcome is in doubt. */
    private boolean doubtful;
    /** Why its changes are left out everywhere, though it was certified; null if they are not. */
    private AbortReason.@Nullable Inapplicable leftOut;
    private long certifiedAt;
    private long askedNanos;
    private final long sinceNanos;
    /** When it was let run. */
    private long startedNanos;
    private final List<Runnable> endWaiters = new ArrayList<>(0);

    /**
     * One that has begun.
     *
     * @param name by which its client knows it; null if its client knows none, another one than {@code id} if it is run again
     * @param begun position that counts as visible before its snapshot; the horizon knows it
     * @param tooOld whether what is concurrent with it may be forgotten already
     */
    ClientTransaction(ClientTransactions all, TransactionId id, @Nullable TransactionId name, LocalTransaction session,
            long begun, boolean tooOld) {
        this.all = all;
        this.id = id;
        this.name = name;
        this.session = session;
        this.begun = begun;
        this.tooOld = tooOld;
        this.undertaken = false;
        this.sinceNanos = all.clock().nanoTime();
        this.startedNanos = sinceNanos;
    }

    /** Whole requests that the protocol has this node execute, under the name of the first; {@link #run} follows. */
    ClientTransaction(ClientTransactions all, TransactionId id, LocalTransaction session, TransactionRequest request) {
        this.all = all;
        this.id = id;
        this.name = null;
        this.session = session;
        this.begun = -1;
        this.undertaken = true;
        this.request = request;
        this.sinceNanos = all.clock().nanoTime();
        this.startedNanos = sinceNanos;
        become(Phase.WAITING);
    }

    LocalTransaction session() {
        return session;
    }

    /** By which its client knows it, or null. */
    @Nullable
    TransactionId name() {
        return name;
    }

    /** Whether who asks for this means it. */
    boolean isKnownAs(TransactionId asked) {
        return asked.equals(name) || asked.equals(id);
    }

    private void become(Phase next) {
        if (!phase.next().contains(next)) {
            throw new Defect(this + " cannot become " + next);
        }
        boolean before = phase.inFlight();
        phase = next;
        if (before && !next.inFlight()) {
            all.admission().leave();
        } else if (!before && next.inFlight()) {
            all.admission().enter();
        }
    }

    // ------------------------------------------------------------------------------------------ what its session says

    @Override
    public TransactionId id() {
        return id;
    }

    @Override
    public void submit(TransactionRequest asked) {
        all.loop().run(() -> onSubmit(asked));
    }

    @Override
    public void renewed(long since) {
        long again = all.horizon().begin(since);
        all.loop().execute(() -> {
            if (phase == Phase.OPEN) {
                all.horizon().end(begun);
                begun = again;
                tooOld = again > since;
            } else {
                all.horizon().end(again);
            }
        });
    }

    @Override
    public void executed(WriteSet writes, ReadSet reads) {
        // Asked now: when its turn comes it may have lost its connection, and its locks with it.
        long visible = all.node().visible();
        all.loop().run(() -> onExecuted(writes, reads, visible));
    }

    /** Requests that this node undertakes have run. On the loop. */
    void undertaken(WriteSet writes, List<Response> told) {
        all.metrics().undertaken(told.size());
        responses = told;
        onExecuted(writes, ReadSet.EMPTY, all.node().visible());
    }

    @Override
    public void ended() {
        all.loop().run(() -> onEnded(null));
    }

    @Override
    public void failed(AbortReason.Failed cause) {
        all.loop().run(() -> onEnded(cause));
    }

    private void onSubmit(TransactionRequest asked) {
        if (phase != Phase.OPEN || rollingBack) {
            // Made a victim in the same moment; its answer is on its way.
            return;
        }
        if (all.node().claims().has(Trait.EXECUTES_AT_ONCE)) {
            throw new Defect(this + " was handed in though transactions execute at once");
        }
        if (all.isGivenUp(name)) {
            giveUp();
            return;
        }
        if (all.node().refusal() != null) {
            refuse(new AbortReason.Failed("unavailable"));
            return;
        }
        all.countUndeclared(asked.classes());
        request = asked;
        become(Phase.WAITING);
        endHorizon();
        submitToProtocol();
    }

    private void submitToProtocol() {
        all.known(this);
        all.node().tell(() -> all.node().protocol().submitted(id, request));
    }

    /** It is rolled back and answered before the protocol has heard of it. */
    private void refuse(AbortReason why) {
        rollBack(() -> answer(new Outcome.Aborted(why)));
    }

    private void rollBack(Runnable then) {
        rollingBack = true;
        session.rollback(() -> all.loop().execute(then));
    }

    /** @param visible in the engine while it held its locks */
    private void onExecuted(WriteSet writes, ReadSet reads, long visible) {
        queued = false;
        if (rollingBack || (phase != Phase.OPEN && phase != Phase.RUNNING)) {
            // It was made a victim while it was asking; its answer is on its way.
            return;
        }
        if (askedNanos == 0 && !undertaken) {
            askedNanos = all.clock().nanoTime();
            WorkloadRecorder to = all.recorder();
            if (to != null) {
                to.asks(sinceNanos, whole(), startedNanos, request.classes(), writes, reads);
            }
        }
        if (phase == Phase.RUNNING) {
            ask(writes, reads, visible);
        } else if (all.isGivenUp(name)) {
            giveUp();
        } else if (all.node().refusal() != null) {
            refuse(new AbortReason.Failed("unavailable"));
        } else if (tooOld) {
            refuse(new AbortReason.TooOld(begun - 1, begun));
        } else if (!all.node().claims().has(Trait.EXECUTES_AT_ONCE)) {
            throw new Defect(this + " has executed without having been handed in");
        } else if (all.admission().isFull()) {
            queued = true;
            all.admission().await(() -> onExecuted(writes, reads, visible));
        } else {
            // Asked after what is visible has been: certification compares with what is made visible later, and of what is visible
            // already the engine knows what is promised.
            AbortReason met = all.promised(writes);
            if (met == null) {
                submitToProtocol();
                ask(writes, reads, visible);
            } else {
                refuse(met);
            }
        }
    }

    private void ask(WriteSet writes, ReadSet reads, long visible) {
        become(Phase.ASKED);
        Execution execution = new Execution(begun, all.node().locksExclude() ? Math.max(begun, visible) : begun, writes,
                reads);
        List<Response> told = responses;
        if (told.isEmpty()) {
            all.node().tell(() -> all.node().protocol().executed(id, execution));
        } else {
            all.node().tell(() -> all.node().protocol().undertaken(id, execution, told));
        }
    }

    private boolean whole() {
        return request instanceof TransactionRequest.Whole;
    }

    /** The session has ended it by itself. */
    private void onEnded(AbortReason.@Nullable Failed cause) {
        WorkloadRecorder to = all.recorder();
        if (to != null && cause == null && (phase == Phase.OPEN || phase == Phase.RUNNING)) {
            to.read(sinceNanos);
        }
        switch (phase) {
            case OPEN -> {
                if (cause != null) {
                    all.metrics().aborted(cause.label());
                }
                end();
            }
            case WAITING -> {
                // The protocol hears of it when it lets it run.
                gone = true;
            }
            case RUNNING -> {
                if (rollingBack) {
                    // The protocol is about to hear that it was a victim; whatever it answers concerns nobody.
                    gone = !whole() || cause == null;
                } else if (cause != null && whole()) {
                    rollingBack = true;
                    tellFailed(cause);
                } else {
                    gone = true;
                    endUnasked(cause);
                }
            }
            case ASKED, CERTIFIED, ENDED -> {
                // Its end is known already, or is about to be.
            }
        }
    }

    /** It has run and wants nothing committed: to the protocol it has changed nothing. */
    private void endUnasked(AbortReason.@Nullable Failed cause) {
        if (cause == null) {
            ask(WriteSet.EMPTY, ReadSet.EMPTY, begun);
        } else {
            all.metrics().aborted(cause.label());
            tellFailed(cause);
        }
    }

    private void tellFailed(AbortReason.Failed cause) {
        if (phase != Phase.WAITING) {
            become(Phase.WAITING);
        }
        all.node().tell(() -> all.node().protocol().failed(id, cause));
    }

    // ------------------------------------------------------------------------------------------ what the protocol asks

    /** {@link tutti.core.protocol.ReplicaWorld#run}. */
    void run(Priority asked) {
        priority = asked;
        if (phase == Phase.RUNNING && !rollingBack) {
            if (!gone) {
                session.run(asked);
            }
            return;
        }
        if (phase != Phase.WAITING) {
            become(Phase.WAITING);
        }
        if (gone || (runs > 0 && !whole())) {
            all.loop().execute(() -> {
                if (phase == Phase.WAITING) {
                    tellFailed(new AbortReason.Failed(gone ? "disconnect" : "cannot-repeat"));
                }
            });
            return;
        }
        runs++;
        rollingBack = false;
        endHorizon();
        begun = all.horizon().begin();
        startedNanos = all.clock().nanoTime();
        become(Phase.RUNNING);
        session.run(asked);
    }

    /** {@link tutti.core.protocol.ReplicaWorld#commit}. */
    void commit(long position, WriteSet writes) {
        become(Phase.CERTIFIED);
        certifiedAt = position;
        if (rollingBack) {
            all.node().pipeline().remote(position, id, writes);
        } else {
            all.node().pipeline().local(position, id, writes, session);
        }
    }

    /** {@link tutti.core.protocol.ReplicaWorld#abort}. */
    void abort() {
        if (phase == Phase.RUNNING || phase == Phase.ASKED) {
            if (!rollingBack) {
                rollBack(() -> {});
            }
            become(Phase.WAITING);
        }
    }

    /** It is a request that every replica executes, and this one has. */
    void executedEverywhere(ExecuteResult result) {
        if (!gone) {
            session.executed(result);
        }
    }

    /** Its changes are left out everywhere: what the protocol takes for committed, its client hears of as that. */
    void leftOut(AbortReason.Inapplicable why) {
        leftOut = why;
    }

    /** {@link tutti.core.protocol.ReplicaWorld#answer}; nothing happens if it has ended. */
    void answer(Outcome decided) {
        if (phase == Phase.ENDED) {
            return;
        }
        Outcome outcome = leftOut == null ? decided : new Outcome.Aborted(leftOut);
        if (!gone && !undertaken) {
            switch (outcome) {
                case Outcome.Committed _ -> all.metrics().committed(all.clock().nanoTime() - askedNanos);
                case Outcome.Aborted aborted -> all.metrics().aborted(aborted.reason().label());
            }
        }
        end();
        if (!gone) {
            session.answer(outcome);
        }
    }

    private void end() {
        endHorizon();
        all.forget(this);
        become(Phase.ENDED);
        endWaiters.forEach(Runnable::run);
        endWaiters.clear();
    }

    private void endHorizon() {
        if (begun >= 0) {
            all.horizon().end(begun);
            begun = -1;
        }
    }

    // ------------------------------------------------------------------------------------------ who gives way

    /** It has executed, and waits for its outcome. */
    boolean isAsking() {
        return phase == Phase.ASKED;
    }

    /** It has executed, holds its locks, and waits until one of those that ask has its outcome. */
    boolean isQueued() {
        return queued && phase == Phase.OPEN;
    }

    /** Sees to it that it ends soon, and tells when it has: then all that can make it commit has been ordered. */
    void end(Runnable ended) {
        if (phase == Phase.ENDED) {
            ended.run();
            return;
        }
        endWaiters.add(ended);
        if (phase == Phase.OPEN) {
            giveUp();
        } else if (phase == Phase.RUNNING) {
            giveWay(all.node().deliveredPosition());
        }
    }

    /** Somebody has asked what became of it: it does not commit, and is not run again, unless the protocol has heard of it. */
    void giveUp() {
        if (phase == Phase.OPEN && !rollingBack) {
            refuse(new AbortReason.Failed("asked"));
        }
    }

    /**
     * Nobody can decide about it at the moment, and its client is to wait no more. One that has asked to commit is rolled back in the engine, so
     * that its locks are free, unless the protocol aborts it for that; if it is certified later, its changes are applied as those of another node
     * are. One that waits to be asked for, or to ask, does not commit.
     */
    void doubtful() {
        if (queued && phase == Phase.OPEN) {
            queued = false;
            refuse(new AbortReason.Failed("unavailable"));
        } else if (!doubtful && !gone && !undertaken && (phase == Phase.ASKED || phase == Phase.WAITING)) {
            if (phase == Phase.ASKED && !rollingBack) {
                all.node().tell(() -> all.node().protocol().locksLost(id));
                if (phase == Phase.ENDED) {
                    return;
                }
                rollBack(() -> {});
            }
            doubtful = true;
            all.metrics().doubtful();
            session.doubtful(name == null ? id : name);
        }
    }

    /** Gives way to another one of this node that waits for it in the engine, if it must. */
    void giveWayTo(ClientTransaction waiter) {
        if (waiter.phase == Phase.RUNNING && waiter.priority == Priority.ORDERED && priority == Priority.OPTIMISTIC
                && phase != Phase.CERTIFIED) {
            giveWay(all.node().deliveredPosition());
        }
    }

    /** Gives way to what has been ordered. */
    void giveWay(long forPosition) {
        if (rollingBack) {
            return;
        }
        switch (phase) {
            case OPEN -> refuse(new AbortReason.Victim(forPosition));
            case RUNNING, ASKED -> {
                int run = runs;
                rollBack(() -> {
                    if (runs == run && (phase == Phase.RUNNING || phase == Phase.ASKED)) {
                        all.node().tell(() -> all.node().protocol().victim(id, forPosition));
                    }
                });
            }
            case CERTIFIED -> {
                if (certifiedAt > forPosition && all.node().pipeline().replay(certifiedAt)) {
                    all.metrics().replayed();
                    rollBack(() -> {});
                }
            }
            case WAITING, ENDED -> {
                // It holds nothing (any more).
            }
        }
    }

    @Override
    public String toString() {
        return "transaction " + id + " (" + phase + (rollingBack ? ", rolled back" : "") + (gone ? ", given up" : "")
                + ")";
    }
}
