package tutti.workload.tpcc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;
import tutti.workload.client.SqlFailure;

/**
 * Creates TPC-C's schema and initial rows in a database: through a Tutti node, which replicates them, or directly in the
 * database of every node before a cluster starts (the same population is the same everywhere). Uses COPY on PostgreSQL,
 * batches of INSERT elsewhere. Transactions are bounded, so that write sets are.
 *
 * @param population what to load
 * @param threads connections that load at a time, 1 to 64
 * @param rowsPerTransaction 1 to 50,000; rows are at most 700 bytes
 * @param rows how they travel
 */
public record TpccLoader(TpccPopulation population, int threads, int rowsPerTransaction, Rows rows) {
    private static final int ATTEMPTS = 10;
    private static final int ROWS_PER_STATEMENT = 500;

    /** How rows travel. */
    public enum Rows {
        /** By COPY to PostgreSQL, in batches of INSERT to others. */
        USUAL,
        /** As INSERT statements with all their values in the text, each a transaction, as every replica can execute them. */
        STATEMENTS
    }

    public TpccLoader {
        if (threads < 1 || threads > 64) {
            throw new IllegalArgumentException("threads must be 1 to 64, was " + threads);
        }
        if (rowsPerTransaction < 1 || rowsPerTransaction > 50_000) {
            throw new IllegalArgumentException("rows per transaction must be 1 to 50000, was " + rowsPerTransaction);
        }
    }

    /** Two connections, 10,000 rows per transaction: write sets of at most some 8 MB. */
    public TpccLoader(TpccPopulation population) {
        this(population, 2, 10_000);
    }

    /** Rows travel as usual. */
    public TpccLoader(TpccPopulation population, int threads, int rowsPerTransaction) {
        this(population, threads, rowsPerTransaction, Rows.USUAL);
    }

    /** Two connections, and statements that every replica can execute. */
    public static TpccLoader ofStatements(TpccPopulation population) {
        return new TpccLoader(population, 2, ROWS_PER_STATEMENT, Rows.STATEMENTS);
    }

    /** Hears how far loading is. From any thread, after every transaction. */
    public interface Progress {
        /**
         * More rows are there.
         *
         * @param rows loaded so far
         * @param expected in the end; order lines, whose number is random, are estimated
         */
        void loaded(long rows, long expected);
    }

    /** What was done, and how long it took. */
    public record Report(long rows, Duration rowsTook, Duration indexesTook) {}

    /** Everything: tables, rows, indexes and foreign keys, statistics for the planner. */
    public Report load(TpccDatabase database, Progress progress) throws SQLException {
        createTables(database);
        long start = System.nanoTime();
        long rows = loadRows(database, progress);
        long loaded = System.nanoTime();
        createIndexes(database);
        analyze(database);
        return new Report(rows, Duration.ofNanos(loaded - start), Duration.ofNanos(System.nanoTime() - loaded));
    }

    /**
     * Everything, over one connection, by batches of INSERT: for a database in this virtual machine.
     *
     * @param connection without auto-commit; left with nothing open
     */
    public void load(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (TpccTable table : TpccTable.values()) {
                statement.execute(table.createStatement());
            }
            connection.commit();
            for (TpccPopulation.Part part : population.parts()) {
                InsertRows rows = new InsertRows(rowsPerTransaction, chunk -> transaction(connection, part,
                        () -> InsertRows.insert(connection, part.table(), chunk)));
                population.generate(part, rows);
                rows.flush();
            }
            for (String sql : TpccTable.indexAndForeignKeyStatements()) {
                statement.execute(sql);
            }
            connection.commit();
        }
    }

    /** Creates the tables with their primary keys. They must not exist. */
    public void createTables(TpccDatabase database) throws SQLException {
        execute(database, List.of(TpccTable.values()).stream().map(TpccTable::createStatement).toList());
    }

    /** Creates secondary indexes and foreign keys. */
    public void createIndexes(TpccDatabase database) throws SQLException {
        execute(database, TpccTable.indexAndForeignKeyStatements());
    }

    /** Creates what transactions in their stored form call. */
    public void createFunctions(TpccDatabase database) throws SQLException {
        execute(database, TpccFunctions.createStatements());
    }

    /** Declares conflict classes of each warehouse. */
    public void declareClasses(TpccDatabase database) throws SQLException {
        execute(database, TpccFunctions.divisionStatements());
    }

    /** Has the planner's statistics gathered; a matter of each database of its own. */
    public void analyze(TpccDatabase database) throws SQLException {
        execute(database, List.of(TpccTable.values()).stream().map(table -> "analyze " + table.sqlName()).toList());
    }

    private static void execute(TpccDatabase database, List<String> statements) throws SQLException {
        try (Connection connection = database.patient().open(); Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    /**
     * Loads all rows into tables that exist and are empty.
     *
     * @return how many
     */
    public long loadRows(TpccDatabase database, Progress progress) throws SQLException {
        Queue<TpccPopulation.Part> parts = new ConcurrentLinkedQueue<>(population.parts());
        long expected = parts.stream().mapToLong(TpccPopulation.Part::rows).sum();
        AtomicLong loaded = new AtomicLong();
        AtomicBoolean failed = new AtomicBoolean();
        Callable<Void> worker = () -> {
            try (Connection connection = database.patient().open()) {
                connection.setAutoCommit(rows == Rows.STATEMENTS);
                for (TpccPopulation.Part part = parts.poll(); part != null && !failed.get(); part = parts.poll()) {
                    loadPart(connection, part, rows -> progress.loaded(loaded.addAndGet(rows), expected));
                }
                return null;
            } catch (SQLException | RuntimeException e) {
                failed.set(true);
                throw e;
            }
        };
        try (ExecutorService executor = Executors.newFixedThreadPool(threads,
                Thread.ofPlatform().name("tpcc-loader-", 0).factory())) {
            List<Future<Void>> workers = IntStream.range(0, threads).mapToObj(_ -> executor.submit(worker)).toList();
            for (Future<Void> future : workers) {
                future.get();
            }
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case LoadException cause -> throw new SQLException(cause.getMessage(), cause.getCause());
                case SQLException cause -> throw cause;
                default -> throw new IllegalStateException("loading TPC-C failed", e.getCause());
            }
        } catch (InterruptedException e) {
            failed.set(true);
            Thread.currentThread().interrupt();
            throw new SQLException("loading TPC-C was interrupted", e);
        }
        return loaded.get();
    }

    private interface RowsLoaded {
        void count(int rows);
    }

    private void loadPart(Connection connection, TpccPopulation.Part part, RowsLoaded loaded) throws SQLException {
        TpccTable table = part.table();
        if (rows == Rows.STATEMENTS) {
            InsertRows chunks = new InsertRows(rowsPerTransaction, chunk -> {
                transaction(connection, part, () -> InsertRows.insertAsText(connection, table, chunk));
                loaded.count(chunk.size());
            });
            population.generate(part, chunks);
            chunks.flush();
        } else if (TpccDatabase.isPostgres(connection)) {
            String copy = "copy " + table.sqlName() + " (" + String.join(", ", table.columns()) + ") from stdin";
            PGConnection postgres = connection.unwrap(PGConnection.class);
            CopyRows copied = new CopyRows(rowsPerTransaction, (bytes, length, count) -> {
                transaction(connection, part, () -> {
                    CopyIn in = postgres.getCopyAPI().copyIn(copy);
                    in.writeToCopy(bytes, 0, length);
                    in.endCopy();
                });
                loaded.count(count);
            });
            population.generate(part, copied);
            copied.flush();
        } else {
            InsertRows inserted = new InsertRows(rowsPerTransaction, chunk -> {
                transaction(connection, part, () -> InsertRows.insert(connection, table, chunk));
                loaded.count(chunk.size());
            });
            population.generate(part, inserted);
            inserted.flush();
        }
    }

    private interface Work {
        void run() throws SQLException;
    }

    // What was aborted for passing reasons is tried again, since the rows are at hand; anything else ends the loading.
    private static void transaction(Connection connection, TpccPopulation.Part part, Work work) {
        for (int attempt = 1;; attempt++) {
            try {
                work.run();
                if (!connection.getAutoCommit()) {
                    connection.commit();
                }
                return;
            } catch (SQLException e) {
                try {
                    if (!connection.getAutoCommit()) {
                        connection.rollback();
                    }
                } catch (SQLException also) {
                    e.addSuppressed(also);
                }
                if (!SqlFailure.of(e).isAbort() || attempt == ATTEMPTS) {
                    throw new LoadException("could not load " + part + " at attempt " + attempt + " of " + ATTEMPTS
                            + ": " + e.getMessage(), e);
                }
            }
        }
    }

    /** Carries an error through the generator, which knows nothing of databases. */
    private static final class LoadException extends RuntimeException {
        private static final long serialVersionUID = 1;

        LoadException(String message, SQLException cause) {
            super(message, cause);
        }
    }
}
