package tutti.grid.node;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tutti.core.txn.TransactionId;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.store.Floors;

/** The transactions that have begun at a member and have not ended. On the node's loop. */
final class OpenTransactions {
    private final GridConfig config;
    private final long incarnation;
    private final Times times;
    private final Map<TransactionId, GridTransaction> open = new LinkedHashMap<>();
    private final Floors begins = new Floors();
    private long number;

    /** @param incarnation not used before by this node */
    OpenTransactions(GridConfig config, long incarnation, Times times) {
        this.config = config;
        this.incarnation = incarnation;
        this.times = times;
    }

    /** Fails if no more may begin. */
    void checkRoom() {
        if (open.size() >= config.transactionsMax()) {
            throw new GridException(GridException.Reason.BUSY, open.size()
                    + " transactions are open on this node, and more may not be: end some, or raise transactionsMax");
        }
    }

    /** One begins, at a stamp. */
    GridTransaction begin(GridMember at, IsolationLevel level, boolean readOnly, long stamp, long nowNanos) {
        TransactionId id = new TransactionId(config.self(), incarnation << Integer.SIZE | ++number);
        GridTransaction transaction = new GridTransaction(at, id, level, readOnly, stamp, times.begin(),
                nowNanos + config.transactionTimeout().toNanos());
        begins.add(stamp);
        open.put(id, transaction);
        return transaction;
    }

    /** One has ended; whether that is news. */
    boolean ended(GridTransaction transaction) {
        boolean wasOpen = open.remove(transaction.id(), transaction);
        if (wasOpen) {
            begins.remove(transaction.beginStamp());
            times.ended(transaction.timeMillis());
        }
        return wasOpen;
    }

    /** The lowest stamp at which one has begun, or another stamp that is lower. */
    long lowestBegin(long other) {
        return begins.lowest(other);
    }

    /** Ends those that have been open for too long. */
    void expire(long nowNanos) {
        for (GridTransaction transaction : List.copyOf(open.values())) {
            if (transaction.deadlineNanos() - nowNanos <= 0) {
                transaction.expire();
            }
        }
    }
}
