package tutti.core.protocol;

import java.util.List;
import java.util.Set;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * What a protocol may ask of its world. Both worlds implement it: a real node and a simulated one.
 *
 * <p>
 * <b>A transaction's position</b> is that of the ordered message that carries its changes, or the request that every
 * replica executes: so what the order keeps is enough to bring an engine up to date, whatever a replica had in mind before
 * it crashed.
 *
 * <p>
 * All effects are asynchronous. {@code apply}, {@code commit}, {@code execute} and {@code skip} together are asked once
 * for every delivered position, in order of position; the world works on many at once and makes them <b>visible in
 * order of position</b>. None of them can fail: the world repeats what the engine refuses for passing reasons and stops
 * the node, loudly, when the engine refuses for good.
 */
public interface ReplicaWorld {
    /**
     * Lets a local transaction run, or run again after it failed, was a {@linkplain Protocol#victim victim} or, undertaken here, was
     * {@linkplain #abort aborted}: an interactive one goes on with the statements of its client, a whole request is executed. What comes back is
     * {@code executed}, {@code failed} or {@code victim}. An interactive transaction cannot run again: {@code failed}.
     */
    void run(TransactionId transaction, Priority priority);

    /** How a transaction is run against others of this node. */
    enum Priority {
        /** It gives way to every transaction that has been ordered. */
        OPTIMISTIC,
        /** It has its place in the order: optimistic ones that stand in its way are pushed aside as by an applier. */
        ORDERED
    }

    /**
     * Has this replica execute whole requests, whichever replica they were submitted to, one after the other in one engine transaction, as
     * the engine executes requests of clients: with triggers, keeping its locks. From now on, and until it is answered, the first
     * counts as a transaction of this replica: {@code run} has it run again, alone, {@code commit}, {@code abort} and {@code answer} mean
     * what was executed with it, too; what was aborted may be run again, alone. What comes back is {@code undertaken}, which tells how many of them the engine has executed,
     * {@code failed} or {@code victim}. Once for each transaction that is the first.
     *
     * @param transaction the first request
     * @param requests at least one
     */
    default void undertake(TransactionId transaction, List<TransactionRequest.Whole> requests) {
        throw new UnsupportedOperationException("this world executes no requests of other replicas");
    }

    /** Hands on what the client of a local transaction is told of a request that some replica has executed; the answer follows. */
    default void respond(TransactionId transaction, Response response) {
        throw new UnsupportedOperationException("this world hands on no responses of other replicas");
    }

    /**
     * Makes the changes of a remote transaction in the engine, without committing them, and keeps their locks. What comes
     * back is {@code prepared} or {@code failed}. Ends with {@code commit} or {@code abort}; if this replica restarts in
     * between, nothing is left of it.
     */
    void prepare(TransactionId transaction, WriteSet writes);

    /** Applies and commits a write set at a position: of a remote transaction, or of a local one that was rolled back. */
    void apply(TransactionId transaction, long position, WriteSet writes);

    /**
     * Commits a local or {@linkplain #prepare prepared} transaction, which still holds its locks, at a position. If it is lost before that (its session
     * died, or it turned out to stand in the way of an earlier position) the world applies {@code writes} in its place.
     */
    void commit(TransactionId transaction, long position, WriteSet writes);

    /**
     * Another transaction commits at a position, too: what it has changed is among the changes that are asked for directly after this, by
     * {@code apply} or {@code commit}; or it has changed nothing, if {@code skip} is asked for.
     */
    default void includes(TransactionId transaction, long position) {
        throw new UnsupportedOperationException("this world commits one transaction at a position");
    }

    /** Has this replica, as every other, execute a request alone: after everything before the position, before everything after it. */
    void execute(TransactionId transaction, long position, TransactionRequest.Whole request);

    /** Nothing happens at this position. */
    void skip(long position);

    /** Rolls a local or prepared transaction back in the engine, if that has not happened yet. */
    void abort(TransactionId transaction);

    /**
     * Tells the client. Exactly once per local transaction; a success only once it is visible here. One that has executed
     * and changed nothing is thereby ended in the engine too.
     */
    void answer(TransactionId transaction, Outcome outcome);

    /** Has a message totally ordered and delivered to every replica, this one included. */
    void order(Message message);

    /** Sends a message reliably, in no particular order, to some nodes. */
    void multicast(Message message, Set<Integer> nodes);

    /**
     * Has {@link Protocol#timer} told after a delay.
     *
     * @param timer any number; asking again for the same number replaces the earlier request
     * @param delayNanos nanoseconds, at least 0
     */
    void timer(long timer, long delayNanos);
}
