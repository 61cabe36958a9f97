package tutti.node.trace;

import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** What is told of the transaction that a client's session has open, in case it is followed. On the session's thread. */
public interface SessionTrace {
    /** Of sessions that nobody follows. */
    SessionTrace NONE = new SessionTrace() {
        @Override
        public void commits() {}

        @Override
        public void asks(TransactionId run, WriteSet writes) {}

        @Override
        public @Nullable TransactionId orders(@Nullable TransactionId name) {
            return name;
        }
    };

    /** It is about to find out what it has changed, because it is to commit. */
    void commits();

    /**
     * It has found out, and is about to ask to commit.
     *
     * @param run under which the node knows it
     */
    void asks(TransactionId run, WriteSet writes);

    /**
     * It is a statement or a request that is ordered as such.
     *
     * @param name under which, null for any
     * @return the same, or one if any will do and the node is to know which
     */
    @Nullable
    TransactionId orders(@Nullable TransactionId name);
}
