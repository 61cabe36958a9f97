package tutti.node;

import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Request;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** What a front end asks of its node. Safe for use from any thread; nothing here blocks. */
public interface Transactions {
    /**
     * Whether transactions run without waiting for their turn. If not, each is {@linkplain Ticket#submit handed in} before
     * its first statement that looks at the database and may be followed by a change.
     */
    boolean executesAtOnce();

    /** Whether {@link Ticket#executed} must tell what was read. */
    boolean needsReads();

    /** Whether transactions are ordered by their conflict classes, so that it pays to know them. */
    default boolean needsClasses() {
        return false;
    }

    /** Whether what a transaction reads must lie in its classes too, and not only what it changes. */
    default boolean classesCoverReads() {
        return false;
    }

    /** Whether what changes something must be handed in as a whole request that every replica can execute. */
    default boolean wholeOnly() {
        return false;
    }

    /** Whether the protocol gives one-copy serializability, so that a session may ask for SERIALIZABLE. */
    default boolean serializable() {
        return false;
    }

    /** A position that is visible in the engine now. What is seen in a snapshot taken later is no older. */
    long visiblePosition();

    /**
     * Registers a transaction that a client has begun. From now on it can be asked to {@linkplain LocalTransaction#rollback
     * roll back} because it stands in the way of an ordered one.
     *
     * @param since {@link #visiblePosition} as of a moment before its first snapshot was taken
     */
    Ticket begin(LocalTransaction transaction, long since);

    /** Registers a transaction that has not taken a snapshot yet. */
    default Ticket begin(LocalTransaction transaction) {
        return begin(transaction, visiblePosition());
    }

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
     * A whole request may be {@linkplain LocalTransaction#run run} again after it was rolled back, and is then open again.
     */
    interface Ticket {
        /** Its name in the cluster. */
        TransactionId id();

        /**
         * Hands it in: it waits for {@link LocalTransaction#run} before it looks at the database. Only if transactions do
         * not {@linkplain Transactions#executesAtOnce() execute at once}; at most once, before anything else is said of it.
         * It may be rolled back and answered without ever having run.
         *
         * @param request what is known of it
         */
        void submit(Request request);

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
         * @param reads what it has read, if that {@linkplain Transactions#needsReads() is needed}
         */
        void executed(WriteSet writes, ReadSet reads);

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
