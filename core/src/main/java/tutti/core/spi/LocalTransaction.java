package tutti.core.spi;

import tutti.core.protocol.ReplicaWorld.Priority;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;

/**
 * A client's transaction in the engine of its own node, as the node sees it. A session of the PostgreSQL front end
 * implements it, and so does an in-process session. Calls come from the node's event loop and must not block.
 */
public interface LocalTransaction {
    /**
     * Its statements may run now, or, of a whole request, run again after what it had done was rolled back. Only asked of
     * transactions that were handed in to wait for their turn; again with a higher priority while they run. May come once more
     * after the session has said that it ended; then it means nothing.
     *
     * @param priority against other local transactions
     */
    default void run(Priority priority) {
        throw new UnsupportedOperationException(this + " has not been handed in to wait for its turn");
    }

    /**
     * It is a whole request that every replica executes, and this one has: the result that its client gets with the answer,
     * which follows.
     */
    default void executed(ExecuteResult result) {
        throw new UnsupportedOperationException(this + " has not been handed in for every replica");
    }

    /**
     * Commits in the engine, recording {@code position} in the same commit. Called when everything before the position
     * is visible, and nothing after it will be committed until {@code done} is told. A failure means that the engine
     * rolled it back or that its connection is lost; the caller then finds out from the engine's recorded positions.
     */
    void commit(long position, Completion<Void> done);

    /**
     * Rolls back in the engine now, releasing all locks, even if a statement is running (which is then cancelled).
     * {@code done} is told when the locks are free; it cannot fail: a lost connection releases them too. Idempotent.
     * The client is not told yet.
     */
    void rollback(Runnable done);

    /**
     * Called by the session, on its thread: what it has done so far was rolled back in the engine before its client saw
     * anything of it, and it is about to begin anew with a new snapshot.
     */
    default void renewed() {
        // Who does not ask when it began need not know.
    }

    /**
     * What becomes of it cannot be decided at the moment, since its node has not reached a majority for long: the client is to wait no more, and
     * is told that. {@link #answer} may follow all the same, much later.
     *
     * @param name by which it can be asked for at a node that reaches a majority
     */
    default void doubtful(TransactionId name) {
        // Who has no client need not tell anybody.
    }

    /** The end: the client is told, as soon as it can be. Called exactly once. */
    void answer(Outcome outcome);
}
