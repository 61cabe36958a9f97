package tutti.sim.world.node;

import tutti.core.txn.TransactionId;
import tutti.sim.world.database.Run;

/** Takes down what happens at all nodes, for checkers to judge. Told in events of the kernel. */
public interface WorldLog {
    /** A life of a node began, with the database at one position, and reads the order behind another. */
    void started(int node, long life, long state, long after);

    /** A life of a node ended. */
    void ended(int node, long life);

    /** A client began a transaction. */
    void begun(TransactionId transaction, int session);

    /** A transaction that has lost runs again, which its client does not know. */
    void again(TransactionId name, TransactionId run);

    /** A transaction has been executed, perhaps once more, and wants to commit. */
    void executed(Run run);

    /** A node has executed a request that every node executes. */
    void requested(Run run);

    /** A client was answered. */
    void answered(TransactionId transaction, boolean committed);

    /** A node's protocol has decided at which position a transaction commits. */
    void decided(int node, long position, TransactionId transaction);

    /** A node's protocol has decided at which position a transaction commits, behind others that commit there; the first of them it decides next. */
    void decidedWith(int node, long position, TransactionId transaction);

    /** A node's database made the changes of a transaction visible; the hash is of what all nodes keep. */
    void applied(int node, TransactionId transaction, long stateHash);

    /** Likewise, of changes of which it has made nothing, since it keeps none of their tables. */
    void passedOver(int node, TransactionId transaction, long stateHash);

    /** Likewise: what a table holds then that is kept on some nodes only, of which this is one. */
    void holds(int node, TransactionId transaction, int table, long hash);

    /** A node asked for a message to be ordered. */
    void sent(int node, long life, long message);

    /** A node was delivered a message. */
    void delivered(int node, long life, long position, long message);

    /** A node lets its part of the order forget what is up to a position. */
    void forgets(int node, long position);

    /** A node has made what most cannot: what its database holds is compared with nothing any more. */
    void excluded(int node);

    /** A node's database has recorded that nothing is made at a position. */
    void skipped(int node, long position);

    /** What must never be is. */
    void violated(String check, String what);

    /** Something happened that is worth counting. */
    void count(String what);
}
