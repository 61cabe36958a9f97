package tutti.sim.world.replica;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.sim.host.Host;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.world.engine.SimEngine;
import tutti.sim.world.engine.SimSession;

/**
 * Brings decided positions into the engine: applies write sets side by side where their keys do not meet, and makes all
 * visible in order of position, one after the other. What the engine refuses for passing reasons is tried again.
 */
final class Pipeline {
    private static final Label RETRY = Label.of("replica", "apply again");
    private static final long RETRY_NANOS = 2 * Nanos.MILLI;

    /** What follows from a position that became visible. */
    interface Events {
        void visible(Slot slot);

        /** One or more positions became visible, all that can be now. */
        void advanced();
    }

    private final Host host;
    private final SimEngine engine;
    private final Events events;
    private final int appliersMax;
    private final ArrayDeque<Slot> slots = new ArrayDeque<>();
    private final PriorityQueue<Slot> startable = new PriorityQueue<>(Comparator.comparingLong(slot -> slot.position));
    /** The last slot in the pipeline that writes a key. */
    private final Map<Long, Slot> lastOfKey = new HashMap<>();
    private @Nullable Slot lastBarrier;
    private int applying;
    private boolean committing;
    private boolean pumping;
    private long visible;

    Pipeline(Host host, SimEngine engine, int appliersMax, Events events) {
        this.host = host;
        this.engine = engine;
        this.appliersMax = appliersMax;
        this.events = events;
        visible = engine.visible();
    }

    /** All positions up to this one are visible, or were when this life began. */
    long visible() {
        return visible;
    }

    boolean isEmpty() {
        return slots.isEmpty();
    }

    @Nullable
    Slot head() {
        return slots.peek();
    }

    void add(Slot slot) {
        Slot last = slots.peekLast();
        if (slot.position <= (last == null ? visible : last.position)) {
            throw new IllegalStateException(slot + " comes after " + last + ", visible " + visible);
        }
        if (slot.kind == Slot.Kind.BARRIER) {
            lastBarrier = slot;
        } else if (slot.kind != Slot.Kind.SKIP) {
            if (lastBarrier != null) {
                dependOn(slot, lastBarrier);
            }
            KeySet keys = slot.writes.keys();
            for (int i = 0; i < keys.size(); i++) {
                if (keys.kind(i) != KeyKind.REFERENCE) {
                    Slot before = lastOfKey.put(keys.hash(i), slot);
                    if (before != null && before != slot) {
                        dependOn(slot, before);
                    }
                }
            }
        }
        slots.add(slot);
        begin(slot);
        pump();
    }

    private static void dependOn(Slot slot, Slot before) {
        slot.blockers++;
        before.dependents.add(slot);
    }

    /** What was to be committed by its own session is applied in its place. */
    void becomeRemote(Slot slot) {
        slot.kind = Slot.Kind.REMOTE;
        slot.local = null;
        slot.preparation = null;
        begin(slot);
    }

    /** The slot of a local transaction that is to commit. */
    @Nullable
    Slot slotOf(Local local) {
        for (Slot slot : slots) {
            if (local.equals(slot.local)) {
                return slot;
            }
        }
        return null;
    }

    /** The slot of changes that were prepared. */
    @Nullable
    Slot slotOf(Preparation preparation) {
        for (Slot slot : slots) {
            if (preparation.equals(slot.preparation)) {
                return slot;
            }
        }
        return null;
    }

    private void begin(Slot slot) {
        if (slot.kind == Slot.Kind.REMOTE && slot.blockers == 0 && slot.applier == null) {
            startable.add(slot);
            apply();
        }
    }

    /**
     * The first position need not wait for an applier: those at work may wait for locks of local transactions that can only
     * be committed after it.
     */
    private void apply() {
        while (!startable.isEmpty() && (applying < appliersMax || startable.element().equals(slots.peek()))) {
            Slot slot = startable.remove();
            applying++;
            Engine.Applier applier = engine.openApplier();
            slot.applier = applier;
            applier.apply(slot.position, List.of(slot.writes), new Completion<>() {
                @Override
                public void succeeded(Void nothing) {
                    applying--;
                    slot.applied = true;
                    apply();
                    pump();
                }

                @Override
                public void failed(EngineFailure failure) {
                    applying--;
                    slot.applier = null;
                    host.after(RETRY_NANOS, RETRY, () -> begin(slot));
                    apply();
                }
            });
        }
    }

    /** Makes visible what can be. */
    void pump() {
        if (pumping) {
            return;
        }
        pumping = true;
        boolean any = false;
        for (Slot head = slots.peek(); head != null && !committing; head = slots.peek()) {
            if (head.kind == Slot.Kind.SKIP) {
                done(head);
                any = true;
            } else if (!commit(head)) {
                break;
            }
        }
        pumping = false;
        apply();
        if (any) {
            events.advanced();
        }
    }

    /** Begins to commit the first slot; false if it is not ready. */
    private boolean commit(Slot head) {
        switch (head.kind) {
            case REMOTE -> {
                Engine.Applier applier = head.applier;
                if (!head.applied || applier == null) {
                    return false;
                }
                committing = true;
                applier.commit(head.position, new Ended(head));
            }
            case LOCAL -> {
                Local local = head.local;
                SimSession session = local == null ? null : local.session;
                if (local == null || session == null) {
                    throw new IllegalStateException(head + " has no session");
                }
                checkWrites(head, local.captured.changes());
                committing = true;
                session.commit(head.position, new Ended(head));
            }
            case PREPARED -> {
                Preparation preparation = head.preparation;
                if (preparation == null || preparation.changes == null) {
                    throw new IllegalStateException(head + " was not prepared");
                }
                checkWrites(head, preparation.writes.changes());
                committing = true;
                preparation.changes.commit(head.position, new Ended(head));
            }
            case BARRIER -> {
                if (head.request == null) {
                    throw new IllegalStateException(head + " has no request");
                }
                committing = true;
                execute(head, head.request.statement());
            }
            case SKIP -> throw new IllegalStateException("nothing is committed at " + head);
        }
        return true;
    }

    private static void checkWrites(Slot slot, byte[] changes) {
        if (!Arrays.equals(slot.writes.changes(), changes)) {
            throw new IllegalStateException(slot + " is committed with other changes than its own");
        }
    }

    private void execute(Slot slot, byte[] statement) {
        Engine.Applier applier = engine.openApplier();
        applier.execute(slot.position, statement, new Completion<>() {
            @Override
            public void succeeded(Engine.ExecuteResult result) {
                committed(slot);
            }

            @Override
            public void failed(EngineFailure failure) {
                host.after(RETRY_NANOS, RETRY, () -> execute(slot, statement));
            }
        });
    }

    private final class Ended implements Completion<Void> {
        private final Slot slot;

        Ended(Slot slot) {
            this.slot = slot;
        }

        @Override
        public void succeeded(Void nothing) {
            committed(slot);
        }

        @Override
        public void failed(EngineFailure failure) {
            committing = false;
            becomeRemote(slot);
        }
    }

    private void committed(Slot slot) {
        committing = false;
        done(slot);
        events.advanced();
        pump();
    }

    private void done(Slot slot) {
        slots.remove();
        visible = slot.position;
        if (slot.equals(lastBarrier)) {
            lastBarrier = null;
        }
        if (slot.kind != Slot.Kind.SKIP) {
            KeySet keys = slot.writes.keys();
            for (int i = 0; i < keys.size(); i++) {
                lastOfKey.remove(keys.hash(i), slot);
            }
        }
        events.visible(slot);
        for (Slot dependent : slot.dependents) {
            if (--dependent.blockers == 0) {
                begin(dependent);
            }
        }
    }

    /** A slot that writes nothing. */
    static Slot skip(long position) {
        return new Slot(position, Slot.Kind.SKIP);
    }

    static Slot writing(long position, Slot.Kind kind, TransactionId transaction, WriteSet writes) {
        Slot slot = new Slot(position, kind);
        slot.transaction = transaction;
        slot.writes = writes;
        return slot;
    }
}
