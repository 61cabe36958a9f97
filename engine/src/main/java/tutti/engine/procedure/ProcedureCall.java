package tutti.engine.procedure;

import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A call of a {@link StoredProcedure}, and the transaction in which it is executed, with the rights of the client that calls. For the thread of the run,
 * as long as the run lasts. After a statement has failed every other one does; the transaction is rolled back as a whole.
 */
public interface ProcedureCall {
    /** What was passed. */
    ProcedureValues arguments();

    /**
     * Executes a statement that changes rows, or calls something.
     *
     * @param sql INSERT, UPDATE, DELETE, MERGE, SELECT or CALL, in the engine's dialect, with its form of parameters: {@code $1} with PostgreSQL
     * @param parameters texts, numbers, booleans, byte arrays, UUIDs, what {@code java.time} has, or null
     * @return how many rows it has changed
     * @throws SQLException with {@code 0A000} if it is another statement, {@code 25006} if it may come out differently in another run, or what the
     *             engine says
     */
    long update(String sql, @Nullable Object... parameters) throws SQLException;

    /**
     * Executes a statement that answers rows.
     *
     * @param sql and parameters as for {@link #update}
     * @return all rows, in the order in which the engine gives them: without {@code ORDER BY} that differs from run to run
     * @throws SQLException as {@link #update}
     */
    List<ProcedureValues> query(String sql, @Nullable Object... parameters) throws SQLException;

    /** The time at the node that the call was handed in to: {@code tutti_submitted()}. */
    Instant submitted() throws SQLException;

    /** A random value of the call, at least 0 and less than 1; the same for the same number in every run: {@code tutti_random(number)}. */
    double random(long number) throws SQLException;

    /** A random UUID of the call, the same for the same number in every run: {@code tutti_uuid(number)}. */
    UUID uuid(long number) throws SQLException;
}
