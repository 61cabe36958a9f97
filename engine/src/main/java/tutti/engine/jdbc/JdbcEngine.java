package tutti.engine.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.engine.StateView;
import tutti.engine.jdbc.reads.Footprints;
import tutti.engine.jdbc.rows.Change;
import tutti.engine.jdbc.rows.Change.Operation;
import tutti.engine.jdbc.rows.Table;
import tutti.engine.jdbc.rows.Tables;

/**
 * A database in the Java virtual machine as a replica's engine (docs/engines.md). Its position is kept
 * in the database itself: each transaction that makes a position's effects inserts a row with it, so a crash loses a
 * suffix of positions together with exactly their effects (docs/decisions/0005).
 *
 * <p>
 * Safe for use from any thread.
 */
public final class JdbcEngine implements ClientEngine {
    /** Records a position in the open transaction. */
    static final String RECORD = "INSERT INTO TUTTI.APPLIED (POSITION) VALUES (?)";
    private static final Logger LOG = LoggerFactory.getLogger(JdbcEngine.class);
    /** How many positions are kept in the database: more than may be made at the same time. */
    private static final long POSITIONS_KEPT = 10_000;
    /** PostgreSQL's. */
    private static final String IO_ERROR = "58030";

    private final EmbeddedDatabase database;
    private final CaptureMode capture;
    private final SequenceSteps steps;
    private final EmbeddedDatabase.Session admin;
    private final ReentrantLock adminLock = new ReentrantLock();
    /** Held while the schema must stay as it is, and while it changes. */
    private final ReentrantReadWriteLock schemaLock = new ReentrantReadWriteLock();
    private final StatementGate gate = new StatementGate();
    private final Barriers barriers = new Barriers(this);
    private final LogRewriting rewriting;
    private final OpenedSessions opened = new OpenedSessions();
    private final ExecutorService workers = Executors
            .newThreadPerTaskExecutor(Thread.ofVirtual().name("tutti-engine-", 0).factory());
    private final AtomicReference<Runnable> lost = new AtomicReference<>(() -> {});
    private volatile boolean lostWithLog;
    private volatile JavaCall.Known procedures = JavaCall.Known.NONE;
    private volatile Tables tables = Tables.EMPTY;
    private volatile Footprints footprints = new Footprints(Tables.EMPTY, List.of());

    private JdbcEngine(EmbeddedDatabase database, EmbeddedDatabase.Session admin, CaptureMode capture,
            SequenceSteps steps) {
        this.capture = capture;
        this.steps = steps;
        this.database = database;
        this.admin = admin;
        this.rewriting = new LogRewriting(database, schemaLock);
    }

    /** Something that may fail as databases do. */
    @FunctionalInterface
    interface Step {
        void run() throws SQLException;
    }

    /**
     * Opens a database as an engine, adopting what is in it. Closes it with the engine, and also if this fails. Blocks.
     *
     * @throws SQLException if the database refuses something
     */
    public static JdbcEngine open(EmbeddedDatabase database) throws SQLException {
        return open(database, CaptureMode.NOTES, SequenceSteps.ALL);
    }

    /**
     * Likewise, of one of several nodes.
     *
     * @param steps which values of sequences are this node's
     */
    public static JdbcEngine open(EmbeddedDatabase database, CaptureMode capture, SequenceSteps steps)
            throws SQLException {
        boolean opened = false;
        try {
            JdbcEngine engine = new JdbcEngine(database, database.openApplier(), capture, steps);
            engine.install();
            opened = true;
            return engine;
        } finally {
            if (!opened) {
                database.close();
            }
        }
    }

    /** Tells which procedures in Java there are, before anything is executed. */
    public void registers(JavaCall.Known known) {
        procedures = known;
    }

    @Override
    public JavaCall.Known procedures() {
        return procedures;
    }

    private void install() throws SQLException {
        Connection connection = admin.connection();
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE SCHEMA IF NOT EXISTS TUTTI");
            statement.execute("CREATE TABLE IF NOT EXISTS TUTTI.APPLIED (POSITION BIGINT PRIMARY KEY)");
            statement.execute("CREATE TABLE IF NOT EXISTS TUTTI.SKIPPED (POSITION BIGINT PRIMARY KEY)");
            statement.execute("CREATE TABLE IF NOT EXISTS TUTTI.CLUSTER (ID VARCHAR(64) PRIMARY KEY)");
            statement.execute(Barriers.TABLE);
        }
        admin.commit();
        barriers.settle(admin);
        boolean again = readPosition(connection) > 0;
        admin.commit();
        separateCounters(connection, again);
        readTables(connection);
        admin.commit();
    }

    /**
     * Has the database belong to a cluster, for good. Called before anything is applied.
     *
     * @param cluster its id; nothing if it has none, and then nothing happens
     * @throws SQLException if the database belongs to another one, and then it is closed
     */
    public void claim(String cluster) throws SQLException {
        if (cluster.isEmpty()) {
            return;
        }
        Connection connection = admin.connection();
        String known = null;
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT ID FROM TUTTI.CLUSTER")) {
            if (rows.next()) {
                known = rows.getString(1);
            }
        }
        if (known == null) {
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO TUTTI.CLUSTER (ID) VALUES (?)")) {
                insert.setString(1, cluster);
                insert.executeUpdate();
            }
        }
        admin.commit();
        if (known != null && !known.equals(cluster)) {
            close();
            throw new SQLException("the database belongs to cluster " + known + ", but this node is of cluster "
                    + cluster
                    + ": its rows are those of another order. Use another directory, or give the node a copy of"
                    + " the database of another node of its own cluster", "55000");
        }
    }

    /**
     * Lets sequences give this node's values only.
     *
     * @param again whether those that do are moved on, too
     */
    private void separateCounters(Connection connection, boolean again) throws SQLException {
        if (steps.step() == 1) {
            return;
        }
        try (Statement statement = connection.createStatement()) {
            for (EmbeddedDatabase.Counter counter : database.counters(connection)) {
                OptionalLong start = again || !steps.separated(counter.increment())
                        ? steps.start(counter, again)
                        : OptionalLong.empty();
                if (start.isPresent()) {
                    statement.execute(String.format(Locale.ROOT, counter.restart(), start.getAsLong(),
                            steps.increment(counter.increment())));
                }
            }
        }
    }

    private void readTables(Connection connection) throws SQLException {
        Tables read = database.readTables(connection);
        if (capture == CaptureMode.TRIGGERS) {
            database.installTriggers(connection, read);
        }
        footprints = new Footprints(read, database.script(connection));
        tables = read;
    }

    /** What a schema change has left is taken over, and all of it committed. */
    void schemaChanged(EmbeddedDatabase.Session session) throws SQLException {
        try {
            separateCounters(session.connection(), false);
        } finally {
            readTables(session.connection());
        }
        session.commit();
    }

    Barriers barriers() {
        return barriers;
    }

    /** Held while the schema must stay as it is, and while it changes. */
    ReentrantReadWriteLock schemaLock() {
        return schemaLock;
    }

    EmbeddedDatabase database() {
        return database;
    }

    StatementGate gate() {
        return gate;
    }

    /** The database is written anew from time to time, if it needs that. */
    LogRewriting rewriting() {
        return rewriting;
    }

    /** The tables as of the last schema change. */
    public Tables tables() {
        return tables;
    }

    /** What statements may touch, as of the last schema change. */
    Footprints footprints() {
        return footprints;
    }

    /** What the engine calls itself. */
    @Override
    public String toString() {
        return database.name();
    }

    @Override
    public JdbcSession openSession(Supplier<? extends @Nullable LocalTransaction> current) throws SQLException {
        JdbcSession session = new JdbcSession(this, database.openClient(), current, capture);
        opened.add(session);
        return session;
    }

    /** Who has something open. */
    OpenedSessions opened() {
        return opened;
    }

    /** Runs something that may block, soon; at once if the engine is being closed. */
    void execute(Runnable task) {
        try {
            workers.execute(task);
        } catch (RejectedExecutionException closing) {
            task.run();
        }
    }

    /** Something failed that cannot: the database is gone. */
    void broken(SQLException cause) {
        LOG.error("{} does not work any more", database.name(), cause);
        lost.getAndSet(() -> {}).run();
    }

    /** What an engine's error is to the node. */
    static EngineFailure failure(SQLException failed) {
        String state = failed.getSQLState() == null ? "HY000" : failed.getSQLState();
        boolean passing = state.startsWith("40") || state.startsWith("08") || state.startsWith("53")
                || state.startsWith("57") || state.startsWith("58") || state.startsWith("HYT");
        return new EngineFailure(state, String.valueOf(failed.getMessage()), passing);
    }

    /** Whoever waits must hear of it: without an answer it would wait for ever. */
    EngineFailure unexpected(Throwable thrown) {
        LOG.error("{} failed in a way that databases do not announce", this, thrown);
        return new EngineFailure("XX000", thrown.toString(), false);
    }

    // ------------------------------------------------------------------------------------------ positions

    @Override
    public void appliedPosition(Completion<Long> done) {
        execute(() -> {
            long position;
            try {
                position = readAppliedPosition();
            } catch (SQLException failed) {
                done.failed(failure(failed));
                return;
            }
            done.succeeded(position);
        });
    }

    @Override
    public void skippedPositions(Completion<Set<Long>> done) {
        execute(() -> {
            Set<Long> positions = new HashSet<>();
            adminLock.lock();
            try (Statement statement = admin.connection().createStatement();
                    ResultSet rows = statement.executeQuery("SELECT POSITION FROM TUTTI.SKIPPED")) {
                while (rows.next()) {
                    positions.add(rows.getLong(1));
                }
                admin.commit();
            } catch (SQLException failed) {
                done.failed(failure(failed));
                return;
            } finally {
                adminLock.unlock();
            }
            done.succeeded(positions);
        });
    }

    /** The same, for those who can wait: blocks. */
    public long appliedPosition() {
        try {
            return readAppliedPosition();
        } catch (SQLException failed) {
            throw new IllegalStateException(database.name() + " does not tell its applied position: "
                    + failed.getMessage(), failed);
        }
    }

    private long readAppliedPosition() throws SQLException {
        adminLock.lock();
        try {
            long position = readPosition(admin.connection());
            admin.commit();
            return position;
        } catch (SQLException failed) {
            broken(failed);
            throw failed;
        } finally {
            adminLock.unlock();
        }
    }

    static long readPosition(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT MAX(POSITION) FROM TUTTI.APPLIED")) {
            return rows.next() ? rows.getLong(1) : 0;
        }
    }

    /**
     * The order's log is in the memory of the same virtual machine, so that neither outlives the other: nothing of it has to
     * be kept for this database.
     */
    public void lostWithLog() {
        lostWithLog = true;
    }

    /**
     * A database in memory does not survive a crash, so it has nothing durable, 0, unless the log would not either. Those in
     * files whose log has become long are written anew afterwards.
     */
    @Override
    public void durablePosition(Completion<Long> done) {
        execute(() -> {
            adminLock.lock();
            try {
                long position = readPosition(admin.connection());
                try (PreparedStatement delete = admin.connection()
                        .prepareStatement("DELETE FROM TUTTI.APPLIED WHERE POSITION < ?")) {
                    delete.setLong(1, position - POSITIONS_KEPT);
                    delete.executeUpdate();
                }
                admin.commit();
                database.sync();
                done.succeeded(database.durable() || lostWithLog ? position : 0L);
            } catch (SQLException failed) {
                if (IO_ERROR.equals(failed.getSQLState())) {
                    broken(failed);
                }
                done.failed(failure(failed));
                return;
            } finally {
                adminLock.unlock();
            }
            rewriting.look();
        });
    }

    @Override
    public boolean writesForDurability() {
        return database.writesForSync();
    }

    // ------------------------------------------------------------------------------------------ appliers

    @Override
    public Applier openApplier() {
        JdbcApplier applier = new JdbcApplier(this);
        opened.add(applier);
        return applier;
    }

    @Override
    public void onBlocked(BlockedListener heard) {
        opened.onBlocked(heard);
    }

    @Override
    public void onLost(Runnable told) {
        lost.set(told);
    }

    /** No: both engines look for the parent in the transaction's snapshot, and lock nothing. */
    @Override
    public boolean locksReferencedRows() {
        return false;
    }

    // ------------------------------------------------------------------------------------------ copies

    /** What is committed now, to be read while others go on. Blocks shortly. */
    public StateView view() throws SQLException {
        return JdbcView.open(this);
    }

    /**
     * Fills a new database with a copy of this one, as of some position, and opens it. Clients and appliers go on
     * meanwhile; schema changes wait. Blocks.
     *
     * <p>
     * The rows are read in one snapshot, and so is the position: each transaction that makes a position's effects inserts
     * it, so the highest one in the snapshot says which prefix of the order the snapshot shows.
     *
     * @param empty of the same kind; closed if this fails
     */
    public JdbcEngine copyTo(EmbeddedDatabase empty) throws SQLException {
        return copyTo(empty, steps);
    }

    /** Likewise, for another node. */
    public JdbcEngine copyTo(EmbeddedDatabase empty, SequenceSteps others) throws SQLException {
        boolean filled = false;
        schemaLock.readLock().lock();
        try (EmbeddedDatabase.Session from = database.openClient()) {
            List<String> script = database.script(from.connection());
            from.rollback();
            try (EmbeddedDatabase.Session to = empty.openApplier();
                    Statement statement = to.connection().createStatement()) {
                for (String line : script) {
                    statement.execute(line);
                }
                to.commit();
                long position = readPosition(from.connection());
                to.begin();
                for (Table table : tables.all()) {
                    from.scan(table, row -> to.write(new Change(Operation.INSERT, table, row)));
                }
                try (PreparedStatement insert = to.connection().prepareStatement(RECORD)) {
                    insert.setLong(1, position);
                    insert.executeUpdate();
                }
                try (PreparedStatement insert = to.connection()
                        .prepareStatement("INSERT INTO TUTTI.SKIPPED (POSITION) VALUES (?)");
                        Statement asked = from.connection().createStatement();
                        ResultSet skipped = asked.executeQuery("SELECT POSITION FROM TUTTI.SKIPPED")) {
                    while (skipped.next()) {
                        insert.setLong(1, skipped.getLong(1));
                        insert.executeUpdate();
                    }
                }
                to.commit();
            }
            filled = true;
        } finally {
            schemaLock.readLock().unlock();
            if (!filled) {
                empty.close();
            }
        }
        return open(empty, capture, others);
    }

    @Override
    public void close() {
        rewriting.close();
        List.copyOf(opened.appliers()).forEach(JdbcApplier::close);
        workers.close();
        List.copyOf(opened.sessions()).forEach(JdbcSession::close);
        adminLock.lock();
        try {
            admin.close();
            database.close();
        } finally {
            adminLock.unlock();
        }
    }
}
