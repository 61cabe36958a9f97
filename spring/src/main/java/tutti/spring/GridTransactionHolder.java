package tutti.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.support.ResourceHolderSupport;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import tutti.grid.api.Grid;
import tutti.grid.api.Transaction;

/** A transaction of the grid that belongs to the thread, until Spring ends or suspends it. */
final class GridTransactionHolder extends ResourceHolderSupport {
    private final Transaction transaction;
    private final boolean readOnly;

    GridTransactionHolder(Transaction transaction, boolean readOnly) {
        this.transaction = transaction;
        this.readOnly = readOnly;
    }

    /** That of the present thread; null if it has none. */
    static @Nullable GridTransactionHolder of(Grid grid) {
        return (GridTransactionHolder) TransactionSynchronizationManager.getResource(grid);
    }

    /**
     * To be used now.
     *
     * @throws org.springframework.transaction.TransactionTimedOutException if its time is over
     */
    Transaction use() {
        if (hasTimeout()) {
            long _ = getTimeToLiveInMillis();
        }
        return transaction;
    }

    /** To be ended, whether its time is over or not. */
    Transaction toEnd() {
        return transaction;
    }

    boolean isReadOnly() {
        return readOnly;
    }
}
