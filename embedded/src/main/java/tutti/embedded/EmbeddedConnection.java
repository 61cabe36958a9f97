package tutti.embedded;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLClientInfoException;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.jdbc.spi.Calls;
import tutti.jdbc.spi.ResultSetHandler;
import tutti.jdbc.spi.SequenceQuery;
import tutti.jdbc.spi.StatementHost;
import tutti.jdbc.spi.Statements;
import tutti.jdbc.spi.Target;
import tutti.session.EmbeddedSession;

/**
 * A JDBC connection to a node of this virtual machine: statements are the engine's own, transactions the session's. Several
 * threads may use it, each with statements of its own; one waits for the other, except in {@code abort}, {@code close} and when
 * a statement is cancelled. What another thread executes when the connection is closed comes to its end, of which it is told, before its session is closed.
 */
final class EmbeddedConnection implements InvocationHandler, StatementHost {
    private static final Pattern FIRST_WORD = Pattern.compile("(?:\\s|--[^\\n]*\\n|/\\*.*?\\*/)*(\\w+).*",
            Pattern.DOTALL);
    /** What every replica executes, rather than this one's rows being shipped. */
    private static final Set<String> EVERYWHERE = Set.of("CREATE", "ALTER", "DROP", "TRUNCATE", "COMMENT", "GRANT",
            "REVOKE", "ANALYZE", "RENAME");
    private static final Set<String> BEGINS = Set.of("BEGIN", "START");
    /** The property and the client info, and the variable of {@code SET LOCAL}. */
    private static final String CLASSES = "tutti.classes";
    private static final Pattern SET_CLASSES = Pattern.compile(
            "\\s*SET\\s+LOCAL\\s+tutti\\s*\\.\\s*classes\\s*(?:=|\\bTO\\b)\\s*'([^']*)'\\s*;?\\s*",
            Pattern.CASE_INSENSITIVE);

    /** The engine's connection that a statement runs on. */
    private static final class Place implements Target {
        private final Connection connection;
        /** As it was set there; null if it was not. */
        private @Nullable String schema;

        Place(Connection connection) {
            this.connection = connection;
        }

        @Override
        public Connection connection() {
            return connection;
        }

        @Override
        public boolean usable() {
            return true;
        }

        /** Has names be found in this schema; null if they are in that of the beginning. */
        void use(@Nullable String wanted) throws SQLException {
            if (wanted != null && !wanted.equals(schema)) {
                connection.setSchema(wanted);
                schema = wanted;
            }
        }
    }

    private static final Set<Integer> ISOLATIONS = Set.of(Connection.TRANSACTION_READ_UNCOMMITTED,
            Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ,
            Connection.TRANSACTION_SERIALIZABLE);

    private final EmbeddedSession session;
    private final String url;
    private final BooleanSupplier serves;
    private final Connection proxy;
    private final Place primary;
    private final ReentrantLock lock = new ReentrantLock();
    /** The last one that was not the primary's. */
    private @Nullable Place secondary;
    /** As it was set, null if it was not. Nothing else that can be set on the primary's connection says what statements mean. */
    private @Nullable String schema;
    private String classes;
    /** Whether the next transaction, or the open one, has said what it will touch. */
    private boolean declared;
    private boolean autoCommit = true;
    private boolean readOnly;
    private int isolation = Connection.TRANSACTION_REPEATABLE_READ;
    private volatile boolean closed;
    /** Whether the session is, too. Guarded by the lock. */
    private boolean sessionClosed;

    private EmbeddedConnection(EmbeddedSession session, String url, BooleanSupplier serves, String classes) {
        this.session = session;
        this.url = url;
        this.serves = serves;
        this.classes = classes;
        this.primary = new Place(session.connection());
        this.proxy = Calls.proxy(Connection.class, this);
    }

    /**
     * A connection.
     *
     * @param serves whether its node has not stopped
     * @param classes what its transactions of several statements will touch, unless they say otherwise; empty if nothing
     *            is known
     */
    static Connection open(EmbeddedSession session, String url, BooleanSupplier serves, String classes) {
        return new EmbeddedConnection(session, url, serves, classes).proxy;
    }

    @Override
    public Connection proxy() {
        return proxy;
    }

    @Override
    public @Nullable Object invoke(Object self, Method method, @Nullable Object @Nullable [] arguments)
            throws SQLException {
        Object ofObject = Calls.ofObject(method, self, arguments, () -> "connection to " + url);
        if (ofObject != null) {
            return ofObject;
        }
        return switch (method.getName()) {
            case "close" -> {
                close();
                yield null;
            }
            case "abort" -> {
                if (arguments == null || arguments[0] == null) {
                    throw EmbeddedUrl.invalid("a connection is aborted by an executor, not by null");
                }
                ((Executor) arguments[0]).execute(this::close);
                yield null;
            }
            case "isClosed" -> closed;
            case "isValid" -> isValid((Integer) Calls.argument(arguments, 0));
            case "setClientInfo" -> {
                try {
                    yield alone(method, arguments);
                } catch (SQLClientInfoException declared) {
                    throw declared;
                } catch (SQLException why) {
                    throw new SQLClientInfoException(why.getMessage(), why.getSQLState(), Map.of(), why);
                }
            }
            default -> alone(method, arguments);
        };
    }

    private @Nullable Object alone(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        lock.lock();
        try {
            requireOpen();
            return whileOpen(method, arguments);
        } finally {
            unlock();
        }
    }

    private void requireOpen() throws SQLException {
        if (closed) {
            throw new SQLException("this connection is closed", "08003");
        }
        if (!serves.getAsBoolean()) {
            throw new SQLException("the node of " + url + " has stopped, and this connection is of no use any more",
                    "08006");
        }
    }

    private void unlock() {
        lock.unlock();
        closeSession();
    }

    private void close() {
        closed = true;
        closeSession();
    }

    /** Closes the session of a closed connection, unless something is being executed: then that does so when it ends. */
    private void closeSession() {
        if (closed && !lock.isHeldByCurrentThread() && lock.tryLock()) {
            try {
                if (!sessionClosed) {
                    sessionClosed = true;
                    session.close();
                }
            } finally {
                lock.unlock();
            }
        }
    }

    private @Nullable Object whileOpen(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        switch (method.getName()) {
            case "isWrapperFor" -> {
                return ((Class<?>) Calls.argument(arguments, 0)).isInstance(proxy);
            }
            case "unwrap" -> {
                Class<?> face = (Class<?>) Calls.argument(arguments, 0);
                if (face.isInstance(proxy)) {
                    return proxy;
                }
                throw EmbeddedUrl.invalid("the connection is no " + face.getName());
            }
            case "createStatement", "prepareStatement", "prepareCall" -> {
                return Statements.create(this, method, arguments);
            }
            case "getMetaData" -> {
                return Calls.proxy(DatabaseMetaData.class, this::metaData);
            }
            case "getAutoCommit" -> {
                return autoCommit;
            }
            case "setAutoCommit" -> {
                boolean wanted = (Boolean) Calls.argument(arguments, 0);
                if (wanted != autoCommit) {
                    session.commit();
                    declared = false;
                    autoCommit = wanted;
                }
                return null;
            }
            case "isReadOnly" -> {
                return readOnly;
            }
            case "setReadOnly" -> {
                setReadOnly((Boolean) Calls.argument(arguments, 0));
                return null;
            }
            case "getTransactionIsolation" -> {
                return isolation;
            }
            case "setTransactionIsolation" -> {
                setIsolation((Integer) Calls.argument(arguments, 0));
                return null;
            }
            case "commit" -> {
                requireManual("commit");
                declared = false;
                session.commit();
                return null;
            }
            case "setClientInfo" -> {
                setClientInfo(method, arguments);
                return null;
            }
            case "getClientInfo" -> {
                return clientInfo(method, arguments);
            }
            case "rollback" -> {
                requireManual("roll back");
                rollback(arguments);
                return null;
            }
            case "setSchema" -> {
                Object nothing = Calls.call(method, primary.connection(), arguments);
                schema = arguments == null ? null : (String) arguments[0];
                primary.schema = schema;
                return nothing;
            }
            case "setSavepoint", "releaseSavepoint" -> {
                requireManual("use savepoints");
                return execute("", false, on -> Calls.call(method, on.connection(), arguments));
            }
            default -> {
                return Calls.call(method, primary.connection(), arguments);
            }
        }
    }

    private void requireManual(String what) throws SQLException {
        if (autoCommit) {
            throw new SQLException("cannot " + what + " while the connection commits by itself: setAutoCommit(false)"
                    + " first", "25000");
        }
    }

    private void rollback(@Nullable Object @Nullable [] arguments) throws SQLException {
        if (arguments == null || arguments.length == 0) {
            declared = false;
            session.rollback();
            return;
        }
        Savepoint savepoint = (Savepoint) Calls.argument(arguments, 0);
        execute("", false, on -> {
            on.connection().rollback(savepoint);
            return null;
        });
    }

    private void setReadOnly(boolean wanted) throws SQLException {
        if (session.inTransaction()) {
            throw new SQLException("the connection cannot become read-only, or cease to be, in a transaction", "25001");
        }
        session.setReadOnly(wanted);
        readOnly = wanted;
    }

    private boolean isValid(int timeout) throws SQLException {
        if (timeout < 0) {
            throw new SQLException("the timeout of isValid is negative: " + timeout, "22023");
        }
        return !closed && serves.getAsBoolean();
    }

    private void setIsolation(int wanted) throws SQLException {
        if (!ISOLATIONS.contains(wanted)) {
            throw new SQLException("there is no isolation " + wanted + " for transactions: use one of the constants"
                    + " TRANSACTION_REPEATABLE_READ, TRANSACTION_SERIALIZABLE and below", "22023");
        }
        if (wanted == Connection.TRANSACTION_SERIALIZABLE && !session.serializable()) {
            throw new SQLException("the node's protocol guarantees snapshot isolation, not SERIALIZABLE: ask for"
                    + " TRANSACTION_REPEATABLE_READ, or use a protocol that is serializable, such as dbsm", "0A000");
        }
        if (session.inTransaction()) {
            throw new SQLException("the isolation cannot be changed in a transaction", "25001");
        }
        isolation = wanted;
    }

    private void setClientInfo(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        Object first = Calls.argument(arguments, 0);
        if (first instanceof Properties properties) {
            classes = properties.getProperty(CLASSES, "");
            Properties others = new Properties();
            properties.stringPropertyNames().stream().filter(name -> !name.equals(CLASSES))
                    .forEach(name -> others.setProperty(name, properties.getProperty(name)));
            primary.connection().setClientInfo(others);
        } else if (CLASSES.equals(first)) {
            String value = arguments == null ? null : (String) arguments[1];
            classes = value == null ? "" : value;
        } else {
            Calls.call(method, primary.connection(), arguments);
        }
    }

    private @Nullable Object clientInfo(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        if (arguments == null || arguments.length == 0) {
            Properties all = new Properties();
            all.putAll(primary.connection().getClientInfo());
            all.setProperty(CLASSES, classes);
            return all;
        }
        return CLASSES.equals(arguments[0]) ? classes : Calls.call(method, primary.connection(), arguments);
    }

    private @Nullable Object metaData(Object self, Method method, @Nullable Object @Nullable [] arguments)
            throws SQLException {
        Object ofObject = Calls.ofObject(method, self, arguments, () -> "metadata of " + proxy);
        if (ofObject != null) {
            return ofObject;
        }
        return switch (method.getName()) {
            case "getConnection" -> proxy;
            case "getURL" -> url;
            case "getDefaultTransactionIsolation" -> Connection.TRANSACTION_REPEATABLE_READ;
            default -> {
                Object result = Calls.call(method, primary.connection().getMetaData(), arguments);
                yield result instanceof ResultSet rows ? ResultSetHandler.wrap(rows, null, this, primary) : result;
            }
        };
    }

    // ------------------------------------------------------------------------------------------ statements

    @Override
    public Target somewhere() {
        return primary;
    }

    /** One object for each connection; they are compared as objects, since guarded ones are equal to none. */
    @SuppressWarnings("ReferenceEquality")
    private Place place(Connection connection) {
        if (connection == primary.connection()) {
            return primary;
        }
        Place last = secondary;
        if (last == null || last.connection() != connection) {
            last = new Place(connection);
            secondary = last;
        }
        return last;
    }

    private static String firstWord(String sql) {
        Matcher matcher = FIRST_WORD.matcher(sql);
        return matcher.matches() ? matcher.group(1).toUpperCase(Locale.ROOT) : "";
    }

    @Override
    public boolean executedElsewhere(String sql) throws SQLException {
        lock.lock();
        try {
            requireOpen();
            return executedByOthers(sql);
        } finally {
            unlock();
        }
    }

    private boolean executedByOthers(String sql) throws SQLException {
        String first = firstWord(sql);
        if (EVERYWHERE.contains(first)) {
            session.everywhere(sql);
            return true;
        }
        Matcher declaration = first.equals("SET") ? SET_CLASSES.matcher(sql) : null;
        if (declaration != null && declaration.matches()) {
            requireManual("declare a transaction's tables");
            session.declare(declaration.group(1));
            declared = true;
            return true;
        }
        return false;
    }

    @Override
    public @Nullable Object execute(@Nullable String sql, boolean repeatable, Work work) throws SQLException {
        lock.lock();
        try {
            return executeAlone(sql, work);
        } finally {
            unlock();
        }
    }

    private @Nullable Object executeAlone(@Nullable String sql, Work work) throws SQLException {
        requireOpen();
        if (sql != null && BEGINS.contains(firstWord(sql))) {
            throw new SQLException(
                    "transactions begin by themselves: setAutoCommit(false), then commit() or rollback()",
                    "0A000");
        }
        boolean done = false;
        try {
            Object result = sql == null
                    ? session.<@Nullable Object>aside(connection -> on(connection, work))
                    : executed(sql, work);
            if (autoCommit) {
                session.commit();
            }
            done = true;
            return result;
        } finally {
            if (!done && autoCommit) {
                session.rollback();
            }
        }
    }

    /** An attempt; the connection may have been closed while the statement waited for it. */
    private @Nullable Object on(Connection connection, Work work) throws SQLException {
        requireOpen();
        Place place = place(connection);
        place.use(schema);
        return work.on(place);
    }

    private @Nullable Object executed(String sql, Work work) throws SQLException {
        if (autoCommit) {
            return session.<@Nullable Object>alone(sql, connection -> on(connection, work));
        }
        if (!declared && !classes.isEmpty() && !session.inTransaction()) {
            session.declare(classes);
        }
        declared = true;
        return session.<@Nullable Object>statement(connection -> on(connection, work));
    }

    @Override
    public String translated(String sql, Target on) {
        if (!SequenceQuery.is(sql)) {
            return sql;
        }
        String increment = "CAST(\"INCREMENT\" AS BIGINT)";
        // of two columns of one name, the first is found by it
        return "SELECT CASE WHEN MOD(" + increment + ", " + EmbeddedNode.SEQUENCE_STEP + ") = 0 THEN " + increment
                + " / " + EmbeddedNode.SEQUENCE_STEP + " ELSE " + increment
                + " END AS \"INCREMENT\", S.* FROM INFORMATION_SCHEMA.SEQUENCES S";
    }

    /** The transaction of a statement that has committed by itself is over: what is changed after it would be lost. */
    @Override
    public @Nullable Object changeResults(Target on, Work work) throws SQLException {
        if (!session.inTransaction()) {
            throw new SQLException(
                    "rows of a result can be changed in its transaction only: setAutoCommit(false) first, or"
                            + " use UPDATE",
                    "0A000");
        }
        return work.on(on);
    }

    @Override
    public SQLException noticed(Target on, SQLException failure) {
        return failure;
    }
}
