package tutti.node;

import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.runtime.Loop;

/**
 * Changes of remote transactions that are made in the engine, hold their locks and wait for their position
 * ({@link tutti.core.protocol.ReplicaWorld#prepare}). Each has an applier of its own, which is used again afterwards.
 *
 * <p>
 * One that is still waiting for locks makes way for an ordered write set that meets it: it is rolled back and made again
 * later, of which the protocol hears nothing. One that holds all its locks and is not decided is never met by an ordered
 * write set; that is the protocol's business.
 *
 * <p>
 * All methods run on the replica's event loop; completions of the engine are handed over to it.
 */
final class Preparations {
    /** What the protocol hears; on the event loop. */
    interface Events {
        void prepared(TransactionId transaction);

        /** It waits for others that are known to the protocol; told when they are others than before. */
        void blocked(TransactionId transaction, Set<TransactionId> holders);

        /** Nothing is left of it in the engine. */
        void notPrepared(TransactionId transaction, EngineFailure cause);
    }

    /** What the protocol is told does not depend on how the engine numbers or finds those in the way. */
    private static final Comparator<TransactionId> BY_NAME = Comparator.comparingInt(TransactionId::node)
            .thenComparingLong(TransactionId::serial);

    private enum State {
        /** Waits to be made (again). */
        WAITING,
        /** Is being made. */
        APPLYING,
        /** Is made; its locks are held. */
        HOLDING,
        /** Over. */
        GONE
    }

    /** One transaction's. */
    static final class Preparation {
        private final TransactionId transaction;
        private final WriteSet writes;
        private State state = State.WAITING;
        private Engine.@Nullable Applier applier;
        /** What is being made is to be rolled back. */
        private boolean undo;
        /** For whom it is known to wait. */
        private Set<TransactionId> holders = Set.of();

        Preparation(TransactionId transaction, WriteSet writes) {
            this.transaction = transaction;
            this.writes = writes;
        }

        TransactionId transaction() {
            return transaction;
        }

        private Engine.Applier applier() {
            Engine.Applier mine = applier;
            if (mine == null) {
                throw new Defect(transaction + " is prepared by nobody");
            }
            return mine;
        }
    }

    private final Loop loop;
    private final Events events;
    private final Map<TransactionId, Preparation> current = new LinkedHashMap<>();
    private final ApplierPool appliers;

    Preparations(Engine engine, Loop loop, Events events) {
        this.appliers = new ApplierPool(engine);
        this.loop = loop;
        this.events = events;
    }

    void prepare(TransactionId transaction, WriteSet writes) {
        Preparation preparation = new Preparation(transaction, writes);
        if (current.putIfAbsent(transaction, preparation) != null) {
            throw new Defect(transaction + " is prepared twice");
        }
        begin(preparation);
    }

    private void begin(Preparation preparation) {
        Engine.Applier applier = appliers.takeOrOpen();
        preparation.applier = applier;
        preparation.state = State.APPLYING;
        preparation.undo = false;
        preparation.holders = Set.of();
        applier.apply(0, List.of(preparation.writes), onLoop(_ -> {
            if (preparation.undo || preparation.state == State.GONE) {
                rollback(preparation);
            } else {
                preparation.state = State.HOLDING;
                events.prepared(preparation.transaction);
            }
        }, failure -> {
            free(preparation);
            if (preparation.state == State.GONE) {
                return;
            }
            preparation.state = State.WAITING;
            if (!preparation.undo) {
                current.remove(preparation.transaction);
                preparation.state = State.GONE;
                events.notPrepared(preparation.transaction, failure);
            }
        }));
    }

    /**
     * What the engine says of an applier that makes changes.
     *
     * @param locals for whom it waits of local transactions that have executed
     * @param others for whom it waits of the appliers, itself included if it waits for somebody who waits for it
     */
    void waits(Engine.Applier waiter, Set<TransactionId> locals, Set<Engine.Applier> others) {
        Preparation waiting = null;
        Set<TransactionId> holders = new TreeSet<>(BY_NAME);
        holders.addAll(locals);
        for (Preparation preparation : current.values()) {
            Engine.Applier applier = preparation.applier;
            if (waiter.equals(applier) && preparation.state == State.APPLYING && !preparation.undo) {
                waiting = preparation;
            }
            if (applier != null && others.contains(applier)) {
                holders.add(preparation.transaction);
            }
        }
        if (waiting != null && !holders.equals(waiting.holders)) {
            waiting.holders = holders;
            events.blocked(waiting.transaction, holders);
        }
    }

    private void rollback(Preparation preparation) {
        preparation.applier().rollback(() -> loop.execute(() -> {
            free(preparation);
            if (preparation.state != State.GONE) {
                preparation.state = State.WAITING;
            }
        }));
    }

    private void free(Preparation preparation) {
        appliers.free(preparation.applier());
        preparation.applier = null;
    }

    /** Gives up what was prepared, or is being prepared. */
    void drop(TransactionId transaction) {
        Preparation dropped = current.remove(transaction);
        if (dropped != null) {
            drop(dropped);
        }
    }

    void drop(Preparation dropped) {
        State before = dropped.state;
        dropped.state = State.GONE;
        if (before == State.HOLDING) {
            rollback(dropped);
        } else if (before == State.APPLYING) {
            dropped.applier().cancel();
        }
    }

    /** Hands over what is prepared and will commit at a position; null if there is no such thing. */
    @Nullable
    Preparation take(TransactionId transaction) {
        Preparation taken = current.remove(transaction);
        if (taken != null && taken.state != State.HOLDING) {
            throw new Defect(transaction + " is committed before it is prepared");
        }
        return taken;
    }

    /** Commits what was taken. */
    void commit(Preparation taken, long position, Runnable success, Consumer<EngineFailure> failure) {
        taken.applier().commit(position, onLoop(_ -> {
            free(taken);
            taken.state = State.GONE;
            success.run();
        }, cause -> {
            free(taken);
            taken.state = State.GONE;
            failure.accept(cause);
        }));
    }

    /** Has those that are on their way make way for an ordered write set or request that meets them. */
    void makeWay(KeySet keys, long position) {
        for (Preparation preparation : current.values()) {
            if (!meet(keys, preparation.writes.keys())) {
                continue;
            }
            if (preparation.state == State.APPLYING && !preparation.undo) {
                preparation.undo = true;
                preparation.applier().cancel();
            } else if (preparation.state == State.HOLDING) {
                throw new Defect(preparation.transaction + " was prepared, and position " + position
                        + " needs its locks");
            }
        }
    }

    static boolean meet(KeySet one, KeySet other) {
        for (int i = 0; i < one.size(); i++) {
            for (int j = 0; j < other.size(); j++) {
                if (one.hash(i) == other.hash(j) && one.kind(i).conflictsWith(other.kind(j))) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Makes those again that have made way. */
    void resume() {
        for (Preparation preparation : current.values()) {
            if (preparation.state == State.WAITING && preparation.applier == null) {
                begin(preparation);
            }
        }
    }

    private <T> Completion<T> onLoop(Consumer<T> success, Consumer<EngineFailure> failure) {
        return new LoopCompletion<>(loop, success, failure);
    }

    void close() {
        appliers.close();
    }
}
