package tutti.model;

import java.util.ArrayDeque;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Brings decided positions into a modelled database: write sets of others side by side as soon as they have their locks,
 * own transactions by their log writes alone, what every replica executes alone; all visible in order of position.
 */
final class ModelPipeline {
    /** What is done at a position. */
    enum Action {
        /** Nothing. */
        SKIP,
        /** The locks are held by a transaction of this site that has executed: its log is written. */
        COMMIT,
        /** A write set is applied. */
        APPLY,
        /** The transaction is executed by every replica. */
        EXECUTE
    }

    /** A position that has been decided and is not visible. */
    static final class Slot extends LockHolder {
        final long position;
        final Action action;
        final @Nullable Work work;
        /** Whose locks they are if it commits. */
        final @Nullable LockHolder local;
        private final ModelPipeline pipeline;
        private boolean granted;
        private boolean begun;
        private boolean done;

        Slot(ModelPipeline pipeline, long position, Action action, @Nullable Work work, @Nullable LockHolder local) {
            this.pipeline = pipeline;
            this.position = position;
            this.action = action;
            this.work = work;
            this.local = local;
            if (work != null && local == null) {
                exclusive = work.exclusive;
            }
        }

        @Override
        void acquired() {
            granted = true;
            pipeline.begin(this);
        }

        @Override
        void pushedAside() {
            throw new IllegalStateException("position " + position + " was pushed aside");
        }

        @Override
        void overtaken() {
            throw new IllegalStateException("position " + position + " was overtaken");
        }

        @Override
        boolean pushesAside() {
            return true;
        }
    }

    private final Site site;
    private final Consumer<Slot> visible;
    private final Runnable advanced;
    private final ArrayDeque<Slot> slots = new ArrayDeque<>();
    private int barriers;
    private boolean pumping;
    private long last;

    /**
     * Nothing is visible yet.
     *
     * @param visible what follows from a position that became visible
     * @param advanced what follows when all that can be now has become visible
     */
    ModelPipeline(Site site, Consumer<Slot> visible, Runnable advanced) {
        this.site = site;
        this.visible = visible;
        this.advanced = advanced;
    }

    /** All up to this position is visible. */
    long visible() {
        return last;
    }

    /** The next position has been decided. */
    void add(long position, Action action, @Nullable Work work, @Nullable LockHolder local) {
        Slot slot = new Slot(this, position, action, work, local);
        slots.add(slot);
        if (action == Action.SKIP) {
            slot.done = true;
        } else {
            if (action == Action.EXECUTE) {
                barriers++;
            }
            if (local == null) {
                slot.granted = site.locks().claim(slot);
            } else {
                site.locks().decide(local);
                slot.granted = true;
            }
            begin(slot);
        }
        pump();
    }

    private void begin(Slot slot) {
        if (slot.begun || !slot.granted || slot.work == null) {
            return;
        }
        Work work = slot.work;
        if (slot.action == Action.EXECUTE) {
            if (slot != slots.peek()) {
                return;
            }
            slot.begun = true;
            compute(slot, work, site.world().calibration().rows().everywhere(work));
        } else if (barriers == 0 || !behindBarrier(slot)) {
            slot.begun = true;
            if (slot.action == Action.COMMIT) {
                write(slot, work);
            } else {
                compute(slot, work, site.world().calibration().rows().applying(work));
            }
        }
    }

    private boolean behindBarrier(Slot slot) {
        for (Slot before : slots) {
            if (before == slot) {
                return false;
            }
            if (before.action == Action.EXECUTE) {
                return true;
            }
        }
        return false;
    }

    private void compute(Slot slot, Work work, double nanos) {
        site.engines().primary().execute(site.world().scaled(nanos), () -> write(slot, work));
    }

    private void write(Slot slot, Work work) {
        site.storage().write(work.kind, work.rows, () -> {
            slot.done = true;
            pump();
        });
    }

    private void pump() {
        if (pumping) {
            return;
        }
        pumping = true;
        boolean any = false;
        for (Slot head = slots.peek(); head != null && head.done; head = slots.peek()) {
            slots.remove();
            last = head.position;
            any = true;
            if (head.action != Action.SKIP) {
                site.locks().release(head.local == null ? head : head.local, true);
            }
            visible.accept(head);
            if (head.action == Action.EXECUTE) {
                barriers--;
                slots.forEach(this::begin);
            }
            Slot next = slots.peek();
            if (next != null && next.action == Action.EXECUTE) {
                begin(next);
            }
        }
        pumping = false;
        if (any) {
            advanced.run();
        }
    }
}
