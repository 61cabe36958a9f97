package tutti.node;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Request;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.KeyKind;
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
 * All methods run on the replica's event loop; completions of the engine are handed over to it.
 */
final class CommitPipeline {
    /** Most bytes of changes in one engine transaction, unless a single write set is larger. */
    private static final long GROUP_BYTES_MAX = 1 << 20;
    /** What may wait behind the head for its turn, and so for a group as large as possible: transactions, and their bytes. */
    private static final int WAITING_MAX = 8;
    private static final long WAITING_BYTES_MAX = 1 << 16;
    /** So many remote transactions make a group worth having: the head waits for no more. */
    private static final int LINGER_MAX = 32;
    /** The n-th attempt waits n² of these, at most {@link #RETRY_NANOS_MAX}. */
    private static final long RETRY_NANOS = 500_000L;
    private static final long RETRY_NANOS_MAX = 100_000_000L;
    /** How often a failing position is tried before the node gives up: with the delays between, nine seconds. */
    private static final int ATTEMPTS_MAX = 100;

    private enum State {
        /** Decided, nothing done in the engine yet (remote), or holding its locks (local). */
        WAITING,
        /** Being applied by an applier. */
        APPLYING,
        /** Applied, not committed. */
        APPLIED,
        /** Its commit has been asked for. */
        COMMITTING
    }

    private enum Kind {
        SKIP, REMOTE, LOCAL, PREPARED, BARRIER
    }

    /** One position. */
    private static final class Slot {
        final long position;
        Kind kind;
        State state = State.WAITING;
        WriteSet writes = WriteSet.EMPTY;
        @Nullable
        LocalTransaction local;
        Preparations.@Nullable Preparation preparation;
        Request.@Nullable Whole barrier;
        @Nullable
        Group group;
        boolean counted;
        int attempts;
        /** Until when it may wait for more to come, by {@link Clock#nanoTime}. */
        long lingersUntilNanos;

        Slot(long position, Kind kind) {
            this.position = position;
            this.kind = kind;
        }
    }

    /** A run of remote slots in one engine transaction. */
    private static final class Group {
        final List<Slot> slots = new ArrayList<>();
        Engine.@Nullable Applier applier;
        long startedNanos;
        int transactions;

        Slot first() {
            return slots.getFirst();
        }

        Slot last() {
            return slots.getLast();
        }
    }

    /** What the pipeline tells its node; on the event loop. */
    interface Events extends Preparations.Events {
        /** This position and all before it are visible. */
        void visible(long position);

        /** A barrier has been executed, and its position will be visible next. */
        void executed(long position, ExecuteResult result);

        /** Positions could not be made visible, for good. */
        void failed(Throwable cause);
    }

    private final Engine engine;
    private final Clock clock;
    private final Loop loop;
    private final Events events;
    private final NodeMetrics metrics;
    private final int groupPositionsMax;
    private final int applierCount;
    private final Preparations preparations;
    private final Linger linger;
    private final ArrayDeque<Slot> slots = new ArrayDeque<>();
    private final ArrayDeque<Engine.Applier> idle = new ArrayDeque<>();
    private final List<Engine.Applier> appliers = new ArrayList<>();
    /** Keys of dispatched or local slots that are not visible: how often each is touched in each way. */
    private final Map<Long, int[]> busy = new HashMap<>();
    private long visible;
    private long queuedBytes;
    /** Remote slots that no group has, and their bytes. */
    private int waiting;
    private long waitingBytes;
    /** Slots that somebody waits for: all but remote ones and those that are skipped. */
    private int awaited;
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
        this.engine = engine;
        this.clock = clock;
        this.loop = loop;
        this.events = events;
        this.preparations = new Preparations(engine, loop, events);
    }

    /**
     * Opens the appliers.
     *
     * @param position that the engine's state equals now
     */
    void open(long position) {
        visible = position;
        for (int i = 0; i < applierCount; i++) {
            Engine.Applier applier = engine.openApplier();
            appliers.add(applier);
            idle.add(applier);
        }
    }

    /** Highest visible position. */
    long visible() {
        return visible;
    }

    /** Positions decided and not visible. */
    int queued() {
        return slots.size();
    }

    /** Bytes of changes decided and not visible. */
    long queuedBytes() {
        return queuedBytes;
    }

    void skip(long position) {
        add(new Slot(position, Kind.SKIP));
    }

    void remote(long position, WriteSet writes) {
        Slot slot = new Slot(position, Kind.REMOTE);
        slot.writes = writes;
        add(slot);
    }

    void local(long position, WriteSet writes, LocalTransaction local) {
        Slot slot = new Slot(position, Kind.LOCAL);
        slot.writes = writes;
        slot.local = local;
        add(slot);
    }

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

    /** Commits what was prepared; false if nothing was. */
    boolean prepared(TransactionId transaction, long position, WriteSet writes) {
        Preparations.Preparation preparation = preparations.take(transaction);
        if (preparation == null) {
            return false;
        }
        Slot slot = new Slot(position, Kind.PREPARED);
        slot.writes = writes;
        slot.preparation = preparation;
        add(slot);
        return true;
    }

    void barrier(long position, Request.Whole request) {
        Slot slot = new Slot(position, Kind.BARRIER);
        slot.barrier = request;
        add(slot);
    }

    /**
     * The local transaction at this position is being rolled back: its write set is to be applied in its place.
     *
     * @return false if it is too late: its commit has been asked for, or it is visible
     */
    boolean replay(long position) {
        for (Slot slot : slots) {
            if (slot.position == position) {
                if (slot.kind != Kind.LOCAL || slot.state != State.WAITING) {
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
        Preparations.Preparation preparation = slot.preparation;
        if (preparation != null) {
            slot.preparation = null;
            preparations.drop(preparation);
        }
        slot.kind = Kind.REMOTE;
        slot.state = State.WAITING;
        slot.local = null;
        slot.lingersUntilNanos = clock.nanoTime();
        awaited--;
        waits(slot, 1);
        count(slot, -1);
    }

    /**
     * What is prepared may hold locks that an earlier position needs: what is not decided is made again later, and what
     * commits later is applied in its turn. (What is prepared and met by an earlier position was decided elsewhere while this
     * replica took part in that without having been asked.)
     */
    private void makeWay(@Nullable KeySet keys, long position) {
        preparations.makeWay(keys, position);
        for (Slot later : slots) {
            if (later.kind == Kind.PREPARED && later.position > position && later.state == State.WAITING
                    && (keys == null || Preparations.meet(keys, later.writes.keys()))) {
                becomeRemote(later);
            }
        }
    }

    private void add(Slot slot) {
        if (slot.position <= visible) {
            return;
        }
        slots.add(slot);
        queuedBytes += slot.writes.changes().length;
        if (slot.kind == Kind.REMOTE) {
            slot.lingersUntilNanos = linger.arrived();
            waits(slot, 1);
        } else if (slot.kind != Kind.SKIP) {
            awaited++;
        }
        advance();
    }

    private void waits(Slot slot, int by) {
        waiting += by;
        waitingBytes += (long) by * slot.writes.changes().length;
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
        while (!slots.isEmpty()) {
            Slot head = slots.peek();
            if (head.kind == Kind.SKIP && head.group == null) {
                slots.remove();
                visible = head.position;
            } else {
                break;
            }
        }
        if (visible != before) {
            events.visible(visible);
        }
        Slot head = slots.peek();
        if (head == null) {
            return;
        }
        if (head.kind == Kind.LOCAL && head.state == State.WAITING) {
            commitLocal(head);
        } else if (head.kind == Kind.PREPARED && head.state == State.WAITING) {
            commitPrepared(head);
        } else if (head.kind == Kind.BARRIER && head.state == State.WAITING) {
            executeBarrier(head);
        } else if (head.group != null && head.state == State.APPLIED) {
            commitGroup(head.group);
        }
    }

    private void commitLocal(Slot slot) {
        slot.state = State.COMMITTING;
        LocalTransaction local = slot.local;
        if (local == null) {
            throw new IllegalStateException("local slot " + slot.position + " without transaction");
        }
        local.commit(slot.position, onLoop(_ -> becameVisible(slot), failure -> localCommitFailed(slot)));
    }

    private void commitPrepared(Slot slot) {
        Preparations.Preparation preparation = slot.preparation;
        if (preparation == null) {
            throw new IllegalStateException("position " + slot.position + " was not prepared");
        }
        slot.state = State.COMMITTING;
        preparations.commit(preparation, slot.position, () -> {
            slot.preparation = null;
            becameVisible(slot);
        }, _ -> {
            slot.preparation = null;
            localCommitFailed(slot);
        });
    }

    /** It may have committed or not; if not, its write set is applied. {@link #commitGroup} looks before it commits. */
    private void localCommitFailed(Slot slot) {
        becomeRemote(slot);
        slot.attempts++;
        advance();
    }

    private void executeBarrier(Slot slot) {
        Engine.Applier applier = idle.poll();
        Request.Whole barrier = slot.barrier;
        if (applier == null || barrier == null) {
            return;
        }
        slot.state = State.COMMITTING;
        makeWay(null, slot.position);
        applier.execute(slot.position, barrier.statement(), onLoop(result -> {
            idle.add(applier);
            events.executed(slot.position, result);
            becameVisible(slot);
        }, failure -> {
            idle.add(applier);
            retryLater(slot, failure, () -> ifApplied(slot.position, () -> {
                events.executed(slot.position, new ExecuteResult(true, new byte[0]));
                becameVisible(slot);
            }, () -> {
                slot.state = State.WAITING;
                advance();
            }));
        }));
    }

    private void becameVisible(Slot slot) {
        if (slots.remove() != slot) {
            throw new IllegalStateException("position " + slot.position + " was committed out of order");
        }
        finished(slot);
        events.visible(visible);
        preparations.resume();
        advance();
    }

    private void finished(Slot slot) {
        visible = slot.position;
        queuedBytes -= slot.writes.changes().length;
        count(slot, -1);
        if (slot.kind != Kind.REMOTE && slot.kind != Kind.SKIP) {
            awaited--;
        }
    }

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
        if (head == null || head.kind != Kind.REMOTE || head.group != null || head.attempts > 0) {
            return false;
        }
        boolean enough = awaited > 0 || waiting >= LINGER_MAX || waitingBytes >= WAITING_BYTES_MAX;
        long nanos = linger.remaining(head.position, head.lingersUntilNanos, enough);
        if (nanos > 0 && linger.setTimer()) {
            loop.schedule(nanos, () -> {
                linger.timerRan();
                advance();
            });
        }
        return nanos > 0;
    }

    private void dispatch() {
        if (lingering()) {
            return;
        }
        Iterator<Slot> scan = slots.iterator();
        Group group = null;
        long bytes = 0;
        while (scan.hasNext()) {
            Slot slot = scan.next();
            if (group == null && !applierFree(slot)) {
                break;
            }
            if (slot.group != null) {
                continue;
            }
            if (slot.kind == Kind.BARRIER) {
                break;
            }
            if (slot.kind == Kind.LOCAL || slot.kind == Kind.PREPARED) {
                // Only those behind it want to know.
                if (scan.hasNext()) {
                    count(slot, 1);
                }
                if (group != null) {
                    start(group);
                    group = null;
                }
                continue;
            }
            if (slot.kind == Kind.SKIP) {
                if (group != null) {
                    slot.group = group;
                    group.slots.add(slot);
                }
                continue;
            }
            if (meetsEarlier(slot)) {
                break;
            }
            if (group != null && (group.slots.size() >= groupPositionsMax
                    || bytes + slot.writes.changes().length > GROUP_BYTES_MAX || slot.attempts > 0
                    || group.first().attempts > 0)) {
                start(group);
                group = null;
                if (meetsEarlier(slot) || !applierFree(slot)) {
                    break;
                }
            }
            if (group == null) {
                group = new Group();
                bytes = 0;
            }
            bytes += slot.writes.changes().length;
            waits(slot, -1);
            makeWay(slot.writes.keys(), slot.position);
            slot.group = group;
            group.slots.add(slot);
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
        return slot.equals(slots.peek())
                ? !idle.isEmpty()
                : idle.size() > 1 && (waiting >= WAITING_MAX || waitingBytes >= WAITING_BYTES_MAX);
    }

    private void start(Group group) {
        while (group.last().kind == Kind.SKIP) {
            group.slots.removeLast().group = null;
        }
        List<WriteSet> writes = new ArrayList<>(group.slots.size());
        for (Slot slot : group.slots) {
            slot.state = State.APPLYING;
            if (slot.kind == Kind.REMOTE) {
                count(slot, 1);
                writes.add(slot.writes);
            }
        }
        group.startedNanos = clock.nanoTime();
        group.transactions = writes.size();
        Engine.Applier applier = idle.remove();
        group.applier = applier;
        if (group.first().equals(slots.peek()) && group.first().attempts == 0) {
            // All before it is visible, so nothing has to be asked between the changes and their commit.
            group.slots.forEach(slot -> slot.state = State.COMMITTING);
            applier.applyAndCommit(group.first().position, writes, group.last().position,
                    onLoop(_ -> committed(group), failure -> commitFailed(group, failure)));
            return;
        }
        applier.apply(group.first().position, writes, onLoop(_ -> {
            for (Slot slot : group.slots) {
                slot.state = State.APPLIED;
            }
            advance();
        }, failure -> {
            release(group);
            Runnable again = () -> retryLater(group.first(), failure, () -> {
                disband(group);
                advance();
            });
            if (group.first().attempts > 0 && group.first() == slots.peek()) {
                // If the commit that was tried before has worked, that is why its changes cannot be made again.
                ifApplied(group.last().position, () -> groupVisible(group), again);
            } else {
                again.run();
            }
        }));
    }

    private void commitGroup(Group group) {
        Engine.Applier applier = group.applier;
        if (applier == null) {
            throw new IllegalStateException("group at " + group.first().position + " is applied by nobody");
        }
        for (Slot slot : group.slots) {
            slot.state = State.COMMITTING;
        }
        Runnable commit = () -> applier.commit(group.last().position,
                onLoop(_ -> committed(group), failure -> commitFailed(group, failure)));
        if (group.first().attempts > 0) {
            // A commit that was reported as failed may have worked after all; applying it again would not be harmless.
            ifApplied(group.last().position,
                    () -> applier.rollback(() -> loop.execute(() -> committed(group))), commit);
        } else {
            commit.run();
        }
    }

    private void committed(Group group) {
        release(group);
        groupVisible(group);
    }

    private void commitFailed(Group group, EngineFailure failure) {
        release(group);
        retryLater(group.first(), failure, () -> ifApplied(group.last().position, () -> groupVisible(group), () -> {
            disband(group);
            advance();
        }));
    }

    /** Does the one or the other, later, by whether the engine has committed a position. */
    private void ifApplied(long position, Runnable applied, Runnable not) {
        engine.appliedPosition(onLoop(last -> (last >= position ? applied : not).run(),
                failure -> events.failed(new IllegalStateException("the engine does not tell whether it has committed"
                        + " position " + position + ": " + failure.sqlState() + " " + failure.message()))));
    }

    private void groupVisible(Group group) {
        metrics.applied(group.transactions, clock.nanoTime() - group.startedNanos);
        for (Slot slot : group.slots) {
            if (slots.remove() != slot) {
                throw new IllegalStateException("position " + slot.position + " was committed out of order");
            }
            finished(slot);
        }
        events.visible(visible);
        preparations.resume();
        advance();
    }

    private void release(Group group) {
        Engine.Applier applier = group.applier;
        if (applier != null) {
            idle.add(applier);
            group.applier = null;
        }
    }

    private void disband(Group group) {
        for (Slot slot : group.slots) {
            slot.group = null;
            slot.state = State.WAITING;
            if (slot.kind == Kind.REMOTE) {
                waits(slot, 1);
            }
            slot.attempts = Math.max(slot.attempts, 1);
            count(slot, -1);
        }
    }

    private void retryLater(Slot slot, EngineFailure failure, Runnable again) {
        slot.attempts++;
        if (!failure.transientFailure() || slot.attempts > ATTEMPTS_MAX) {
            events.failed(new IllegalStateException("position " + slot.position + " cannot be applied after "
                    + slot.attempts + " attempts: " + failure.sqlState() + " " + failure.message()));
            return;
        }
        loop.schedule(Math.min(RETRY_NANOS * slot.attempts * slot.attempts, RETRY_NANOS_MAX), again);
    }

    /**
     * Whether a slot meets one that is on its way. Those on their way are earlier ones, except when the slot is tried
     * again; then they may be later local ones, for which it must not wait. So the head waits for nobody.
     */
    private boolean meetsEarlier(Slot slot) {
        KeySet keys = slot.writes.keys();
        if (busy.isEmpty() || slot.equals(slots.peek())) {
            return false;
        }
        for (int i = 0; i < keys.size(); i++) {
            int[] counts = busy.get(keys.hash(i));
            if (counts == null) {
                continue;
            }
            for (KeyKind kind : KINDS) {
                if (counts[kind.ordinal()] > 0 && keys.kind(i).conflictsWith(kind)) {
                    return true;
                }
            }
        }
        return false;
    }

    private static final KeyKind[] KINDS = KeyKind.values();

    /** Notes a slot's keys as busy, or takes them back; idempotent either way. */
    private void count(Slot slot, int by) {
        if (slot.counted == by > 0) {
            return;
        }
        slot.counted = by > 0;
        KeySet keys = slot.writes.keys();
        for (int i = 0; i < keys.size(); i++) {
            int[] counts = busy.computeIfAbsent(keys.hash(i), _ -> new int[KINDS.length]);
            counts[keys.kind(i).ordinal()] += by;
            if (by < 0 && counts[0] == 0 && counts[1] == 0 && counts[2] == 0) {
                busy.remove(keys.hash(i));
            }
        }
    }

    private <T> Completion<T> onLoop(Consumer<T> success, Consumer<EngineFailure> failure) {
        return new LoopCompletion<>(loop, success, failure);
    }

    /** Closes the appliers. */
    void close() {
        for (Engine.Applier applier : appliers) {
            applier.close();
        }
        preparations.close();
    }
}
