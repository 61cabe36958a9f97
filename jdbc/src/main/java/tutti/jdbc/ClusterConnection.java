package tutti.jdbc;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.jdbc.spi.Calls;
import tutti.jdbc.spi.SequenceQuery;
import tutti.jdbc.spi.StatementHost;
import tutti.jdbc.spi.Statements;
import tutti.jdbc.spi.Target;

/**
 * A connection to a cluster: one of pgjdbc's connections at a time, to whatever node is there. Between transactions it can
 * be exchanged for another one, to which the session's settings are taken along; the application notices nothing.
 *
 * <p>
 * <b>Why moving is sound.</b> Something is executed again at another node only if it cannot have had any effect: a
 * transaction ends with the session that executes it unless its COMMIT was sent, so a transaction of which nothing but the
 * lost statement had been executed is gone without a trace, and neither has anything of it been seen. A statement that
 * commits by itself, or a COMMIT, is followed by a question to the cluster ({@link Resolution}), which answers from the
 * total order. What had been seen of a transaction is not seen again in another snapshot, unless it is read-only and the
 * application has not asked for {@code readOnlyFailover=abort}.
 *
 * <p>
 * Several threads may use it, each with statements of its own; one waits for the other, except in {@code abort},
 * {@code close} and {@link Statement#cancel}.
 */
final class ClusterConnection implements InvocationHandler, StatementHost {
    private static final Pattern ENDS = Pattern.compile("(?:\\A|;)\\s*(?:COMMIT|END|PREPARE\\s+TRANSACTION)\\b",
            Pattern.CASE_INSENSITIVE);
    private static final Pattern ROLLS_BACK = Pattern.compile("\\s*(?:ROLLBACK|ABORT)\\b(?!.*\\bTO\\b).*",
            Pattern.CASE_INSENSITIVE | Pattern.DOTALL);
    /** A query without functions, so without effects. */
    private static final Pattern HARMLESS = Pattern.compile(
            "\\s*(?:SELECT|VALUES|TABLE|SHOW)\\b(?!.*\\bINTO\\b)[^(;]*;?\\s*",
            Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

    private final Settings settings;
    private final Nodes nodes;
    private final Connection proxy;
    private final SessionSettings session = new SessionSettings();
    private final NewestPosition seen;
    private final ReentrantLock lock = new ReentrantLock();
    private @Nullable NodeConnection writer;
    /** For read-only transactions, if they go elsewhere. */
    private @Nullable NodeConnection reader;
    private volatile @Nullable NodeConnection current;
    private boolean autoCommit = true;
    private boolean readOnly;
    /** A transaction is open at the current node. */
    private boolean open;
    /** The node of the open transaction was lost, and the application has not ended it yet. */
    private @Nullable SQLException lost;
    private volatile boolean closed;

    private ClusterConnection(Settings settings) {
        this.settings = settings;
        this.nodes = new Nodes(settings);
        this.seen = settings.readLevel() == Settings.ReadLevel.CAUSAL
                ? NewestPosition.byAll(settings.hosts())
                : new NewestPosition();
        this.proxy = Calls.proxy(Connection.class, this);
    }

    /** Connects. */
    static Connection open(Settings settings) throws SQLException {
        ClusterConnection connection = new ClusterConnection(settings);
        NodeConnection first = connection.nodes.open();
        connection.writer = first;
        connection.current = first;
        return connection.proxy;
    }

    @Override
    public Connection proxy() {
        return proxy;
    }

    // ------------------------------------------------------------------------------------------ methods of Connection

    @Override
    public @Nullable Object invoke(Object self, Method method, @Nullable Object @Nullable [] arguments)
            throws SQLException {
        Object ofObject = Calls.ofObject(method, self, arguments, () -> "connection to " + settings.url() + ", at "
                + (current == null ? "no node" : current.node()));
        if (ofObject != null) {
            return ofObject;
        }
        return switch (method.getName()) {
            case "close" -> {
                close();
                yield null;
            }
            case "isClosed" ->
                closed;
            case "abort" -> {
                closed = true;
                abort(method, arguments);
                yield null;
            }
            case "isValid" ->
                alone(() -> isValid((Integer) Calls.argument(arguments, 0)));
            default -> {
                checkOpen();
                yield alone(() -> whileOpen(method, arguments));
            }
        };
    }

    /** Something that may fail. */
    private interface Action {
        @Nullable
        Object run() throws SQLException;
    }

    /** Does something that no other thread's work comes between. */
    private @Nullable Object alone(Action action) throws SQLException {
        lock.lock();
        try {
            return action.run();
        } finally {
            lock.unlock();
        }
    }

    private @Nullable Object whileOpen(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        switch (method.getName()) {
            case "isWrapperFor" -> {
                return ((Class<?>) Calls.argument(arguments, 0)).isInstance(proxy)
                        || Boolean.TRUE.equals(Calls.call(method, somewhere().connection(), arguments));
            }
            case "unwrap" -> {
                Class<?> face = (Class<?>) Calls.argument(arguments, 0);
                return face.isInstance(proxy)
                        ? proxy
                        : Calls.call(method, somewhere().connection(), arguments);
            }
            case "createStatement", "prepareStatement", "prepareCall" -> {
                return Statements.create(this, method, arguments);
            }
            case "getMetaData" -> {
                return Calls.proxy(DatabaseMetaData.class, new MetaDataHandler(this, settings.url()));
            }
            case "getAutoCommit" -> {
                return autoCommit;
            }
            case "setAutoCommit" -> {
                setAutoCommit((Boolean) Calls.argument(arguments, 0));
                return null;
            }
            case "isReadOnly" -> {
                return readOnly;
            }
            case "setReadOnly" -> {
                setReadOnly(method, arguments);
                return null;
            }
            case "commit" -> {
                commit();
                return null;
            }
            case "rollback" -> {
                rollback(method, arguments);
                return null;
            }
            case "setCatalog", "setClientInfo", "setHoldability", "setNetworkTimeout", "setSchema",
                    "setTransactionIsolation", "setTypeMap" -> {
                execute(null, true, on -> Calls.call(method, on.connection(), arguments));
                session.called(method, arguments);
                return null;
            }
            case "setSavepoint", "getSchema" -> {
                return execute(null, true, on -> Calls.call(method, on.connection(), arguments));
            }
            case "releaseSavepoint" -> {
                return execute(null, false, on -> Calls.call(method, on.connection(), arguments));
            }
            default -> {
                return Calls.call(method, somewhere().connection(), arguments);
            }
        }
    }

    private void checkOpen() throws SQLException {
        if (closed) {
            throw Failures.closed("connection");
        }
    }

    private void close() {
        closed = true;
        for (NodeConnection each : new NodeConnection[]{writer, reader}) {
            if (each != null) {
                each.discard();
            }
        }
    }

    private void abort(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        for (NodeConnection each : new NodeConnection[]{writer, reader}) {
            if (each != null && each.usable()) {
                Calls.call(method, each.connection(), arguments);
            }
        }
        close();
    }

    private boolean isValid(int timeout) throws SQLException {
        if (timeout < 0) {
            throw Failures.invalid("the timeout of isValid is negative: " + timeout);
        }
        if (closed) {
            return false;
        }
        NodeConnection on = current;
        if (on != null && on.usable() && on.connection().isValid(timeout)) {
            return true;
        }
        if (open || lost != null || session.pinnedBy() != null) {
            return false;
        }
        if (on != null) {
            given(on);
        }
        try {
            long wait = timeout == 0 ? settings.failoverNanos() : timeout * 1_000_000_000L;
            return forNextTransaction(System.nanoTime() + Math.min(wait, settings.failoverNanos())).connection()
                    .isValid(timeout);
        } catch (SQLException nobody) {
            return false;
        }
    }

    private void setAutoCommit(boolean wanted) throws SQLException {
        if (wanted == autoCommit) {
            return;
        }
        if (open || lost != null) {
            commit();
        }
        autoCommit = wanted;
        for (NodeConnection each : new NodeConnection[]{writer, reader}) {
            if (each != null && each.usable()) {
                each.connection().setAutoCommit(wanted);
            }
        }
    }

    private void setReadOnly(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        if (open) {
            throw new SQLException("the connection cannot become read-only, or cease to be, in a transaction", "25001");
        }
        boolean wanted = (Boolean) Calls.argument(arguments, 0);
        session.called(method, arguments);
        for (NodeConnection each : new NodeConnection[]{writer, reader}) {
            if (each != null && each.usable()) {
                each.connection().setReadOnly(wanted);
            }
        }
        readOnly = wanted;
    }

    // ------------------------------------------------------------------------------------------ work

    @Override
    public NodeConnection somewhere() throws SQLException {
        checkOpen();
        lock.lock();
        try {
            NodeConnection on = current;
            return open && on != null ? on : forNextTransaction(System.nanoTime() + settings.failoverNanos());
        } finally {
            lock.unlock();
        }
    }

    /** At another node if the one that it is on is lost and nothing prevents that. */
    @Override
    public @Nullable Object execute(@Nullable String sql, boolean repeatable, Work work) throws SQLException {
        return alone(() -> executeAlone(sql, repeatable, work));
    }

    private @Nullable Object executeAlone(@Nullable String sql, boolean repeatable, Work work) throws SQLException {
        checkOpen();
        SQLException before = lost;
        if (before != null) {
            if (sql == null || !ROLLS_BACK.matcher(sql).matches()) {
                throw Failures.retry(before.getMessage() + "; roll back, and run the transaction again", before);
            }
            lost = null;
        }
        long deadline = System.nanoTime() + settings.failoverNanos();
        while (true) {
            boolean begins = !open;
            NodeConnection on = begins ? atLevel(deadline) : somewhere();
            String transaction = on.transaction();
            try {
                Object result = work.on(on);
                executed(on, sql);
                return result;
            } catch (SQLException failure) {
                if (!on.lostBy(failure) && !Failures.refusedNow(failure)) {
                    open = on.inTransaction();
                    throw failure;
                }
                left(on, failure, begins, sql, transaction);
                if (!repeatable) {
                    throw Failures.retry(movedInVain(on), failure);
                }
                if (!Nodes.pause(deadline)) {
                    throw failure;
                }
            }
        }
    }

    private static String movedInVain(NodeConnection on) {
        return "the connection to node " + on.node() + " was lost, nothing was changed, and the statement cannot be"
                + " repeated because its parameters were streams";
    }

    private void executed(NodeConnection on, @Nullable String sql) {
        open = on.inTransaction();
        if (sql != null) {
            session.executed(sql, open);
        }
        seen.saw(on.position());
    }

    /** The node is lost, or does not serve; returns if what was asked of it may be asked of another one. */
    private void left(NodeConnection on, SQLException failure, boolean begins, @Nullable String sql,
            @Nullable String transaction) throws SQLException {
        boolean refused = Failures.refusedNow(failure) && !on.lostBy(failure);
        boolean byItself = begins && autoCommit;
        given(on);
        open = false;
        session.rolledBack();
        boolean harmless = sql == null || HARMLESS.matcher(sql).matches();
        boolean ends = sql != null && ENDS.matcher(sql).find();
        boolean again = begins && (refused || harmless || readOnly);
        if (!again && (byItself || ends)) {
            Resolution outcome = resolve(transaction);
            if (outcome == Resolution.COMMITTED && !(byItself && ends)) {
                throw Failures.inDoubt("the connection to node " + on.node() + " was lost when the transaction had"
                        + " committed; only its result is lost, so do not repeat it", failure);
            }
            if (outcome != Resolution.ABORTED) {
                // of several transactions in one text, only the first one's name is known
                throw unresolved(on, failure);
            }
            again = begins;
        } else if (!again) {
            again = begins || (readOnly && settings.moveReadOnly());
        }
        if (again) {
            checkPinned(failure);
            return;
        }
        SQLException retry = Failures.retry("node " + on.node() + (refused
                ? " does not accept changes at the moment"
                : " was lost") + ", and the transaction was rolled back: " + failure.getMessage(), failure);
        if (!autoCommit) {
            lost = retry;
        }
        throw retry;
    }

    private static SQLException unresolved(NodeConnection on, SQLException failure) {
        return Failures.inDoubt("the connection to node " + on.node() + " was lost while the transaction committed, and"
                + " no node could tell in time whether it has; look whether it has before repeating it", failure);
    }

    private void checkPinned(SQLException failure) throws SQLException {
        String reason = session.pinnedBy();
        if (reason != null) {
            close();
            throw Failures.sessionLost("the connection to the node was lost, and with it what this session had there"
                    + " alone, by: " + reason + "; open another connection", failure);
        }
    }

    /** Gives a connection up. */
    private void given(NodeConnection on) {
        on.node().failed(System.nanoTime());
        on.discard();
    }

    @Override
    public String translated(String sql, Target on) {
        return SequenceQuery.is(sql) && ((NodeConnection) on).transaction() != null
                ? "SELECT * FROM tutti.declared_sequences"
                : sql;
    }

    @Override
    public SQLException noticed(Target target, SQLException failure) {
        lock.lock();
        try {
            return noticedAlone((NodeConnection) target, failure);
        } finally {
            lock.unlock();
        }
    }

    private SQLException noticedAlone(NodeConnection on, SQLException failure) {
        if (!on.lostBy(failure) || on != current || !open) {
            return failure;
        }
        given(on);
        open = false;
        session.rolledBack();
        SQLException retry = Failures.retry("node " + on.node() + " was lost, and the transaction was rolled back: "
                + failure.getMessage(), failure);
        lost = autoCommit ? null : retry;
        return retry;
    }

    // ------------------------------------------------------------------------------------------ the end of transactions

    private void commit() throws SQLException {
        SQLException before = lost;
        if (before != null) {
            lost = null;
            throw before;
        }
        NodeConnection on = current;
        if (autoCommit || !open || on == null) {
            somewhere().connection().commit();
            return;
        }
        String transaction = on.transaction();
        try {
            on.connection().commit();
            open = on.inTransaction();
            session.committed();
            seen.saw(on.position());
        } catch (SQLException failure) {
            boolean gone = on.lostBy(failure);
            if (!gone) {
                open = on.inTransaction();
                session.rolledBack();
                if (!Failures.refusedNow(failure)) {
                    throw failure;
                }
            }
            given(on);
            open = false;
            Resolution outcome = !gone ? Resolution.ABORTED : readOnly ? Resolution.COMMITTED : resolve(transaction);
            switch (outcome) {
                case COMMITTED -> {
                    session.committed();
                    return;
                }
                case ABORTED -> {
                    session.rolledBack();
                    throw Failures.retry("node " + on.node() + " was lost before the transaction committed, and it was"
                            + " rolled back: " + failure.getMessage(), failure);
                }
                default ->
                    throw unresolved(on, failure);
            }
        }
    }

    private void rollback(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        if (arguments != null && arguments.length == 1) {
            Savepoint savepoint = (Savepoint) Calls.argument(arguments, 0);
            execute("ROLLBACK TO SAVEPOINT", false, on -> {
                on.connection().rollback(savepoint);
                return null;
            });
            return;
        }
        NodeConnection on = current;
        boolean wasLost = lost != null;
        lost = null;
        session.rolledBack();
        if (autoCommit) {
            Calls.call(method, somewhere().connection(), arguments);
        }
        if (wasLost || !open || on == null) {
            return;
        }
        try {
            on.connection().rollback();
            open = on.inTransaction();
        } catch (SQLException failure) {
            if (!on.lostBy(failure)) {
                open = on.inTransaction();
                throw failure;
            }
            // its transaction has ended with the session
            given(on);
            open = false;
        }
    }

    private Resolution resolve(@Nullable String transaction) throws SQLException {
        return transaction == null
                ? Resolution.UNKNOWN
                : Resolution.ask(nodes, transaction, System.nanoTime() + settings.resolveNanos());
    }

    // ------------------------------------------------------------------------------------------ nodes

    /** A connection on which the next transaction sees what the read level promises. */
    private NodeConnection atLevel(long deadline) throws SQLException {
        while (true) {
            NodeConnection on = forNextTransaction(deadline);
            boolean wait = switch (settings.readLevel()) {
                case LOCAL -> false;
                case SESSION, CAUSAL -> on.behind(seen.position());
                case LINEARIZABLE -> true;
            };
            if (!wait) {
                return on;
            }
            try {
                on.connection().setAutoCommit(true);
                try (Statement statement = on.connection().createStatement()) {
                    if (settings.readLevel() == Settings.ReadLevel.LINEARIZABLE) {
                        waitForAll(statement);
                    } else {
                        waitForSeen(on, statement);
                    }
                }
                on.connection().setAutoCommit(autoCommit);
                return on;
            } catch (SQLException failure) {
                if (!on.lostBy(failure) && !Failures.refusedNow(failure)) {
                    on.connection().setAutoCommit(autoCommit);
                    throw failure;
                }
                given(on);
                if (!Nodes.pause(deadline)) {
                    throw failure;
                }
            }
        }
    }

    private void waitForSeen(NodeConnection on, Statement statement) throws SQLException {
        long position = seen.position();
        try {
            statement.executeQuery("SELECT tutti_wait(" + position + ")").close();
        } catch (SQLException failure) {
            if (on.lostBy(failure)) {
                throw failure;
            }
            long visible = waitForAll(statement);
            if (visible < position) {
                seen.another(position, visible);
            }
        }
    }

    /** Returns the position that is visible then. */
    private static long waitForAll(Statement statement) throws SQLException {
        try (ResultSet reached = statement.executeQuery("SELECT tutti_wait()")) {
            reached.next();
            return reached.getLong(1);
        }
    }

    private NodeConnection forNextTransaction(long deadline) throws SQLException {
        NodeConnection first = writer;
        if (!readOnly || settings.routing() == Settings.ReadOnlyRouting.SAME || !nodes.several()) {
            NodeConnection on = first != null && first.usable() ? first : moved(deadline, first);
            writer = on;
            current = on;
            return on;
        }
        NodeConnection second = reader;
        if (second == null || !second.usable()) {
            boolean other = settings.routing() == Settings.ReadOnlyRouting.OTHER && first != null;
            second = other ? prepared(nodes.openUntil(deadline, first.node())) : moved(deadline, second);
            reader = second;
        }
        current = second;
        return second;
    }

    private NodeConnection moved(long deadline, @Nullable NodeConnection from) throws SQLException {
        if (from != null) {
            checkPinned(Failures.closed("session"));
            given(from);
        }
        return prepared(nodes.openUntil(deadline, from == null ? null : from.node()));
    }

    private NodeConnection prepared(NodeConnection opened) throws SQLException {
        boolean done = false;
        try {
            session.apply(opened.connection());
            opened.connection().setAutoCommit(autoCommit);
            done = true;
            return opened;
        } finally {
            if (!done) {
                opened.discard();
            }
        }
    }
}
