package tutti.engine.jdbc.hsqldb;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.hsqldb.Database;
import org.hsqldb.NumberSequence;
import org.hsqldb.jdbc.JDBCConnection;
import org.hsqldb.jdbc.JDBCDriver;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.OpenedDatabase;
import tutti.engine.jdbc.SqlSyntax;
import tutti.engine.jdbc.rows.Table;
import tutti.engine.jdbc.rows.Tables;
import tutti.engine.jdbc.rows.TablesReader;

/**
 * An HSQLDB database with multiversion concurrency, in memory or in files.
 *
 * <p>
 * Clients run at the isolation level REPEATABLE READ, which is a snapshot here. A transaction that comes upon a row which
 * another one has changed, committed since or not committed, is rolled back at once (40501); it never waits.
 *
 * <p>
 * In files, a database is a script of all rows and a log of what has changed since. {@link HsqldbLog} says when and how the database
 * is written anew while it is in use; HSQLDB must not do it of its own accord.
 */
public final class HsqldbDatabase extends OpenedDatabase {
    private static final String USER = "SA";
    private static final AtomicLong MEMORY_NAMES = new AtomicLong();
    /** Of the log, in megabytes, to {@code Logger.setLogSize}. */
    private static final int UNLIMITED = 0;
    /** Bytes of the log at which a small database is written anew: what HSQLDB takes by default. */
    private static final long LOG_BYTES_MIN = 50L << 20;

    private final String url;
    private final @Nullable HsqldbLog log;

    /**
     * Opens it.
     *
     * @param files path of those that it is in, or null
     */
    private HsqldbDatabase(String url, String name, @Nullable String files, long logBytesMin) throws SQLException {
        super(name, files != null, connect(url));
        this.url = url;
        database(keeper()).logger.setLogSize(UNLIMITED);
        try {
            this.log = files == null ? null : new HsqldbLog(database(keeper()), this::open, files, logBytesMin);
        } catch (SQLException unwritten) {
            crash();
            throw unwritten;
        }
    }

    /** A new one in memory, gone when it is closed. */
    public static HsqldbDatabase inMemory() throws SQLException {
        return inMemory(SqlSyntax.OWN);
    }

    /** Likewise, with a choice of syntax. */
    public static HsqldbDatabase inMemory(SqlSyntax syntax) throws SQLException {
        long number = MEMORY_NAMES.incrementAndGet();
        return new HsqldbDatabase("jdbc:hsqldb:mem:tutti" + number + words(syntax),
                "HSQLDB database " + number + " in memory", null, LOG_BYTES_MIN);
    }

    /**
     * One in files, made if it is not there.
     *
     * @param path of the files, without the endings that HSQLDB gives them
     */
    public static HsqldbDatabase inFiles(Path path) throws SQLException {
        return inFiles(path, SqlSyntax.OWN);
    }

    /** Likewise, with a choice of syntax. */
    public static HsqldbDatabase inFiles(Path path, SqlSyntax syntax) throws SQLException {
        return inFiles(path, syntax, LOG_BYTES_MIN);
    }

    /**
     * Likewise.
     *
     * @param logBytesMin how long the log becomes at least before the database is written anew, in bytes, at least 1
     */
    public static HsqldbDatabase inFiles(Path path, SqlSyntax syntax, long logBytesMin) throws SQLException {
        if (logBytesMin < 1) {
            throw new IllegalArgumentException("logBytesMin " + logBytesMin);
        }
        String files = path.toAbsolutePath().toString();
        HsqldbLog.settle(files);
        HsqldbLog.warnOfHeap(files);
        return new HsqldbDatabase("jdbc:hsqldb:file:" + files + words(syntax), "HSQLDB database " + path, files,
                logBytesMin);
    }

    private static String words(SqlSyntax syntax) {
        return ";hsqldb.tx=mvcc;hsqldb.default_table_type=memory"
                + (syntax == SqlSyntax.OWN ? "" : ";sql.syntax_pgs=true");
    }

    private static JDBCConnection connect(String url) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", USER);
        properties.setProperty("password", "");
        return (JDBCConnection) JDBCDriver.getConnection(url, properties);
    }

    private JDBCConnection open() throws SQLException {
        JDBCConnection connection = connect(url);
        connection.setAutoCommit(false);
        connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        return connection;
    }

    @Override
    public Session openClient() throws SQLException {
        return new HsqldbSession(open());
    }

    @Override
    public Session openApplier() throws SQLException {
        return new HsqldbSession(open());
    }

    private record Name(String schema, String table, String column) {}

    @Override
    public Tables readTables(Connection connection) throws SQLException {
        Set<Name> collated = new HashSet<>();
        try (PreparedStatement query = connection.prepareStatement("SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME "
                + "FROM INFORMATION_SCHEMA.COLUMNS WHERE COLLATION_NAME IS NOT NULL AND COLLATION_NAME <> 'SQL_TEXT'");
                ResultSet rows = query.executeQuery()) {
            while (rows.next()) {
                collated.add(new Name(rows.getString(1), rows.getString(2), rows.getString(3)));
            }
        }
        Map<List<String>, String> refusals = new HashMap<>();
        refuse(connection, "SELECT TABLE_SCHEM, TABLE_NAME FROM INFORMATION_SCHEMA.SYSTEM_TABLES "
                + "WHERE HSQLDB_TYPE <> 'MEMORY'",
                "is not a MEMORY table, and with HSQLDB only those are replicated: "
                        + "SET TABLE ... TYPE MEMORY first",
                refusals);
        refuse(connection, "SELECT TABLE_SCHEMA, TABLE_NAME FROM INFORMATION_SCHEMA.COLUMNS "
                + "WHERE DATA_TYPE IN ('BINARY LARGE OBJECT', 'CHARACTER LARGE OBJECT')",
                "has a CLOB or BLOB column, which is not replicated with HSQLDB: make it VARCHAR or VARBINARY",
                refusals);
        boolean nullsMeet = !database(connection).sqlUniqueNulls;
        return TablesReader.read(connection, new TablesReader.Peculiarities() {
            @Override
            public boolean collated(String schema, String table, String column) {
                return collated.contains(new Name(schema, table, column));
            }

            @Override
            public boolean nullsMeet(String schema, String table, List<String> columns) {
                return nullsMeet;
            }

            @Override
            public @Nullable String refusal(String schema, String table) {
                return refusals.get(List.of(schema, table));
            }
        });
    }

    private static void refuse(Connection connection, String tables, String why, Map<List<String>, String> refusals)
            throws SQLException {
        try (PreparedStatement query = connection.prepareStatement(tables); ResultSet rows = query.executeQuery()) {
            while (rows.next()) {
                refusals.put(List.of(rows.getString(1), rows.getString(2)), why);
            }
        }
    }

    private static org.hsqldb.Session session(Connection connection) {
        return (org.hsqldb.Session) ((JDBCConnection) connection).getSession();
    }

    private static Database database(Connection connection) {
        return session(connection).getDatabase();
    }

    @Override
    public List<String> script(Connection connection) {
        org.hsqldb.lib.List<String> lines = database(connection).schemaManager.getSQLArray();
        List<String> script = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i);
            if (!line.startsWith("CREATE SCHEMA PUBLIC ") && !line.contains(" SYSTEM_LOBS.")) {
                script.add(line);
            }
        }
        return script;
    }

    @Override
    public void installTriggers(Connection connection, Tables tables) throws SQLException {
        Set<String> there = new HashSet<>();
        try (PreparedStatement query = connection
                .prepareStatement("SELECT TRIGGER_NAME FROM INFORMATION_SCHEMA.TRIGGERS");
                ResultSet rows = query.executeQuery()) {
            while (rows.next()) {
                there.add(rows.getString(1));
            }
        }
        try (Statement statement = connection.createStatement()) {
            for (Table table : tables.all()) {
                for (String operation : List.of("INSERT", "UPDATE", "DELETE")) {
                    String trigger = HsqldbCaptureTrigger.name(table, operation);
                    if (!there.contains(trigger)) {
                        statement.execute("CREATE TRIGGER " + quote(table.schema()) + "." + quote(trigger) + " AFTER "
                                + operation + " ON " + quote(table.schema()) + "." + quote(table.name())
                                + " FOR EACH ROW QUEUE 0 CALL " + quote(HsqldbCaptureTrigger.class.getName()));
                    }
                }
            }
        }
    }

    @Override
    public List<Counter> counters(Connection connection) throws SQLException {
        List<Counter> counters = new ArrayList<>();
        try (PreparedStatement sequences = connection.prepareStatement("SELECT NEXT_VALUE, INCREMENT, SEQUENCE_SCHEMA, "
                + "SEQUENCE_NAME, MINIMUM_VALUE, MAXIMUM_VALUE FROM INFORMATION_SCHEMA.SEQUENCES WHERE SEQUENCE_SCHEMA <> 'SYSTEM_LOBS'");
                PreparedStatement columns = connection.prepareStatement("SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME "
                        + "FROM INFORMATION_SCHEMA.COLUMNS WHERE IS_IDENTITY = 'YES'")) {
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
                    org.hsqldb.Table table = database(connection).schemaManager.getUserTable(rows.getString(2),
                            rows.getString(1));
                    NumberSequence sequence = table.getColumn(table.findColumn(rows.getString(3)))
                            .getIdentitySequence();
                    counters.add(new Counter(sequence.peek(), sequence.getIncrement(), sequence.getMinValue(),
                            sequence.getMaxValue(),
                            "ALTER TABLE "
                                    + escaped(rows.getString(1)) + "." + escaped(rows.getString(2)) + " ALTER COLUMN "
                                    + escaped(rows.getString(3)) + " RESTART WITH %1$d SET INCREMENT BY %2$d"));
                }
            }
        }
        return counters;
    }

    @Override
    public String fromNothing() {
        return " FROM (VALUES(0))";
    }

    @Override
    public @Nullable GrowingLog growingLog() {
        return log;
    }

    @Override
    public void sync() throws SQLException {
        if (log != null) {
            log.sync();
        }
    }
}
