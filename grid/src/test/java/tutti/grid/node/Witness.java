package tutti.grid.node;

import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;
import tutti.grid.GridException;
import tutti.grid.commit.CommitRequest;
import tutti.grid.store.Key;

/** Is told what clients of a grid ask and are answered, and what owners apply. */
interface Witness extends GridNode.Observer {
    @Override
    void applied(TransactionId id, long stamp, CommitRequest request);

    /**
     * A client has begun a transaction.
     *
     * @param session of transactions one after the other
     * @param begin the stamp of its snapshot
     * @param timeMillis by which it judges what has expired
     */
    void begun(TransactionId id, int session, long nanos, long begin, long timeMillis, boolean readOnly);

    /** It has read what it has not written: the version of a stamp, which has a value for it or not. */
    void read(TransactionId id, Key key, long stamp, boolean isThere);

    /** It writes a key, once it commits. */
    void wrote(TransactionId id, Key key);

    /** It has asked for all keys. */
    void found(TransactionId id, List<Key> keys);

    /** Its client was told how it has ended: at this stamp, or why not. */
    void ended(TransactionId id, long nanos, long stamp, GridException.@Nullable Reason failed);
}
