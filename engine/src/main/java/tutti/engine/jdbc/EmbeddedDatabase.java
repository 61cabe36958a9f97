package tutti.engine.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.rows.Change;
import tutti.engine.jdbc.rows.RowChange;
import tutti.engine.jdbc.rows.Table;
import tutti.engine.jdbc.rows.Tables;

/**
 * What {@link JdbcEngine} needs of a database in the Java virtual machine besides JDBC. Each of H2 and HSQLDB has one.
 * Safe for use from any thread.
 */
public interface EmbeddedDatabase extends AutoCloseable {
    /** As a person calls it. */
    String name();

    /** Whether it is in files, so that {@link #sync} has a meaning. */
    boolean durable();

    /**
     * Opens a session of a client: snapshot isolation, first updater wins, no commit of its own.
     */
    Session openClient() throws SQLException;

    /** Opens a session that writes rows without triggers, foreign key checks and waiting. */
    Session openApplier() throws SQLException;

    /** The tables as they are now. */
    Tables readTables(Connection connection) throws SQLException;

    /**
     * The schema in words, without anything that changes with the rows (values of sequences): equal before and after a
     * statement if and only if it changed nothing of the schema.
     */
    String schema(Connection connection) throws SQLException;

    /** The statements that make an empty database have this one's schema, and Tutti's own tables, empty. */
    List<String> script(Connection connection) throws SQLException;

    /** Puts triggers for {@link TriggerCapture} on tables that have none. */
    void installTriggers(Connection connection, Tables tables) throws SQLException;

    /** What stands behind the list of a SELECT that answers one row of its own expressions. */
    String fromNothing();

    /** Sequences and identity columns. */
    List<Counter> counters(Connection connection) throws SQLException;

    /**
     * Makes everything that is committed survive a crash.
     *
     * @throws SQLException if that cannot be; with {@code 58030} the database is lost, and must be opened again
     */
    void sync() throws SQLException;

    /** Whether {@link #sync} writes much that would be written later, once for many changes. */
    default boolean writesForSync() {
        return false;
    }

    /** The log that somebody has to shorten, or null if the database needs nobody for that. */
    default @Nullable GrowingLog growingLog() {
        return null;
    }

    /** Ends the database in order. */
    @Override
    void close();

    /** Ends it as a crash of the process would: nothing is written any more. */
    void crash();

    /** A connection and what lies below it; for one thread at a time unless a method says otherwise. */
    interface Session extends AutoCloseable {
        /** For statements. Commit and roll back only through this session. */
        Connection connection();

        /**
         * What the open transaction has changed and not rolled back, each row once, as the engine itself has noted it in
         * order to undo it. A row that was locked counts as changed.
         *
         * @param tables those not in there are not replicated
         */
        List<RowChange> changes(Tables tables) throws SQLException;

        /**
         * Hands over all rows of a table that the open transaction sees, which has queried something before. They may be in
         * a form that only {@link #write} of a session of the same kind understands, in which copies share values.
         */
        void scan(Table table, RowConsumer rows) throws SQLException;

        /** A row that was {@linkplain #scan scanned}, in the form in which values travel. */
        default List<@Nullable Object> travelling(@Nullable Object[] scanned) {
            return Arrays.asList(scanned);
        }

        /**
         * The rows that a query answers.
         *
         * @param parameters values as they travel, or as JDBC takes them
         */
        List<@Nullable Object[]> rows(String query, List<? extends @Nullable Object> parameters) throws SQLException;

        /** Whether a statement that meets a row of another transaction waits, and may fail without ending its own. */
        boolean waits();

        /**
         * Whether a statement of this session waits, at this moment, for the end of another session's transaction. From any
         * thread.
         */
        boolean waitsFor(Session other);

        /** Notes how far the open transaction has come. */
        Mark mark() throws SQLException;

        /** Ends whatever reading outside of a transaction has begun, so that the next statement takes a new snapshot. */
        void refresh() throws SQLException;

        /** Begins writing rows. */
        void begin() throws SQLException;

        /**
         * Makes a change of one row, without triggers and foreign key checks, and without waiting for other transactions.
         *
         * @throws SQLException with a class 40 state if another transaction is in the way ({@link #inTheWay}); with
         *             {@code XX001} if the row is not there, or there when it must not be
         */
        void write(Change change) throws SQLException;

        /** Whether another transaction that has not ended is the reason for a failure. */
        boolean inTheWay(SQLException failure);

        /** Whether the engine has ended the whole transaction with this failure. */
        boolean ended(SQLException failure);

        /** Commits. */
        void commit() throws SQLException;

        /** Rolls back. */
        void rollback() throws SQLException;

        /** From any thread, while a statement runs: makes it fail soon. */
        void cancel();

        /**
         * A statement has ended: if it was cancelled too late to notice, that must not make the next one fail, and if it has
         * undone something, others can still wait for what the transaction holds.
         */
        void statementEnded();

        /** Rolls back and closes. */
        @Override
        void close();
    }

    /** A log of changes that becomes longer until the database is written anew without it. Safe for use from any thread. */
    interface GrowingLog {
        /** How many bytes it has. */
        long length();

        /** How many are enough for the database to be written anew: at least 1. */
        long enough();

        /**
         * Writes the database anew, and begins a log of what has been committed since it began. Transactions go on meanwhile, and no
         * schema change may. Blocks for longer than reading the database takes.
         *
         * @param givenUp whether it is not wanted any more; looked at again and again
         * @return whether it has been done; if not, it has been given up, and nothing has changed
         * @throws SQLException if it fails; then the log goes on as it was
         */
        boolean rewrite(BooleanSupplier givenUp) throws SQLException;
    }

    /** How far a transaction had come. */
    interface Mark {
        /**
         * Why rows that have been changed since must not be, as far as the engine or a {@linkplain Table#refusal table} says
         * so; null if they may.
         */
        @Nullable
        SQLException refusal(Tables tables) throws SQLException;

        /** Undoes what has been done since. */
        void undo() throws SQLException;
    }

    /**
     * A sequence or an identity column.
     *
     * @param next the value that it gives next
     * @param increment from one value to the next
     * @param min the least value that it may give
     * @param max the greatest
     * @param restart a statement that changes it, with {@code %1$d} for the next value and {@code %2$d} for the increment
     */
    record Counter(long next, long increment, long min, long max, String restart) {}

    /** Takes rows. */
    @FunctionalInterface
    interface RowConsumer {
        /** The next one. */
        void row(@Nullable Object[] values) throws SQLException;
    }

    /** The failure that {@link Session#write} ends with when the row is not as the change says. */
    static SQLException differs(Table table, Change change, @Nullable Throwable cause) {
        return new SQLException(change.operation() + " of table " + table.displayName()
                + " does not find its row as it should be: this replica differs from the others"
                + (cause == null ? "" : " (" + cause.getMessage() + ")"), "XX001", cause);
    }
}
