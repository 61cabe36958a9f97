package tutti.engine.jdbc.h2;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.h2.engine.Constants;
import org.h2.engine.SessionLocal;
import org.h2.jdbc.JdbcConnection;
import org.h2.mvstore.MVStore;
import org.h2.mvstore.MVStoreException;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.OpenedDatabase;
import tutti.engine.jdbc.SqlSyntax;
import tutti.engine.jdbc.rows.Table;
import tutti.engine.jdbc.rows.Tables;
import tutti.engine.jdbc.rows.TablesReader;

/**
 * An H2 database (MVStore) in memory or in a file.
 *
 * <p>
 * Clients run at H2's isolation level SNAPSHOT: one snapshot of all tables at the first statement, and a row that was
 * changed since cannot be changed (40001).
 */
public final class H2Database extends OpenedDatabase {
    /** How long H2 itself lets a statement wait for another transaction, before the session repeats it. */
    private static final int WAIT_MILLIS = 20;
    /** An applier does not wait for rows, but for another applier that is just adding an index entry. */
    private static final int APPLIER_WAIT_MILLIS = 1;
    private static final String USER = "TUTTI";
    private static final AtomicLong MEMORY_NAMES = new AtomicLong();

    /**
     * How often H2 writes its file by itself, in milliseconds; 500 normally. What a crash takes the order's log has, which is not forgotten
     * before {@link #sync}.
     */
    private static final int WRITE_MILLIS = 5_000;
    /** This part of the heap may be pages of the file; 16 MiB normally, with which every fifth sample of a node's code was reading pages again. */
    private static final int CACHE_PART_OF_MEMORY = 16;
    private static final long CACHE_KIB_MAX = 128 << 10;
    /**
     * Part of the file, in percent, that H2 wants to be in use; 90 normally. Rows are changed all over the file, so that H2 would write what
     * lies beside them anew all the time. The file may be twice as long as what is in it.
     */
    private static final int FILLED_PERCENT = 50;

    private final String url;

    private H2Database(String url, String name, boolean durable) throws SQLException {
        super(name, durable, connect(url));
        this.url = url;
        if (durable) {
            WholeWrites.of(store());
        }
    }

    /** A new one in memory, gone when it is closed. */
    public static H2Database inMemory() throws SQLException {
        return inMemory(SqlSyntax.OWN);
    }

    /** Likewise, with a choice of syntax. */
    public static H2Database inMemory(SqlSyntax syntax) throws SQLException {
        long number = MEMORY_NAMES.incrementAndGet();
        return new H2Database("jdbc:h2:mem:tutti" + number + ";DB_CLOSE_DELAY=-1" + words(syntax),
                "H2 database " + number + " in memory", false);
    }

    /**
     * One in a file, made if it is not there.
     *
     * @param path of the file, without the ending that H2 gives it
     */
    public static H2Database inFile(Path path) throws SQLException {
        return inFile(path, SqlSyntax.OWN);
    }

    /** Likewise, with a choice of syntax. */
    public static H2Database inFile(Path path, SqlSyntax syntax) throws SQLException {
        return inFile(path, syntax, "");
    }

    /**
     * Likewise.
     *
     * @param settings further ones of H2's URLs, each after a {@code ;}
     */
    public static H2Database inFile(Path path, SqlSyntax syntax, String settings) throws SQLException {
        return new H2Database(
                "jdbc:h2:file:" + path.toAbsolutePath() + words(syntax) + ";WRITE_DELAY=" + WRITE_MILLIS
                        + ";CACHE_SIZE=" + cacheKib() + ";AUTO_COMPACT_FILL_RATE=" + FILLED_PERCENT + settings,
                "H2 database " + path, true);
    }

    private MVStore store() {
        return ((SessionLocal) ((JdbcConnection) keeper()).getSession()).getDatabase().getStore().getMvStore();
    }

    private static long cacheKib() {
        return Math.min(CACHE_KIB_MAX, (Runtime.getRuntime().maxMemory() >> 10) / CACHE_PART_OF_MEMORY);
    }

    private static String words(SqlSyntax syntax) {
        return ";DB_CLOSE_ON_EXIT=FALSE" + (syntax == SqlSyntax.OWN
                ? ""
                : ";MODE=PostgreSQL;DEFAULT_NULL_ORDERING=HIGH"
                        + ";NON_KEYWORDS=DAY,HOUR,KEY,MINUTE,MONTH,SECOND,VALUE,YEAR");
    }

    private static JdbcConnection connect(String url) throws SQLException {
        return new JdbcConnection(url, new Properties(), USER, "", false);
    }

    private JdbcConnection open(int isolation, int waitMillis) throws SQLException {
        JdbcConnection connection = connect(url);
        try {
            connection.setAutoCommit(false);
            connection.setTransactionIsolation(isolation);
            try (Statement statement = connection.createStatement()) {
                statement.execute("SET LOCK_TIMEOUT " + waitMillis);
            }
            return connection;
        } catch (SQLException failed) {
            connection.close();
            throw failed;
        }
    }

    @Override
    public Session openClient() throws SQLException {
        return new H2Session(open(Constants.TRANSACTION_SNAPSHOT, WAIT_MILLIS));
    }

    @Override
    public Session openApplier() throws SQLException {
        return new H2Session(open(Connection.TRANSACTION_READ_COMMITTED, APPLIER_WAIT_MILLIS));
    }

    @Override
    public Tables readTables(Connection connection) throws SQLException {
        boolean collated = !((SessionLocal) ((JdbcConnection) connection).getSession()).getDatabase()
                .getCompareMode().getName().equals("OFF");
        Set<List<String>> nullsMeet = new HashSet<>();
        try (PreparedStatement query = connection.prepareStatement("SELECT TABLE_SCHEMA, TABLE_NAME, NULLS_DISTINCT "
                + "FROM INFORMATION_SCHEMA.INDEXES WHERE NULLS_DISTINCT IS NOT NULL AND NULLS_DISTINCT <> 'YES'");
                ResultSet rows = query.executeQuery()) {
            while (rows.next()) {
                nullsMeet.add(List.of(rows.getString(1), rows.getString(2)));
            }
        }
        return TablesReader.read(connection, new TablesReader.Peculiarities() {
            @Override
            public boolean collated(String schema, String table, String column) {
                return collated;
            }

            @Override
            public boolean nullsMeet(String schema, String table, List<String> columns) {
                return nullsMeet.contains(List.of(schema, table));
            }

            @Override
            public @Nullable String refusal(String schema, String table) {
                return null;
            }
        });
    }

    @Override
    public List<String> script(Connection connection) throws SQLException {
        List<String> script = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet lines = statement.executeQuery("SCRIPT NODATA NOPASSWORDS NOSETTINGS")) {
            while (lines.next()) {
                String line = lines.getString(1);
                if (!line.startsWith("--") && !line.startsWith("CREATE USER")) {
                    script.add(line);
                }
            }
        }
        // SCRIPT leaves them out
        try (Statement statement = connection.createStatement();
                ResultSet synonyms = statement.executeQuery("SELECT SYNONYM_SCHEMA, SYNONYM_NAME, SYNONYM_FOR_SCHEMA, "
                        + "SYNONYM_FOR FROM INFORMATION_SCHEMA.SYNONYMS")) {
            while (synonyms.next()) {
                script.add("CREATE SYNONYM " + quote(synonyms.getString(1)) + "." + quote(synonyms.getString(2))
                        + " FOR " + quote(synonyms.getString(3)) + "." + quote(synonyms.getString(4)));
            }
        }
        return script;
    }

    @Override
    public void installTriggers(Connection connection, Tables tables) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (Table table : tables.all()) {
                statement.execute("CREATE TRIGGER IF NOT EXISTS " + quote(table.schema()) + ".\"TUTTI_"
                        + Long.toHexString(table.hash()) + "\" AFTER INSERT, UPDATE, DELETE ON "
                        + quote(table.schema()) + "." + quote(table.name()) + " FOR EACH ROW CALL '"
                        + H2CaptureTrigger.class.getName() + "'");
            }
        }
    }

    @Override
    public List<Counter> counters(Connection connection) throws SQLException {
        List<Counter> counters = new ArrayList<>();
        try (PreparedStatement sequences = connection.prepareStatement("SELECT BASE_VALUE, INCREMENT, SEQUENCE_SCHEMA, "
                + "SEQUENCE_NAME, MINIMUM_VALUE, MAXIMUM_VALUE FROM INFORMATION_SCHEMA.SEQUENCES");
                PreparedStatement columns = connection.prepareStatement("SELECT IDENTITY_BASE, IDENTITY_INCREMENT, "
                        + "TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, IDENTITY_MINIMUM, IDENTITY_MAXIMUM FROM INFORMATION_SCHEMA.COLUMNS "
                        + "WHERE IS_IDENTITY = 'YES'")) {
            try (ResultSet rows = sequences.executeQuery()) {
                while (rows.next()) {
                    counters.add(new Counter(rows.getLong(1), rows.getLong(2), rows.getLong(5), rows.getLong(6),
                            "ALTER SEQUENCE "
                                    + escaped(rows.getString(3)) + "." + escaped(rows.getString(4))
                                    + " RESTART WITH %1$d INCREMENT BY %2$d"));
                }
            }
            try (ResultSet rows = columns.executeQuery()) {
                while (rows.next()) {
                    counters.add(new Counter(rows.getLong(1), rows.getLong(2), rows.getLong(6), rows.getLong(7),
                            "ALTER TABLE "
                                    + escaped(rows.getString(3)) + "." + escaped(rows.getString(4)) + " ALTER COLUMN "
                                    + escaped(rows.getString(5)) + " SET INCREMENT BY %2$d RESTART WITH %1$d"));
                }
            }
        }
        return counters;
    }

    @Override
    public String fromNothing() {
        return "";
    }

    /**
     * Below SQL: {@code CHECKPOINT SYNC} holds the lock of the whole database until the device answers, for which everybody waits who connects
     * or leaves. What H2 has begun to write by itself, its own threads may not have written yet, and a commit of the store then finds nothing to do: they
     * have when something that the store does alone comes back.
     */
    @Override
    public void sync() throws SQLException {
        if (!durable()) {
            return;
        }
        try {
            MVStore store = store();
            store.commit();
            store.executeFilestoreOperation(() -> {});
            store.sync();
        } catch (MVStoreException failed) {
            throw new SQLException("what has been committed cannot be written to " + name() + ": "
                    + failed.getMessage(), "58030", failed);
        }
    }

    /** Pages that have changed, which change again soon. */
    @Override
    public boolean writesForSync() {
        return durable();
    }
}
