package tutti.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.CannotCreateTransactionException;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionSystemException;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.SmartTransactionObject;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.api.Grid;
import tutti.grid.api.Transaction;

/**
 * Spring's transactions over those of a grid: what {@code @Transactional} methods do to caches of {@link GridCacheManager}, and to the grid through
 * {@link #current}, is committed or rolled back together. Any thread; a transaction belongs to one.
 *
 * <ul>
 * <li><b>A conflict</b> at commit is a {@link org.springframework.dao.ConcurrencyFailureException}: nothing was changed, and whoever called may run it
 * again. It is thrown by the commit, outside of the method.
 * <li><b>A commit of which nobody knows</b> (no answer in time) is a {@link TransactionSystemException}, and synchronizations are told
 * {@code STATUS_UNKNOWN}.
 * <li><b>Isolation</b>: {@code DEFAULT} is the grid's level; {@code READ_UNCOMMITTED} and {@code READ_COMMITTED} are {@code READ_COMMITTED};
 * {@code REPEATABLE_READ} is {@code REPEATABLE_READ_WRITE_SKEW}, which loses no updates; {@code SERIALIZABLE} is itself. Read-only transactions read a snapshot at any level.
 * <li><b>Propagation</b>: a suspended transaction stays open ({@code REQUIRES_NEW}, {@code NOT_SUPPORTED}). {@code NESTED} is refused inside of another:
 * the grid has no savepoints.
 * <li><b>A timeout</b> is looked at with each use; the grid's own {@code transactionTimeout} holds besides.
 * </ul>
 */
public final class GridTransactionManager extends AbstractPlatformTransactionManager {
    private static final long serialVersionUID = 1;

    private final transient Grid grid;

    /** @param grid which stays open when this is closed */
    public GridTransactionManager(Grid grid) {
        this.grid = grid;
    }

    /** The thread's place for a transaction, when Spring asked. */
    private static final class Place implements SmartTransactionObject {
        private @Nullable GridTransactionHolder held;

        Place(@Nullable GridTransactionHolder held) {
            this.held = held;
        }

        GridTransactionHolder held() {
            GridTransactionHolder here = held;
            if (here == null) {
                throw new IllegalTransactionStateException("no transaction of the grid has begun here");
            }
            return here;
        }

        @Override
        public boolean isRollbackOnly() {
            GridTransactionHolder here = held;
            return here != null && here.isRollbackOnly();
        }
    }

    /**
     * The transaction of the present thread, for {@link tutti.grid.api.Cache caches} of the grid.
     *
     * @throws IllegalTransactionStateException if it has none
     */
    public Transaction current() {
        GridTransactionHolder held = GridTransactionHolder.of(grid);
        if (held == null) {
            throw new IllegalTransactionStateException("this thread has no transaction of the grid:"
                    + " call it from a method that is @Transactional, through Spring");
        }
        return held.use();
    }

    @Override
    protected Object doGetTransaction() {
        return new Place(GridTransactionHolder.of(grid));
    }

    @Override
    protected boolean isExistingTransaction(Object transaction) {
        return ((Place) transaction).held != null;
    }

    @Override
    protected void doBegin(Object transaction, TransactionDefinition definition) {
        GridTransactionHolder held;
        try {
            held = new GridTransactionHolder(begin(definition), definition.isReadOnly());
        } catch (GridException why) {
            throw new CannotCreateTransactionException(String.valueOf(why.getMessage()), why);
        }
        held.setSynchronizedWithTransaction(true);
        int seconds = determineTimeout(definition);
        if (seconds != TransactionDefinition.TIMEOUT_DEFAULT) {
            held.setTimeoutInSeconds(seconds);
        }
        TransactionSynchronizationManager.bindResource(grid, held);
        ((Place) transaction).held = held;
    }

    private Transaction begin(TransactionDefinition definition) {
        if (definition.isReadOnly()) {
            return grid.begin(IsolationLevel.SERIALIZABLE, true);
        }
        return switch (definition.getIsolationLevel()) {
            case TransactionDefinition.ISOLATION_READ_UNCOMMITTED, TransactionDefinition.ISOLATION_READ_COMMITTED ->
                grid.begin(IsolationLevel.READ_COMMITTED, false);
            case TransactionDefinition.ISOLATION_REPEATABLE_READ ->
                grid.begin(IsolationLevel.REPEATABLE_READ_WRITE_SKEW, false);
            case TransactionDefinition.ISOLATION_SERIALIZABLE -> grid.begin(IsolationLevel.SERIALIZABLE, false);
            default -> grid.begin();
        };
    }

    @Override
    protected Object doSuspend(Object transaction) {
        ((Place) transaction).held = null;
        return TransactionSynchronizationManager.unbindResource(grid);
    }

    @Override
    protected void doResume(@Nullable Object transaction, Object suspended) {
        TransactionSynchronizationManager.bindResource(grid, suspended);
    }

    @Override
    protected void doCommit(DefaultTransactionStatus status) {
        try {
            ((Place) status.getTransaction()).held().toEnd().commit();
        } catch (GridException why) {
            if (GridExceptions.isUnknown(why)) {
                throw new TransactionSystemException("it is not known whether this transaction has committed: "
                        + why.getMessage(), why);
            }
            throw GridExceptions.of(why);
        }
    }

    @Override
    protected void doRollback(DefaultTransactionStatus status) {
        ((Place) status.getTransaction()).held().toEnd().rollback();
    }

    @Override
    protected void doSetRollbackOnly(DefaultTransactionStatus status) {
        ((Place) status.getTransaction()).held().setRollbackOnly();
    }

    @Override
    protected void doCleanupAfterCompletion(Object transaction) {
        TransactionSynchronizationManager.unbindResource(grid);
        ((Place) transaction).held().clear();
    }
}
