package tutti.node;

import java.util.Iterator;
import java.util.Queue;
import java.util.function.Consumer;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.runtime.Clock;
import tutti.runtime.Loop;

/**
 * Divides the remote positions of the {@link CommitPipeline} into groups, has a few appliers apply them side by side, and commits
 * each when all before it is visible.
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
 * head waits a little as well ({@link ApplyLinger}).
 *
 * <p>
 * <b>Exactly once.</b> When a commit's result is lost, its positions are tried again one by one, and each looks at the
 * engine's recorded position after it has taken its row locks and before it commits: whoever did the same work before
 * has ended by then, because it held the same locks.
 *
 * <p>
 * All methods run on the replica's loop; completions of the engine are handed over to it.
 */
final class ApplyGroups {
    /** Most bytes of changes in one engine transaction, unless a single write set is larger. */
    private static final long BYTES_MAX = 1 << 20;

    /** What it asks and tells the pipeline. */
    interface Events {
        /** Whether what is to become of a position is looked at when it comes next. */
        boolean waits(Slot slot);

        /** A position joins a group that is about to begin. */
        void begins(Slot slot);

        /** Something has been applied, or waits again. */
        void canGoOn();

        /** A group has been committed. */
        void visible(ApplyGroup group);

        /** The engine refuses the head of the queue. */
        void refused(Slot slot, EngineFailure why);
    }

    private final Queue<Slot> slots;
    private final BusyKeys busy;
    private final PipelineLoad load;
    private final ApplierPool appliers;
    private final EngineCommits commits;
    private final Clock clock;
    private final Loop loop;
    private int positionsMax;
    private final Events events;

    /**
     * For the pipeline that these parts are of.
     *
     * @param slots decided and not visible, without a gap
     * @param positionsMax most positions in one engine transaction, at least 1
     */
    ApplyGroups(Queue<Slot> slots, BusyKeys busy, PipelineLoad load, ApplierPool appliers, EngineCommits commits,
            Clock clock, Loop loop, int positionsMax, Events events) {
        this.slots = slots;
        this.busy = busy;
        this.load = load;
        this.appliers = appliers;
        this.commits = commits;
        this.clock = clock;
        this.loop = loop;
        this.positionsMax = positionsMax;
        this.events = events;
    }

    /** Groups that begin from now on have at most so many positions, at least 1. */
    void positionsMax(int count) {
        positionsMax = count;
    }

    /** Begins with what can be begun now, but for what only the head of the queue may do. */
    void begin() {
        Iterator<Slot> scan = slots.iterator();
        ApplyGroup group = null;
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
            if (slot.kind() == Slot.Kind.BARRIER || slot.kind() == Slot.Kind.LOOK
                    || slot.state() == Slot.State.REFUSED || events.waits(slot)) {
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
            if (group != null && (!group.hasRoomFor(slot, positionsMax, BYTES_MAX)
                    || !appliers.together(group.first(), slot))) {
                start(group);
                group = null;
                if (meetsEarlier(slot) || !applierFree(slot)) {
                    break;
                }
            }
            if (group == null) {
                group = new ApplyGroup();
            }
            load.grouped(slot);
            events.begins(slot);
            group.add(slot);
        }
        if (group != null) {
            start(group);
        }
    }

    /**
     * Whether there is an applier to begin a group with at this slot. The last one is kept for the head: later groups hold
     * theirs until it is their turn, and the head may come to need one (a local commit that failed, a barrier). So the head
     * takes it even when more work than {@linkplain ApplierPool#limit may} by now: they wait for the head.
     */
    private boolean applierFree(Slot slot) {
        return slot.equals(slots.peek()) ? appliers.hasIdle() : appliers.hasSpare() && load.muchWaits();
    }

    /**
     * Whether a slot meets one that is on its way. Those on their way are earlier ones, except when the slot is tried
     * again; then they may be later local ones, for which it must not wait. So the head waits for nobody.
     */
    private boolean meetsEarlier(Slot slot) {
        return !slot.equals(slots.peek()) && busy.meet(slot.writes().keys());
    }

    private void start(ApplyGroup group) {
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
        group.begin(applier, clock.nanoTime(), isHead(group));
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
            events.canGoOn();
        }, failure -> {
            appliers.free(group.release());
            Runnable again = () -> commits.later(group.first(), () -> again(group, failure));
            if (group.first().attempts() > 0 && isHead(group)) {
                // If the commit that was tried before has worked, that is why its changes cannot be made again.
                commits.ifCommitted(last, () -> events.visible(group), again);
            } else {
                again.run();
            }
        }));
    }

    /** Tries again what could not be applied, if that is of use. */
    private void again(ApplyGroup group, EngineFailure failure) {
        ungroup(group);
        if (group.isLastResort() && EngineCommits.isFinal(group.first(), failure)) {
            events.refused(group.first(), failure);
        } else {
            events.canGoOn();
        }
    }

    private boolean isHead(ApplyGroup group) {
        return group.first().equals(slots.peek());
    }

    /** Commits a group that has been applied and is what comes next. */
    void commit(ApplyGroup group) {
        Engine.Applier applier = group.applier();
        long last = group.last().position();
        group.become(Slot.State.COMMITTING);
        Runnable now = () -> {
            commits.asks(last);
            applier.commit(last, onLoop(_ -> committed(group), failure -> commitFailed(group, failure)));
        };
        if (group.first().attempts() > 0) {
            // A commit that was reported as failed may have worked after all; applying it again would not be harmless.
            commits.ifCommitted(last, () -> applier.rollback(() -> loop.execute(() -> committed(group))), now);
        } else {
            now.run();
        }
    }

    private void committed(ApplyGroup group) {
        appliers.free(group.release());
        events.visible(group);
    }

    private void commitFailed(ApplyGroup group, EngineFailure failure) {
        appliers.free(group.release());
        commits.later(group.first(), () -> commits.ifCommitted(group.last().position(), () -> events.visible(group),
                () -> again(group, failure)));
    }

    private void ungroup(ApplyGroup group) {
        group.disband();
        for (Slot slot : group.slots()) {
            if (slot.kind() == Slot.Kind.REMOTE) {
                load.ungrouped(slot);
            }
            busy.leave(slot);
        }
    }

    private <T> Completion<T> onLoop(Consumer<T> success, Consumer<EngineFailure> failure) {
        return new LoopCompletion<>(loop, success, failure);
    }
}
