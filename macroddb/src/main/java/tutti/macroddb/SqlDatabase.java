package tutti.macroddb;

import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.ClientSession;
import tutti.macro.call.Read;
import tutti.macro.call.Write;

/**
 * A database as a component's interface. Each call of a component is a transaction; calls of a
 * {@link tutti.macro.distribution.MacroTransaction}'s component, or within a macro-operation, are one together.
 *
 * <p>
 * Errors are {@link SQLException}s of this very class, with SQLSTATE, so that clients without a database get them, too. One of class 40 is
 * a conflict with another transaction.
 */
public interface SqlDatabase {
    /**
     * Executes a query.
     *
     * @return the rows, with dates and times of {@code java.time}, large objects as bytes or text
     */
    @Read
    List<List<@Nullable Object>> query(String sql, @Nullable Object... parameters) throws SQLException;

    /** Executes a statement that changes rows; answers how many. */
    @Write
    int update(String sql, @Nullable Object... parameters) throws SQLException;

    /**
     * Executes a statement that changes the schema, at all nodes at one place of the order. It must be the only call of its transaction, and transactions
     * that have changed rows meanwhile lose to it.
     *
     * @throws SQLException with {@code 25001} if it is not alone; what the database says, at all nodes alike
     */
    @Write
    void define(String sql) throws SQLException;

    /** Executes a statement on the database's own connection: at the node of the database only, since work cannot be sent. See {@link ClientSession#statement}. */
    @Write
    <T extends @Nullable Object> T statement(@Nullable String sql, List<? extends @Nullable Object> parameters,
            ClientSession.Work<T> work) throws SQLException;
}
