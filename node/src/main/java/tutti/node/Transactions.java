package tutti.node;

import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** What a front end asks of its node. Safe for use from any thread; nothing here blocks. */
public interface Transactions {
    /**
     * Registers a transaction that a client has begun. From now on it can be asked to {@linkplain LocalTransaction#rollback
     * roll back} because it stands in the way of an ordered one.
     */
    Ticket begin(LocalTransaction transaction);

    /**
     * Has a statement executed by every replica at one position of the total order: DDL and other things that cannot be
     * captured as rows. The session must not have a transaction open.
     *
     * @param statement as the engine encodes it
     * @param keys what it is taken to touch
     * @param done told when it has been executed at this node; fails with a reason to give the client if it was not
     *            ordered
     */
    void barrier(byte[] statement, KeySet keys, Completion<ExecuteResult> done);

    /**
     * Why writes are refused at the moment (no majority, recovering, stopping), or null if they are accepted. Asked by
     * the front end at the first write of a transaction, so that the client hears early.
     */
    @Nullable
    String refusal();

    /**
     * One registered transaction. Exactly one of {@link #executed}, {@link #ended} and {@link #failed} ends its open phase,
     * unless the node rolls it back before: then only {@code answer} follows, and what the session says of it afterwards
     * has no effect. A transaction that ended by itself while the node was about to roll it back gets no {@code answer}.
     */
    interface Ticket {
        /** Its name in the cluster. */
        TransactionId id();

        /**
         * Tells which keys it has written so far, so that an ordered transaction that needs the same rows can push it
         * out of the way without waiting for the engine to notice. Optional, and only ever an optimisation.
         */
        void touched(KeySet keys);

        /**
         * It has run, holds all its locks, its deferred constraints are checked, and its write set is complete: it asks
         * to commit. What follows is one of: {@code commit} then {@code answer(Committed)}; {@code rollback} then
         * {@code answer} either way; {@code answer(Aborted)} preceded by {@code rollback}.
         *
         * @param writes not empty
         */
        void executed(WriteSet writes);

        /**
         * It is over without asking to commit: it changed nothing and has committed in the engine, or it has been rolled
         * back there. No {@code answer} follows.
         */
        void ended();

        /**
         * Like {@link #ended}, after an error.
         *
         * @param cause for metrics and reports
         */
        void failed(AbortReason.Failed cause);
    }
}
