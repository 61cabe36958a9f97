package tutti.node;

import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.TransactionRequest;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.node.metrics.NodeMetrics;
import tutti.node.trace.Traces;

/** What a front end asks of its node. Safe for use from any thread; nothing here blocks. */
public interface Transactions {
    /**
     * Whether transactions run without waiting for their turn. If not, each is {@linkplain Ticket#submit handed in} before
     * its first statement that looks at the database and may be followed by a change.
     */
    boolean executesAtOnce();

    /** Whether {@link Ticket#executed} must tell what was read. */
    boolean needsReads();

    /** Whether {@link Ticket#executed} may tell what was read, so that this transaction is serializable, though others are not. */
    default boolean takesReads() {
        return false;
    }

    /** Whether it is to be told for whom any transaction waits that runs in the engine, not only those with priority. */
    default boolean hearsOfWaits() {
        return false;
    }

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

    /**
     * Whether whole requests that every replica can execute are executed by every replica, unless their clients want something
     * else. May change while the node runs. From any thread.
     */
    default boolean everywhereIfPossible() {
        return false;
    }

    /** A position that is visible in the engine now. What is seen in a snapshot taken later is no older. */
    long visiblePosition();

    /** The highest position that the order has handed to this node; it will be visible, too. From any thread. */
    default long arrivedPosition() {
        return visiblePosition();
    }

    /**
     * A position that is visible in the engine now. What is ordered after it is not forgotten until {@link #unhold}, so that a
     * transaction begun before that, since this position, is not too old to be certified. From any thread.
     */
    default long hold() {
        return visiblePosition();
    }

    /** Ends what {@link #hold} has begun; once for each. From any thread. */
    default void unhold(long position) {}

    /**
     * Registers a transaction that a client has begun. From now on it can be asked to {@linkplain LocalTransaction#rollback
     * roll back} because it stands in the way of an ordered one.
     *
     * @param since {@link #visiblePosition} as of a moment before its first snapshot was taken; if it is not held
     *            ({@link #hold}) and the cluster has been told meanwhile that nobody needs it, the transaction cannot commit
     */
    default Ticket begin(LocalTransaction transaction, long since) {
        return begin(transaction, since, null);
    }

    /** Registers a transaction that has not taken a snapshot yet. */
    default Ticket begin(LocalTransaction transaction) {
        return begin(transaction, null);
    }

    /** Likewise, under a reserved name, or any if that is null. */
    default Ticket begin(LocalTransaction transaction, @Nullable TransactionId name) {
        long since = hold();
        try {
            return begin(transaction, since, name);
        } finally {
            unhold(since);
        }
    }

    /** How clients are told the names of transactions. */
    default TransactionNames names() {
        return TransactionNames.PLAIN;
    }

    /**
     * Names a transaction before it begins, so that its client can ask for it by that name whatever happens then. Each name
     * is used for one transaction of the client's, by {@link #begin}, or for {@link #barrier}, or for nothing; then it is
     * {@linkplain #release given back}.
     *
     * @return null if this node does not name transactions beforehand
     */
    default @Nullable TransactionId reserve() {
        return null;
    }

    /** Nothing begins under a name any more: it was not used, or its client's transaction is over. */
    default void release(TransactionId name) {}

    /** Like {@link #begin(LocalTransaction, long)}, under a reserved name, or any if that is null. */
    Ticket begin(LocalTransaction transaction, long since, @Nullable TransactionId name);

    /**
     * Like {@link #begin(LocalTransaction, long)}: another run of a transaction that has lost, of which its client knows the name and has
     * heard no end. Who asks for the name is told what becomes of all its runs; if somebody has, this one cannot commit.
     *
     * @param name under which the first run began, not given back
     */
    default Ticket again(LocalTransaction transaction, long since, TransactionId name) {
        return begin(transaction, since);
    }

    /** Like {@link #barrier(byte[], KeySet, Completion)}, under a reserved name, or any if that is null. */
    void barrier(byte[] statement, KeySet keys, @Nullable TransactionId name, Completion<ExecuteResult> done);

    /**
     * Asks what became of a transaction of any node. One that has not asked to commit is rolled back, and one that has not
     * begun is prevented from it, so that the answer is final; its node, if it cannot be reached, is made to begin
     * anew when it can be.
     *
     * @param done told soon; fails with 57P03 if this node cannot ask the cluster at the moment
     */
    default void outcome(TransactionId transaction, Completion<TransactionOutcome> done) {
        done.failed(new EngineFailure("0A000", "this node does not answer questions about transactions", false));
    }

    /**
     * Waits until a position is visible.
     *
     * @param done told the visible position; fails with 57P03 if it takes too long
     */
    default void await(long position, Completion<Long> done) {
        done.failed(new EngineFailure("0A000", "this node does not tell positions", false));
    }

    /**
     * Waits until everything is visible that was ordered before this call, by whichever node.
     *
     * @param done told the visible position; fails with 57P03 if this node cannot ask the cluster at the moment
     */
    default void awaitAll(Completion<Long> done) {
        done.failed(new EngineFailure("0A000", "this node does not tell positions", false));
    }

    /** Whether what clients' prepared transactions have changed can be kept for them: whether clients may prepare. */
    default boolean promises() {
        return false;
    }

    /**
     * Waits until every node that this one can reach, and that takes part, shows a position, which is visible here.
     *
     * @param patienceNanos how long at most, in nanoseconds
     * @param done told the nodes that did not show it in time: none, if all do
     */
    default void awaitElsewhere(long position, long patienceNanos, Completion<Set<Integer>> done) {
        done.succeeded(Set.of());
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
    default void barrier(byte[] statement, KeySet keys, Completion<ExecuteResult> done) {
        barrier(statement, keys, null, done);
    }

    /**
     * Has a client's whole request executed by every replica at one position of the total order, in one transaction. The
     * session must not have a transaction open.
     *
     * @param request as the engine encodes it; its result is the same at every replica
     * @param classes what it may touch
     * @param keys what it is taken to touch: concurrent transactions that meet them and come later are aborted
     * @param name a {@linkplain #reserve reserved} name, or null for any
     * @param done as for {@link #barrier}
     */
    default void request(byte[] request, ConflictClasses classes, KeySet keys, @Nullable TransactionId name,
            Completion<ExecuteResult> done) {
        barrier(request, keys, name, done);
    }

    /** Whether whole requests may be handed in for {@link #undertake}. */
    default boolean undertakes() {
        return false;
    }

    /**
     * Has a client's whole request executed by the replica that the protocol chooses, in one transaction. Only where the protocol
     * {@linkplain #undertakes undertakes} requests. The session must not have a transaction open.
     *
     * @param request as the engine encodes it
     * @param classes what it may touch
     * @param name a {@linkplain #reserve reserved} name, or null for any
     * @param done told when it is visible at this node; fails with a reason to give the client if it was not ordered
     */
    default void undertake(byte[] request, ConflictClasses classes, @Nullable TransactionId name,
            Completion<ExecuteResult> done) {
        throw new UnsupportedOperationException("the protocol has no owners of requests");
    }

    /**
     * Likewise, but its client is told as soon as the request is logged, and not what comes of it: it is in the order then, durably, and
     * will be executed once. It waits before that while too many are logged that have not been executed.
     *
     * @param logged told the request's name, by which its {@link #outcome} can be asked for
     */
    default void log(byte[] request, ConflictClasses classes, @Nullable TransactionId name,
            Completion<TransactionId> logged) {
        throw new UnsupportedOperationException("the protocol has no request logs");
    }

    /** A session runs a transaction again that has lost, so that its client hears nothing of that. From any thread. */
    default void repeats() {}

    /** A client has to hear after all that its transaction has lost, since it would have seen something else this time. From any thread. */
    default void repeatedInVain() {}

    /** A client's transaction has lost to another. From any thread. */
    default void lost(NodeMetrics.Loss loss) {}

    /** A client has waited for a statement for so long, in nanoseconds, that somebody may want to know its text. From any thread. */
    default void slow(long nanos, String statement) {}

    /**
     * Whether what is looked at under this key is to be {@linkplain #book booked} before, because others look at it and change it meanwhile.
     * From any thread.
     */
    default boolean isWanted(long key) {
        return false;
    }

    /** Whether {@link #isWanted} is true of any key. From any thread. */
    default boolean wantsAny() {
        return false;
    }

    /** Whether {@link #isWanted} can be true of a key with this upper half. From any thread. */
    default boolean mayBeWanted(int kind) {
        return false;
    }

    /**
     * A client has to hear that its transaction has lost because it would have seen something else this time under this key. From any
     * thread.
     *
     * @param key its upper half is of how it has looked, the lower of what it has looked at
     */
    default void want(long key) {}

    /**
     * Has a transaction of this session's come after those of all nodes that have booked this key before, and before those that book it
     * later. Only a courtesy: nothing depends on it but how many lose. From any thread.
     *
     * @param come told a visible position, as soon as all is visible that those before it have done; perhaps never
     */
    default Booking book(long key, Completion<Long> come) {
        throw new UnsupportedOperationException("this node takes no bookings");
    }

    /** What has been booked. Its methods are called from any thread. */
    interface Booking {
        /** This run of the transaction is about to ask to commit: if it commits, the booking is over. */
        void isFor(TransactionId run);

        /** It is over, unless it was. */
        void end();
    }

    /** Of which transactions spans are recorded, and by whom. Of a session's transaction that is followed it is told the names. */
    default Traces traces() {
        return Traces.OFF;
    }

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
     *
     * <p>
     * What follows from {@link #submit}, {@link #executed}, {@link #ended} and {@link #failed} may happen inside the call, of this and of
     * other transactions: {@code run}, {@code commit}, {@code rollback}, {@code answer}. So whoever calls them holds no lock
     * that any session needs for those.
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
        void submit(TransactionRequest request);

        /**
         * What it has done so far was rolled back in the engine before its client saw anything of it, and it begins anew:
         * what became visible up to now is not concurrent with it any more. Before it asks to commit, on its own thread.
         *
         * @param since {@link Transactions#visiblePosition} as of a moment before its next snapshot is taken
         */
        default void renewed(long since) {
            // What is taken for concurrent needlessly can only abort it.
        }

        /**
         * It has run, holds all its locks, its deferred constraints are checked, and its write set is complete: it asks
         * to commit. What follows is one of: {@code commit} then {@code answer(Committed)}; {@code rollback} then
         * {@code answer} either way; {@code answer(Aborted)} preceded by {@code rollback}. Never when it is being rolled back, or has
         * been: if it is run again, that would be taken for what the next run has done.
         *
         * @param writes not empty
         * @param reads what it has read, if that {@linkplain Transactions#needsReads() is needed}, or {@linkplain Transactions#takesReads()
         *            taken} and wanted
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
