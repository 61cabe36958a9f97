package tutti.jdbc.spi;

import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/**
 * A connection whose statements run on other connections, not always the same one: what
 * {@link Statements} asks of it. For one thread at a time.
 */
public interface StatementHost {
    /** What is done on one target, and may be done again on another. */
    interface Work {
        /** Does it. */
        @Nullable
        Object on(Target target) throws SQLException;
    }

    /** What the application has in its hands. */
    Connection proxy();

    /** Where the open transaction, or the next one, is; not for reading or writing. */
    Target somewhere() throws SQLException;

    /**
     * Does something that belongs to the transaction.
     *
     * @param sql what is executed, or null if it only reads
     * @param repeatable whether it can be done again
     */
    @Nullable
    Object execute(@Nullable String sql, boolean repeatable, Work work) throws SQLException;

    /**
     * Executes a statement without parameters by other means, if that must be; it then has an update count of 0.
     *
     * @return false if it is to be executed as others
     */
    default boolean executedElsewhere(String sql) throws SQLException {
        return false;
    }

    /** What is executed on a target for a statement of the application's; mostly that itself. */
    default String translated(String sql, Target on) {
        return sql;
    }

    /**
     * Has the application change rows through a result set.
     *
     * @param on where the result set is
     * @throws SQLException also if that is not possible
     */
    @Nullable
    Object changeResults(Target on, Work work) throws SQLException;

    /** Told of a failure of what an earlier call has left open, such as a result set; answers what to throw. */
    SQLException noticed(Target on, SQLException failure);
}
