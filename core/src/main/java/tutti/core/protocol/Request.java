package tutti.core.protocol;

import tutti.core.txn.KeySet;

/** What is known of a transaction before it runs. */
public sealed interface Request {
    /** Statements come one by one from a client; nothing is known in advance. */
    record Interactive() implements Request {
        /** The only value that is ever needed. */
        public static final Interactive INSTANCE = new Interactive();
    }

    /**
     * A whole request that every replica executes itself, alone, at its place in the total order (active replication):
     * DDL and other statements whose effects cannot be captured as rows.
     *
     * @param statement as the engine encodes it
     * @param keys what it is taken to touch: concurrent transactions that meet them and come later are aborted; the
     *            request itself never is
     */
    record Barrier(byte[] statement, KeySet keys) implements Request {}
}
