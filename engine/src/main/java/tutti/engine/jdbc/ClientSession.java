package tutti.engine.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.engine.jdbc.reads.Footprints;
import tutti.engine.jdbc.rows.CapturedWrites;

/**
 * A client's session in a {@link ClientEngine}: its statements run here, one transaction after the other. The client's
 * thread calls {@link #statement}, {@link #capture} and the like; {@link #commit} and {@link #rollback} may come from any
 * thread at any time and do not block.
 */
public interface ClientSession extends AutoCloseable {
    /** One statement. */
    @FunctionalInterface
    interface Work<T extends @Nullable Object> {
        /**
         * Executes it; may be called again if it fails.
         *
         * @param connection on which the transaction runs; not always the same. It refuses, with {@code 0A000}, to commit
         *            or roll back, and to execute what is not of rows or savepoints.
         */
        T run(Connection connection) throws SQLException;
    }

    /** A connection for metadata, outside of transactions. */
    Connection connection();

    /** Whether the transactions that begin from now on may only read. */
    void setReadOnly(boolean readOnly);

    /** From now on, and before any statement is prepared: {@link #reads} will be asked for. */
    void logReads();

    /**
     * What the open transaction has read: rows where its statements say so, else tables that they name, else everything,
     * as a scan of the schema's key. Only after {@link #logReads}.
     */
    ReadSet reads();

    /** What statements may touch, as of the last schema change. */
    Footprints footprints();

    /**
     * Executes one statement, in the open transaction or in a new one.
     *
     * @param sql its text, or null if it is not known; needed by {@link CaptureMode#STATEMENTS}
     * @param parameters its values
     * @throws SQLException what the engine says; with {@code 40001} if the transaction has been rolled back, and then
     *             every statement fails until {@link #forget}
     */
    <T extends @Nullable Object> T statement(@Nullable String sql, List<? extends @Nullable Object> parameters,
            Work<T> work) throws SQLException;

    /** Executes one statement that is not described. */
    default <T extends @Nullable Object> T statement(Work<T> work) throws SQLException {
        return statement(null, List.of(), work);
    }

    /** Executes a statement that changes rows; answers how many. */
    default int execute(String sql, @Nullable Object... parameters) throws SQLException {
        List<@Nullable Object> values = Arrays.asList(parameters);
        return statement(sql, values, connection -> {
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                for (int i = 0; i < parameters.length; i++) {
                    statement.setObject(i + 1, parameters[i]);
                }
                return statement.executeUpdate();
            }
        });
    }

    /**
     * The write set of the open transaction; {@link #commit} commits what this has captured.
     *
     * @throws SQLException with {@code 55000} if it wrote to a table without a primary key, {@code 40001} if it has been
     *             rolled back, {@code 25006} if it may only read
     */
    CapturedWrites capture() throws SQLException;

    /** Ends a transaction that has changed nothing. Does nothing if there is none. */
    void commitUnchanged() throws SQLException;

    /** Commits with the position recorded. See {@link LocalTransaction#commit}. */
    void commit(long position, Completion<Void> done);

    /**
     * Rolls back, cancelling a running statement. See {@link LocalTransaction#rollback}. Until {@link #forget}, every
     * statement fails. Does nothing if the session's client has another transaction by now.
     *
     * @param expected the transaction that is meant
     */
    void rollback(LocalTransaction expected, Runnable done);

    /** The client knows that its transaction is over: rolls back whatever is open, and lets a new one begin. */
    void forget();

    /**
     * Waits, with nothing open, until no other session's transaction that is open now has changed one of these rows, or the time is
     * over. A transaction that has lost them would lose them again before that, where the engine has nobody wait for a row.
     */
    void awaitFree(KeySet rows, long millis) throws InterruptedException;

    /** Rolls back and closes. */
    @Override
    void close();
}
