package tutti.core.protocol;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * The transactions of this replica under a protocol that lets them execute at once, orders one message for each, and decides
 * when that is delivered: what becomes of them here once it is known how they are decided. {@link SnapshotIsolation} and
 * {@link DatabaseStateMachine} say how.
 *
 * <p>
 * <b>Each is answered once.</b> It is in here from {@link #submitted} on, and leaves with {@link #failed}, with
 * {@link #victim} before it was ordered, or when its message is delivered, of which there is one: lost, it is answered at
 * once; {@link #refused}, when whoever called that says so; otherwise when its position is visible.
 *
 * <p>
 * <b>A victim that was ordered already</b> is decided like any other. If it passes, its write set is applied in the
 * place of what was rolled back.
 */
final class LocalTransactions {
    private enum Phase {
        /** Runs in the engine; may be ended by {@code executed}, {@code failed} or {@code victim}. */
        EXECUTING,
        /** Its message is on its way; it holds its locks. */
        ORDERED,
        /** Its message is on its way; it was rolled back in the engine. */
        ORDERED_ROLLED_BACK
    }

    private final ReplicaWorld world;
    private final Map<TransactionId, Phase> phases = new HashMap<>();
    private final Unanswered unanswered = new Unanswered();

    LocalTransactions(ReplicaWorld world) {
        this.world = world;
    }

    /** One begins; a request for every replica is ordered. */
    void submitted(TransactionId transaction, TransactionRequest request) {
        if (phases.containsKey(transaction)) {
            throw new IllegalStateException(transaction + " was submitted twice");
        }
        if (request instanceof TransactionRequest.Whole whole
                && whole.placement() == TransactionRequest.Placement.ALL) {
            phases.put(transaction, Phase.ORDERED);
            world.order(new Barrier(transaction, whole));
        } else {
            phases.put(transaction, Phase.EXECUTING);
        }
    }

    /** It has executed, and is about to be ordered. */
    void executed(TransactionId transaction, Execution execution) {
        if (phases.replace(transaction, Phase.ORDERED) != Phase.EXECUTING) {
            throw new IllegalStateException(transaction + " asked to commit but was not executing");
        }
        if (execution.writes().isEmpty()) {
            throw new IllegalArgumentException(transaction + " asked to commit an empty write set");
        }
    }

    void failed(TransactionId transaction, AbortReason.Failed cause) {
        if (phases.remove(transaction) != Phase.EXECUTING) {
            throw new IllegalStateException(transaction + " failed but was not executing");
        }
        world.answer(transaction, new Outcome.Aborted(cause));
    }

    void victim(TransactionId transaction, long forPosition) {
        Phase phase = phases.get(transaction);
        if (phase == Phase.EXECUTING) {
            phases.remove(transaction);
            world.answer(transaction, new Outcome.Aborted(new AbortReason.Victim(forPosition)));
        } else if (phase == Phase.ORDERED) {
            phases.put(transaction, Phase.ORDERED_ROLLED_BACK);
        }
        // Otherwise it has been decided: the world replays the write set that it was given to commit, or aborts it.
    }

    /**
     * A transaction, of this replica or another, is decided.
     *
     * @param lost why it does not commit; null if it does
     */
    void decided(long position, TransactionId transaction, WriteSet writes, @Nullable AbortReason lost) {
        Phase phase = phases.remove(transaction);
        if (lost != null) {
            world.skip(position);
            if (phase != null) {
                world.abort(transaction);
                world.answer(transaction, new Outcome.Aborted(lost));
            }
            return;
        }
        if (phase == Phase.ORDERED) {
            world.commit(transaction, position, writes);
        } else {
            world.apply(transaction, position, writes);
        }
        if (phase != null) {
            unanswered.add(position, transaction);
        }
    }

    /**
     * A transaction, of this replica or another, does not commit; if it is one of this replica's it is answered later.
     *
     * @return whether it is
     */
    boolean refused(long position, TransactionId transaction) {
        Phase phase = phases.remove(transaction);
        world.skip(position);
        if (phase != null) {
            world.abort(transaction);
        }
        return phase != null;
    }

    /** One that was {@link #refused} is answered. */
    void answer(TransactionId transaction, AbortReason why) {
        world.answer(transaction, new Outcome.Aborted(why));
    }

    /** Every replica executes a request. */
    void execute(long position, Barrier barrier) {
        world.execute(barrier.transaction(), position, barrier.request());
        if (phases.remove(barrier.transaction()) != null) {
            unanswered.add(position, barrier.transaction());
        }
    }

    /** Everything up to this position is visible. */
    void visible(long position) {
        unanswered.visible(position, world);
    }
}
