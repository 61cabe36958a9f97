package tutti.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.InvalidDataAccessApiUsageException;
import org.springframework.dao.NonTransientDataAccessResourceException;
import org.springframework.dao.OptimisticLockingFailureException;
import org.springframework.dao.PessimisticLockingFailureException;
import org.springframework.dao.QueryTimeoutException;
import org.springframework.dao.TransientDataAccessResourceException;
import org.springframework.dao.support.PersistenceExceptionTranslator;
import tutti.grid.GridException;

/**
 * Says in Spring's words why the grid has not done something. What can be run again is a
 * {@link org.springframework.dao.ConcurrencyFailureException}. As a bean it serves {@code @Repository} classes that use the grid itself.
 */
public final class GridExceptions implements PersistenceExceptionTranslator {
    /** Without state. */
    public GridExceptions() {}

    @Override
    public @Nullable DataAccessException translateExceptionIfPossible(RuntimeException thrown) {
        return thrown instanceof GridException why ? of(why) : null;
    }

    /** The exception of a reason, with the grid's message and the grid's exception as its cause. */
    static DataAccessException of(GridException why) {
        String message = String.valueOf(why.getMessage());
        return switch (why.reason()) {
            case CONFLICT -> new OptimisticLockingFailureException(message, why);
            case DEADLOCK -> new PessimisticLockingFailureException(message, why);
            case LOCK_TIMEOUT -> new CannotAcquireLockException(message, why);
            case TIMEOUT -> new QueryTimeoutException(message, why);
            case NOT_ENOUGH_OWNERS, JOINING, BUSY, FULL -> new TransientDataAccessResourceException(message, why);
            case OWNER_UNAVAILABLE, CLOSED -> new NonTransientDataAccessResourceException(message, why);
            case TOO_LARGE, ENDED -> new InvalidDataAccessApiUsageException(message, why);
        };
    }

    /** Whether a commit that failed so may have happened. */
    static boolean isUnknown(GridException why) {
        return why.reason() == GridException.Reason.TIMEOUT || why.reason() == GridException.Reason.CLOSED;
    }
}
