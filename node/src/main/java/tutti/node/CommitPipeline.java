package tutti.node;

import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
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
 * <b>No deadlock among appliers.</b> A group is given to an applier only when none of its keys meets a key of an earlier
 * slot that is not visible yet and not in the group itself. So an applier never waits for a lock of another applier or of
 * a certified local transaction before it; it can wait only for local transactions that come later or have not been
 * ordered, and those are pushed out of the way ({@link Engine.BlockedListener}).
 *
 * <p>
 * <b>Few groups.</b> A transaction costs the engine less in a large group. So what comes while the head is at work waits
 * for it, and is one group then; only when much waits do other appliers begin with it. Where nobody waits to see it, the
 * head waits a little as well ({@link Linger}).
 *
 * <p>
 * <b>Exactly once.</b> When a commit's result is lost, its positions are tried again one by one, and each looks at the
 * engine's recorded position after it has taken its row locks and before it commits: whoever did the same work before
 * has ended by then, because it held the same locks.
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
    /** Most bytes of changes in one engine transaction, unless a single write set is larger. */
    private static final long GROUP_BYTES_MAX = 1 << 20;

    /** What the pipeline tells its node; on the loop. */
    interface Events extends Preparations.Events {
        /** This position and all before it are visible. */
        void visible(long position);

        /** A barrier has been executed, and its position will be visible next. */
        void executed(long position, ExecuteResult result);

        /** Positions could not be made visible, for good. */
        void failed(Throwable cause);
    }

    private final Clock clock;
    private final Loop loop;
    private final Events events;
    private final NodeMetrics metrics;
    private final int applierCount;
    private final int groupPositionsMax;
    private final Preparations preparations;
    private final Linger linger;
    private final EngineCommits commits;
    private final ApplierPool appliers;
    /** Decided and not visible, without a gap. */
    private final ArrayDeque<Slot> slots = new ArrayDeque<>();
    private final BusyKeys busy = new BusyKeys();
    private final PipelineLoad load = new PipelineLoad();
    /** Position that the engine held when this life began. */
    private long recovered;
    private long decided;
    private long visible;
    private boolean advancing;
    private boolean advanceAgain;

    /**
     * Puts it together; {@link #open} begins.
     *
     * @param applierCount how many appliers work side by side, at least 1
     * @param groupPositionsMax most positions in one engine transaction, at least 1
     * @param lingerNanos for how long remote transactions may wait for others to be applied with, in nanoseconds; 0 for never
     * @param unwatched whether nobody at this node waits to see something
     */
    CommitPipeline(Engine engine, Clock clock, Loop loop, Events events, NodeMetrics metrics, int applierCount,
            int groupPositionsMax, long lingerNanos, BooleanSupplier unwatched) {
        this.metrics = metrics;
        this.linger = new Linger(clock, lingerNanos, unwatched);
        this.applierCount = applierCount;
        this.groupPositionsMax = groupPositionsMax;
        this.clock = clock;
        this.loop = loop;
        this.events = events;
        this.preparations = new Preparations(engine, loop, events);
        this.commits = new EngineCommits(engine, loop, events::failed);
        this.appliers = new ApplierPool(engine);
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
        appliers.open(applierCount);
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

    /** Bytes of changes decided and not visible. */
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
    void remote(long position, WriteSet writes) {
        if (decide(position)) {
            Slot slot = Slot.remote(position, writes);
            slot.lingersUntil(linger.arrived());
            add(slot);
        }
    }

    /** A transaction of this node and life, which holds its locks, is to commit. */
    void local(long position, WriteSet writes, LocalTransaction local) {
        if (!decide(position)) {
            throw new Defect("a transaction of this life commits at position " + position
                    + ", which the database held before it began");
        }
        add(Slot.local(position, writes, local));
    }

    /** Commits what was {@linkplain #prepare prepared}; false, and nothing is decided, if nothing was. */
    boolean prepared(TransactionId transaction, long position, WriteSet writes) {
        Preparations.Preparation preparation = preparations.take(transaction);
        if (preparation == null) {
            return false;
        }
        if (decide(position)) {
            add(Slot.prepared(position, writes, preparation));
        } else {
            preparations.drop(preparation);
        }
        return true;
    }

    /** A request is to be executed, alone. */
    void barrier(long position, TransactionRequest.Whole request) {
        if (decide(position)) {
            add(Slot.barrier(position, request));
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
        slots.add(slot);
        load.arrived(slot);
        advance();
    }

    /** Does whatever can be done now. Completions may call it again from inside; that is folded into one more pass. */
    private void advance() {
        if (advancing) {
            advanceAgain = true;
            return;
        }
        advancing = true;
        do {
            advanceAgain = false;
            commitHead();
            dispatch();
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
        Group group = head.group();
        if (group != null) {
            if (head.state() == Slot.State.APPLIED) {
                commitGroup(group);
            }
        } else if (head.state() == Slot.State.WAITING) {
            switch (head.kind()) {
                case LOCAL -> commitLocal(head);
                case PREPARED -> commitPrepared(head);
                case BARRIER -> executeBarrier(head);
                case REMOTE, SKIP -> {
                    // The one is dispatched first, the other never waits.
                }
            }
        }
    }

    private void becameVisible(Slot slot) {
        commits.confirms(slot.position());
        finish(slot);
        tellVisible();
    }

    private void groupVisible(Group group) {
        metrics.applied(group.writes().size(), clock.nanoTime() - group.startedNanos());
        commits.confirms(group.last().position());
        group.slots().forEach(this::finish);
        tellVisible();
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

    /** It may have committed or not; if not, its write set is applied. {@link #commitGroup} looks before it commits. */
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
            executed(slot, result);
        }, failure -> {
            appliers.free(applier);
            commits.later(slot, failure, () -> commits.ifCommitted(slot.position(),
                    () -> executed(slot, new ExecuteResult(true, new byte[0])), () -> {
                        slot.become(Slot.State.WAITING);
                        advance();
                    }));
        }));
    }

    private void executed(Slot slot, ExecuteResult result) {
        events.executed(slot.position(), result);
        becameVisible(slot);
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

    // ------------------------------------------------------------------------------------------ groups

    private void dispatch() {
        if (lingering()) {
            return;
        }
        Iterator<Slot> scan = slots.iterator();
        Group group = null;
        while (scan.hasNext()) {
            Slot slot = scan.next();
            if (group == null && !applierFree(slot)) {
                break;
            }
            if (slot.group() != null) {
                // A group is a run of positions: one that is tried again ends before a later one that is on its way.
                if (group != null) {
                    start(group);
                    group = null;
                }
                continue;
            }
            if (slot.kind() == Slot.Kind.BARRIER) {
                break;
            }
            if (slot.kind() == Slot.Kind.LOCAL || slot.kind() == Slot.Kind.PREPARED) {
                // Only those behind it want to know.
                if (scan.hasNext()) {
                    busy.enter(slot);
                }
                if (group != null) {
                    start(group);
                    group = null;
                }
                continue;
            }
            if (slot.kind() == Slot.Kind.SKIP) {
                if (group != null) {
                    group.add(slot);
                }
                continue;
            }
            if (meetsEarlier(slot)) {
                break;
            }
            if (group != null && !group.hasRoomFor(slot, groupPositionsMax, GROUP_BYTES_MAX)) {
                start(group);
                group = null;
                if (meetsEarlier(slot) || !applierFree(slot)) {
                    break;
                }
            }
            if (group == null) {
                group = new Group();
            }
            load.grouped(slot);
            makeWay(slot.writes().keys(), slot.position());
            group.add(slot);
        }
        if (group != null) {
            start(group);
        }
    }

    /**
     * Whether there is an applier to begin a group with at this slot. The last one is kept for the head: later groups hold
     * theirs until it is their turn, and the head may come to need one (a local commit that failed, a barrier).
     */
    private boolean applierFree(Slot slot) {
        return slot.equals(slots.peek()) ? appliers.idle() > 0 : appliers.idle() > 1 && load.muchWaits();
    }

    /**
     * Whether a slot meets one that is on its way. Those on their way are earlier ones, except when the slot is tried
     * again; then they may be later local ones, for which it must not wait. So the head waits for nobody.
     */
    private boolean meetsEarlier(Slot slot) {
        return !slot.equals(slots.peek()) && busy.meet(slot.writes().keys());
    }

    private void start(Group group) {
        group.trim();
        group.become(Slot.State.APPLYING);
        for (Slot slot : group.slots()) {
            if (slot.kind() == Slot.Kind.REMOTE) {
                busy.enter(slot);
            }
        }
        Engine.Applier applier = appliers.take();
        if (applier == null) {
            throw new Defect("no applier is left for " + group.first());
        }
        group.begin(applier, clock.nanoTime());
        long last = group.last().position();
        if (isHead(group) && group.first().attempts() == 0) {
            // All before it is visible, so nothing has to be asked between the changes and their commit.
            group.become(Slot.State.COMMITTING);
            commits.asks(last);
            applier.applyAndCommit(group.first().position(), group.writes(), last,
                    onLoop(_ -> committed(group), failure -> commitFailed(group, failure)));
            return;
        }
        applier.apply(group.first().position(), group.writes(), onLoop(_ -> {
            group.become(Slot.State.APPLIED);
            advance();
        }, failure -> {
            appliers.free(group.release());
            Runnable again = () -> commits.later(group.first(), failure, () -> disband(group));
            if (group.first().attempts() > 0 && isHead(group)) {
                // If the commit that was tried before has worked, that is why its changes cannot be made again.
                commits.ifCommitted(last, () -> groupVisible(group), again);
            } else {
                again.run();
            }
        }));
    }

    private boolean isHead(Group group) {
        return group.first().equals(slots.peek());
    }

    private void commitGroup(Group group) {
        Engine.Applier applier = group.applier();
        long last = group.last().position();
        group.become(Slot.State.COMMITTING);
        Runnable commit = () -> {
            commits.asks(last);
            applier.commit(last, onLoop(_ -> committed(group), failure -> commitFailed(group, failure)));
        };
        if (group.first().attempts() > 0) {
            // A commit that was reported as failed may have worked after all; applying it again would not be harmless.
            commits.ifCommitted(last, () -> applier.rollback(() -> loop.execute(() -> committed(group))), commit);
        } else {
            commit.run();
        }
    }

    private void committed(Group group) {
        appliers.free(group.release());
        groupVisible(group);
    }

    private void commitFailed(Group group, EngineFailure failure) {
        appliers.free(group.release());
        commits.later(group.first(), failure, () -> commits.ifCommitted(group.last().position(),
                () -> groupVisible(group), () -> disband(group)));
    }

    private void disband(Group group) {
        group.disband();
        for (Slot slot : group.slots()) {
            if (slot.kind() == Slot.Kind.REMOTE) {
                load.ungrouped(slot);
            }
            busy.leave(slot);
        }
        advance();
    }

    private <T> Completion<T> onLoop(Consumer<T> success, Consumer<EngineFailure> failure) {
        return new LoopCompletion<>(loop, success, failure);
    }

    /** Closes the appliers. */
    void close() {
        appliers.close();
        preparations.close();
    }
}
