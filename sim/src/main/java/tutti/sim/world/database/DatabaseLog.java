package tutti.sim.world.database;

import tutti.core.txn.TransactionId;

/** Hears what a database does, for checkers to judge. */
public interface DatabaseLog {
    /** A transaction's changes are becoming visible; the hash is of what all nodes keep. */
    void applied(TransactionId transaction, long stateHash);

    /** Likewise, of changes of which nothing is made, since all are of tables that are not kept here. */
    void passedOver(TransactionId transaction, long stateHash);

    /** Likewise: what a table holds then that is kept on some nodes only, of which this is one. */
    void holds(TransactionId transaction, int table, long hash);

    /** A request that every replica executes has been executed, and becomes visible next. */
    void executed(Run run);

    /** A request was executed here that a node undertakes for its client, and wants to commit. */
    void undertaken(Run run);

    /** Nothing is made at a position. */
    void skipped(long position);

    /** At a position the database is not as its schema demands. */
    void inconsistent(long position, String what);
}
