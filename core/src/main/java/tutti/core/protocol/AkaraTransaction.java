package tutti.core.protocol;

import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.TransactionId;

/** A transaction that {@link Akara} has been delivered, and where it stands: figure 6's {@code t}. */
final class AkaraTransaction implements ClassQueues.Member {
    /** Figure 6's queues; Q0 holds what has not been delivered. */
    enum Queue {
        Q2A, Q2B, Q2C
    }

    enum State {
        /** Of another replica, or of this one and answered already: its end will be delivered. */
        REMOTE,
        /** Of this replica, not scheduled yet; if active, it will not be. */
        WAITING,
        /** Executes optimistically. */
        RUNNING,
        /** Executed, holds its locks: ready to commit. */
        READY,
        /** Rolled back after an optimistic execution: not ready to commit. */
        NOT_READY,
        /** Executes with priority. */
        PRIORITY,
        /** Its second message is on its way. */
        SENT,
        /** Its second message is on its way; it was rolled back in the engine. */
        SENT_ROLLED_BACK,
        /** Its second message was delivered: it has a position, and is in Q2c until that is visible. */
        DELIVERED
    }

    final TransactionId id;
    final ConflictClasses cc;
    /** Of a local one that is not answered. */
    final @Nullable TransactionRequest request;
    /** Its place. Changed by {@link AkaraQueues} only, as are its queue and state. */
    long seq;
    Queue queue = Queue.Q2A;
    State state;
    /** How it was executed last. */
    @Nullable
    Execution execution;
    /** It takes one of n. */
    boolean scheduled;
    /** It was first, and running, when patience was looked at last. */
    boolean seenFirst;
    /** For whom it waits in the engine, as far as has been told since it was run; means nothing unless it is running. */
    Set<TransactionId> blockedBy = Set.of();

    AkaraTransaction(long seq, TransactionId id, ConflictClasses cc, @Nullable TransactionRequest request) {
        this.seq = seq;
        this.id = id;
        this.cc = cc;
        this.request = request;
        this.state = request == null ? State.REMOTE : State.WAITING;
    }

    @Override
    public long sequence() {
        return seq;
    }

    @Override
    public ConflictClasses classes() {
        return cc;
    }

    boolean repeatable() {
        return request instanceof TransactionRequest.Whole;
    }

    boolean sameGroup(AkaraTransaction other) {
        return id.node() == other.id.node() && cc.equals(other.cc);
    }
}
