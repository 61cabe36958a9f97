package tutti.sim.world.replica;

import tutti.core.txn.TransactionId;
import tutti.sim.world.engine.Run;

/** Takes down what happens in all replicas, for checkers to judge. Told in events of the kernel. */
public interface WorldLog {
    /** A replica started from the state of this position, and joins the order after another. */
    void started(int node, long life, long state, long after);

    /** A replica crashed. */
    void crashed(int node, long life);

    /** A client began a transaction. */
    void begun(TransactionId transaction, int session);

    /** A transaction has been executed, perhaps once more, and wants to commit. */
    void executed(Run run);

    /** A client was answered. */
    void answered(TransactionId transaction, boolean committed);

    /** A replica made the changes of a transaction visible. */
    void applied(int node, long position, TransactionId transaction, long stateHash);

    /** A replica asked for a message to be ordered. */
    void sent(int node, long life, long message);

    /** A replica was delivered a message. */
    void delivered(int node, long life, long position, long message);

    /** Something happened that is worth counting. */
    void count(String what);
}
