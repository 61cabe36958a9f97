package tutti.node;

import java.util.ArrayDeque;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.TransactionRequest;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.node.metrics.NodeMetrics;
import tutti.runtime.Clock;
import tutti.runtime.Loop;

/**
 * Makes decided positions visible in the engine, in order: local transactions commit in their own sessions, remote write
 * sets are applied by a few appliers side by side, runs of them grouped into one engine transaction.
 *
 * <p>
 * <b>Order.</b> Only the head of the queue is ever committed, and the next head not before that commit is complete; so
 * every snapshot taken in the engine is a prefix of the total order.
 *
 * <p>
 * <b>Appliers</b> wait for each other never, and what they apply is made exactly once: {@link ApplyGroups}.
 *
 * <p>
 * <b>Checked.</b> Positions are decided once each and without a gap, from the one behind the protocol's snapshot on, and become
 * visible one after the other. Those that the engine held when this life began are decided again, because the protocol needs
 * them, and nothing else is done.
 *
 * <p>
 * All methods run on the replica's loop; completions of the engine are handed over to it.
 */
final class CommitPipeline {
    /** What the pipeline tells its node; on the loop. */
    interface Events extends Preparations.Events {
        /** It is decided what is to become visible at a position. */
        default void decided(Slot slot) {}

        /** What a transaction has changed is visible, as all before it. */
        default void committed(long position, WriteSet writes) {}

        /** This position and all before it are visible. */
        void visible(long position);

        /** A barrier has been executed, and its position will be visible next. */
        void executed(long position, ExecuteResult result);

        /**
         * The engine refuses what is next: nothing goes on until it is {@linkplain #tryAgain tried again} or
         * {@linkplain #leaveOut left out}.
         */
        void refused(Slot slot, EngineFailure why);

        /** The error for which a position is left out; null if it is not. */
        @Nullable
        EngineFailure leftOut(long position);

        /** Whether the nodes have decided that a position's effects hold. */
        default boolean holds(long position) {
            return false;
        }

        /** Whether the engine has recorded that a position which it holds was left out. */
        default boolean wasLeftOut(long position) {
            return false;
        }

        /** What a transaction has changed is left out, and its position will be visible next. */
        void leavesOut(long position, TransactionId transaction, EngineFailure why);

        /** A transaction of this node, which holds its locks, is rolled back instead of committed. */
        void takesBack(TransactionId transaction);

        /** The engine does not tell what it holds. */
        void failed(Throwable cause);
    }

    private final Clock clock;
    private final Loop loop;
    private final Events events;
    private final NodeMetrics metrics;
    private ApplySettings settings;
    private final ApplyTuner tuner;
    private final Preparations preparations;
    private final ApplyLinger linger;
    private final EngineCommits commits;
    private final ApplierPool appliers;
    private final ExecutorPool executors;
    /** Decided and not visible, without a gap. */
    private final ArrayDeque<Slot> slots = new ArrayDeque<>();
    private final BusyKeys busy = new BusyKeys();
    private final PipelineLoad load = new PipelineLoad();
    private final ApplyGroups groups;
    private final LostKeys lostKeys;
    /** Position that the engine held when this life began. */
    private long recovered;
    private long decided;
    private long visible;
    private boolean opened;
    private boolean advancing;
    private boolean advanceAgain;
    private boolean halted;

    /**
     * Puts it together; {@link #open} begins.
     *
     * @param settings to begin with
     * @param lostKeys of positions up to the one behind which decisions begin
     * @param unwatched whether nobody at this node waits to see something
     */
    CommitPipeline(Engine engine, Clock clock, Loop loop, Events events, NodeMetrics metrics,
            ApplySettings settings, LostKeys lostKeys, BooleanSupplier unwatched) {
        this.metrics = metrics;
        this.lostKeys = lostKeys;
        this.linger = new ApplyLinger(clock, settings.lingerNanos(), unwatched);
        this.settings = settings;
        this.clock = clock;
        this.loop = loop;
        this.events = events;
        this.preparations = new Preparations(engine, loop, events);
        this.commits = new EngineCommits(engine, loop, events::failed);
        this.appliers = new ApplierPool(engine);
        this.executors = new ExecutorPool(engine);
        this.tuner = new ApplyTuner(settings, clock, loop, metrics, new Counts(), (_, _) -> tuned());
        this.groups = new ApplyGroups(slots, busy, load, appliers, commits, clock, loop, tuner.positionsMax(),
                new GroupEvents());
    }

    /**
     * Opens the appliers.
     *
     * @param position that the engine's state equals now
     * @param before position behind which decisions begin, at most the engine's
     */
    void open(long position, long before) {
        recovered = position;
        visible = position;
        decided = before;
        commits.begin(position);
        opened = true;
        tuner.settings(settings);
        appliers.limit(tuner.appliers());
        groups.positionsMax(tuner.positionsMax());
    }

    /** Applies by other settings from now on; what has begun ends as it began. */
    void applying(ApplySettings now) {
        settings = now;
        linger.atMost(now.lingerNanos(), decided);
        if (opened) {
            tuner.settings(now);
            tuned();
        }
    }

    /** Applies by what the tuner says from now on. */
    private void tuned() {
        groups.positionsMax(tuner.positionsMax());
        appliers.limit(tuner.appliers());
        advance();
    }

    /** How far it is. */
    private final class Counts implements ApplyTuner.Counts {
        @Override
        public long decided() {
            return decided;
        }

        @Override
        public long visible() {
            return visible;
        }
    }

    /** Those that execute whole requests, whose transactions this pipeline commits. */
    ExecutorPool executors() {
        return executors;
    }

    /** Highest visible position. */
    long visible() {
        return visible;
    }

    /** Highest position that the engine may hold. */
    long engineHoldsAtMost() {
        return Math.max(recovered, decided);
    }

    /** Whether the engine held a position when this life began, so that nothing is left to be done at it. */
    boolean engineHeld(long position) {
        return position <= recovered;
    }

    /** Bytes that are kept of what is decided and not visible. */
    long queuedBytes() {
        return load.queuedBytes();
    }

    // ------------------------------------------------------------------------------------------ decisions

    /** Nothing happens at this position. */
    void skip(long position) {
        if (decide(position)) {
            add(Slot.skipped(position));
        }
    }

    /** A write set is to be applied. */
    void remote(long position, TransactionId transaction, WriteSet writes) {
        Slot slot = Slot.remote(position, transaction, writes);
        if (decide(position)) {
            slot.lingersUntil(linger.arrived());
            add(slot);
        } else {
            lostKeys.settled(slot, events.wasLeftOut(position));
        }
    }

    /** A transaction of this node and life, which holds its locks, is to commit. */
    void local(long position, TransactionId transaction, WriteSet writes, LocalTransaction local) {
        if (!decide(position)) {
            throw new Defect("a transaction of this life commits at position " + position
                    + ", which the database held before it began");
        }
        add(Slot.local(position, transaction, writes, local));
    }

    /** Commits what was {@linkplain #prepare prepared}; false, and nothing is decided, if nothing was. */
    boolean prepared(TransactionId transaction, long position, WriteSet writes) {
        Preparations.Preparation preparation = preparations.take(transaction);
        if (preparation == null) {
            return false;
        }
        Slot slot = Slot.prepared(position, writes, preparation);
        if (decide(position)) {
            add(slot);
        } else {
            preparations.drop(preparation);
            lostKeys.settled(slot, events.wasLeftOut(position));
        }
        return true;
    }

    /** A request is to be executed, alone. */
    void barrier(long position, TransactionId transaction, TransactionRequest.Whole request) {
        Slot slot = Slot.barrier(position, transaction, request);
        if (decide(position)) {
            add(slot);
        } else {
            lostKeys.settled(slot, events.wasLeftOut(position));
        }
    }

    /**
     * Nothing happens at this position, but before it is visible, and so while all before it is and nothing behind it, somebody looks.
     *
     * @param look runs what it is given, on the loop, when that is over
     */
    void look(long position, Consumer<Runnable> look) {
        if (decide(position)) {
            add(Slot.look(position, look));
        }
    }

    /** Notes a decision; answers whether anything is left to be done. */
    private boolean decide(long position) {
        if (position != decided + 1) {
            throw new Defect("position " + position + " was decided, expected " + (decided + 1)
                    + ": each is decided once, in order");
        }
        decided = position;
        return !engineHeld(position);
    }

    // ------------------------------------------------------------------------------------------ prepared changes

    /** Makes the changes of a remote transaction that has no position yet, and keeps their locks. */
    void prepare(TransactionId transaction, WriteSet writes) {
        preparations.prepare(transaction, writes);
    }

    /** Gives up what was {@linkplain #prepare prepared}, if anything. */
    void drop(TransactionId transaction) {
        preparations.drop(transaction);
    }

    /** The engine says for whom an applier waits that {@linkplain #prepare prepares}. */
    void waits(Engine.Applier waiter, Set<TransactionId> locals, Set<Engine.Applier> others) {
        preparations.waits(waiter, locals, others);
    }

    /**
     * What is prepared may hold locks that an earlier position needs: what is not decided is made again later, and what
     * commits later is applied in its turn. (What is prepared and met by an earlier position was decided elsewhere while this
     * replica took part in that without having been asked.)
     */
    private void makeWay(KeySet keys, long position) {
        preparations.makeWay(keys, position);
        for (Slot later : slots) {
            if (later.is(Slot.Kind.PREPARED, Slot.State.WAITING) && later.position() > position
                    && Preparations.meet(keys, later.writes().keys())) {
                becomeRemote(later);
            }
        }
    }

    // ------------------------------------------------------------------------------------------ the queue

    /**
     * The local transaction at this position is being rolled back: its write set is to be applied in its place.
     *
     * @return false if it is too late: its commit has been asked for, or it is visible
     */
    boolean replay(long position) {
        for (Slot slot : slots) {
            if (slot.position() == position) {
                if (!slot.is(Slot.Kind.LOCAL, Slot.State.WAITING)) {
                    return false;
                }
                becomeRemote(slot);
                advance();
                return true;
            }
        }
        return false;
    }

    private void becomeRemote(Slot slot) {
        Preparations.Preparation preparation = slot.becomeRemote();
        if (preparation != null) {
            preparations.drop(preparation);
        }
        slot.lingersUntil(clock.nanoTime());
        load.becameRemote(slot);
        busy.leave(slot);
    }

    private void add(Slot slot) {
        events.decided(slot);
        slots.add(slot);
        load.arrived(slot);
        advance();
    }

    /** Does whatever can be done now. Completions may call it again from inside; that is folded into one more pass. */
    private void advance() {
        if (halted) {
            return;
        }
        if (advancing) {
            advanceAgain = true;
            return;
        }
        advancing = true;
        do {
            advanceAgain = false;
            commitHead();
            if (!lingering()) {
                groups.begin();
            }
        } while (advanceAgain);
        advancing = false;
    }

    private void commitHead() {
        long before = visible;
        Slot head = slots.peek();
        while (head != null && head.kind() == Slot.Kind.SKIP && head.group() == null) {
            finish(head);
            head = slots.peek();
        }
        if (visible != before) {
            events.visible(visible);
        }
        head = slots.peek();
        if (head == null) {
            return;
        }
        ApplyGroup group = head.group();
        EngineFailure wrong = events.leftOut(head.position());
        EngineFailure refers = head.state() == Slot.State.WAITING && group == null ? missing(head) : null;
        if (group != null) {
            if (head.state() == Slot.State.APPLIED) {
                groups.commit(group);
            }
        } else if (head.state() == Slot.State.WAITING && wrong != null) {
            leaveOut(head, wrong);
        } else if (refers != null) {
            if (head.kind() == Slot.Kind.PREPARED) {
                becomeRemote(head);
            }
            refuse(head, refers);
        } else if (head.state() == Slot.State.WAITING) {
            switch (head.kind()) {
                case LOCAL -> commitLocal(head);
                case PREPARED -> commitPrepared(head);
                case BARRIER -> executeBarrier(head);
                case LOOK -> look(head);
                case REMOTE, SKIP -> {
                    // The one is dispatched first, the other never waits.
                }
            }
        }
    }

    /** Why what others have made refers to what is not here; null if it does not. What this node has made its engine has looked at. */
    private @Nullable EngineFailure missing(Slot slot) {
        EngineFailure refers = lostKeys.missingFor(slot);
        return refers == null || events.holds(slot.position()) ? null : refers;
    }

    private void look(Slot head) {
        head.become(Slot.State.COMMITTING);
        head.look().accept(() -> {
            finish(head);
            tellVisible();
        });
    }

    private void becameVisible(Slot slot) {
        commits.confirms(slot.position());
        finish(slot);
        tellVisible();
    }

    private final class GroupEvents implements ApplyGroups.Events {
        @Override
        public boolean waits(Slot slot) {
            return events.leftOut(slot.position()) != null || missing(slot) != null;
        }

        @Override
        public void begins(Slot slot) {
            makeWay(slot.writes().keys(), slot.position());
        }

        @Override
        public void canGoOn() {
            advance();
        }

        @Override
        public void visible(ApplyGroup group) {
            metrics.applied(group.writes().size(), clock.nanoTime() - group.startedNanos());
            commits.confirms(group.last().position());
            group.slots().forEach(CommitPipeline.this::finish);
            tellVisible();
        }

        @Override
        public void refused(Slot slot, EngineFailure why) {
            refuse(slot, why);
        }
    }

    private void tellVisible() {
        events.visible(visible);
        preparations.resume();
        advance();
    }

    private void finish(Slot slot) {
        if (slots.remove() != slot || slot.position() != visible + 1) {
            throw new Defect(slot + " became visible behind position " + visible);
        }
        slot.become(Slot.State.VISIBLE);
        visible = slot.position();
        boolean leftOut = events.leftOut(visible) != null;
        if (!slot.writes().isEmpty() && !leftOut) {
            events.committed(visible, slot.writes());
        }
        lostKeys.settled(slot, leftOut);
        load.left(slot);
        busy.leave(slot);
    }

    // ------------------------------------------------------------------------------------------ the head's commit

    private void commitLocal(Slot slot) {
        slot.become(Slot.State.COMMITTING);
        commits.asks(slot.position());
        slot.local().commit(slot.position(), onLoop(_ -> becameVisible(slot), _ -> commitFailed(slot)));
    }

    private void commitPrepared(Slot slot) {
        slot.become(Slot.State.COMMITTING);
        commits.asks(slot.position());
        preparations.commit(slot.takePreparation(), slot.position(), () -> becameVisible(slot),
                _ -> commitFailed(slot));
    }

    /** It may have committed or not; if not, its write set is applied. {@link ApplyGroups#commit} looks before it commits. */
    private void commitFailed(Slot slot) {
        becomeRemote(slot);
        slot.attempted();
        advance();
    }

    private void executeBarrier(Slot slot) {
        Engine.Applier applier = appliers.take();
        if (applier == null) {
            return;
        }
        slot.become(Slot.State.COMMITTING);
        makeWay(slot.barrier().keys(), slot.position());
        commits.asks(slot.position());
        applier.execute(slot.position(), slot.barrier().statement(), onLoop(result -> {
            appliers.free(applier);
            EngineFailure why = result.refusal();
            if (why == null) {
                executed(slot, result);
            } else {
                refusedNow(slot, why, result);
            }
        }, failure -> {
            appliers.free(applier);
            commits.later(slot, () -> commits.ifCommitted(slot.position(),
                    () -> executed(slot, ExecuteResult.done(new byte[0])), () -> {
                        if (EngineCommits.isFinal(slot, failure)) {
                            refuse(slot, failure);
                        } else {
                            slot.become(Slot.State.WAITING);
                            advance();
                        }
                    }));
        }));
    }

    /** If an attempt whose answer was lost has worked after all, that is why it is refused now. */
    private void refusedNow(Slot slot, EngineFailure why, ExecuteResult result) {
        Runnable refused = () -> {
            slot.refusal(result);
            refuse(slot, why);
        };
        if (slot.attempts() == 0) {
            refused.run();
        } else {
            commits.ifCommitted(slot.position(), () -> executed(slot, ExecuteResult.done(new byte[0])), refused);
        }
    }

    private void executed(Slot slot, ExecuteResult result) {
        events.executed(slot.position(), result);
        becameVisible(slot);
    }

    // ------------------------------------------------------------------------------------------ what the engine refuses

    private void refuse(Slot head, EngineFailure why) {
        head.become(Slot.State.REFUSED);
        events.refused(head, why);
    }

    private boolean isRefused(long position) {
        Slot head = slots.peek();
        return head != null && head.position() == position && head.state() == Slot.State.REFUSED;
    }

    /** What was {@linkplain Events#refused refused} is tried again, after a while; nothing happens if it is not that. */
    void tryAgain(long position) {
        commits.muchLater(() -> {
            if (isRefused(position)) {
                slots.element().become(Slot.State.WAITING);
                advance();
            }
        });
    }

    /** {@link Events#leftOut} has come to know of a position: what was refused, or would come next, is left out. */
    void leaveOut(long position) {
        if (isRefused(position)) {
            slots.element().become(Slot.State.WAITING);
        }
        advance();
    }

    /** Does not make the effects of what is next. The engine keeps that in mind, for a later life to know. */
    private void leaveOut(Slot head, EngineFailure why) {
        if (head.kind() == Slot.Kind.LOCAL) {
            events.takesBack(head.transaction());
        }
        if (head.kind() == Slot.Kind.LOCAL || head.kind() == Slot.Kind.PREPARED) {
            becomeRemote(head);
        }
        Engine.Applier applier = appliers.take();
        if (applier == null) {
            return;
        }
        head.become(Slot.State.COMMITTING);
        commits.asks(head.position());
        applier.skip(head.position(), why, onLoop(result -> {
            appliers.free(applier);
            leftOut(head, why, result);
        }, failure -> {
            appliers.free(applier);
            commits.muchLater(() -> commits.ifCommitted(head.position(), () -> leftOutOrMade(head, why), () -> {
                head.become(Slot.State.WAITING);
                advance();
            }));
        }));
    }

    /** The engine holds its position: that it is left out, or what was attempted before and has worked after all. */
    private void leftOutOrMade(Slot head, EngineFailure why) {
        commits.ifSkipped(head.position(), () -> leftOut(head, why, new ExecuteResult(why, new byte[0])), () -> {
            if (head.kind() == Slot.Kind.BARRIER) {
                executed(head, ExecuteResult.done(new byte[0]));
            } else {
                load.grouped(head);
                becameVisible(head);
            }
        });
    }

    private void leftOut(Slot head, EngineFailure why, ExecuteResult result) {
        ExecuteResult here = head.refusal();
        if (head.kind() == Slot.Kind.BARRIER) {
            executed(head, here == null ? result : here);
        } else {
            events.leavesOut(head.position(), head.transaction(), why);
            load.grouped(head);
            becameVisible(head);
        }
    }

    /** Nothing is made visible any more. */
    void halt() {
        halted = true;
    }

    // ------------------------------------------------------------------------------------------ lingering

    /** Whether the head waits for more to come, or is about to. Any thread. */
    boolean lingers() {
        return linger.lingers();
    }

    /** Somebody waits for this position, or will look at what is visible: nothing up to it waits for more. */
    void hurry(long position) {
        linger.hurry(position);
        advance();
    }

    /** Whether the head is left alone for now; if so, this is looked at again in time. */
    private boolean lingering() {
        Slot head = slots.peek();
        if (head == null || head.kind() != Slot.Kind.REMOTE || head.group() != null || head.attempts() > 0) {
            return false;
        }
        long nanos = linger.remaining(head.position(), head.lingersUntilNanos(), load.enough());
        if (nanos > 0 && linger.setTimer()) {
            loop.schedule(nanos, () -> {
                linger.timerRan();
                advance();
            });
        }
        return nanos > 0;
    }

    private <T> Completion<T> onLoop(Consumer<T> success, Consumer<EngineFailure> failure) {
        return new LoopCompletion<>(loop, success, failure);
    }

    /** Closes what it has opened in the engine. */
    void close() {
        appliers.close();
        preparations.close();
        executors.close();
    }
}
