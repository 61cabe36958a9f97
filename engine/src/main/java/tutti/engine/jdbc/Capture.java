package tutti.engine.jdbc;

import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.rows.RowChange;

/** Finds out what the transactions of one session have changed. Of the session's thread. */
interface Capture {
    /** Something that executes a statement. */
    @FunctionalInterface
    interface Execution<T extends @Nullable Object> {
        T run() throws SQLException;
    }

    /**
     * Executes a statement.
     *
     * @param sql its text, or null if it is not known
     * @param parameters its values
     */
    <T extends @Nullable Object> T execute(@Nullable String sql, List<? extends @Nullable Object> parameters,
            Execution<T> execution) throws SQLException;

    /** What the open transaction has changed so far. */
    List<RowChange> changes() throws SQLException;

    /** The transaction has ended. */
    void reset();
}
