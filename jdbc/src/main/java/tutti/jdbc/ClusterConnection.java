package tutti.jdbc;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLClientInfoException;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.Objects;
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
    private static final Pattern ENDS = Pattern.compile("(?:COMMIT|END|PREPARE\\s+TRANSACTION)\\b.*",
            Pattern.CASE_INSENSITIVE | Pattern.DOTALL);
    private static final Pattern ROLLS_BACK = Pattern.compile("(?:ROLLBACK|ABORT)\\b(?!.*\\bTO\\b).*",
            Pattern.CASE_INSENSITIVE | Pattern.DOTALL);
    /** A query without functions, so without effects. */
    private static final Pattern HARMLESS = Pattern.compile(
            "(?:SELECT|VALUES|TABLE|SHOW)\\b(?!.*\\bINTO\\b)[^(;]*", Pattern.CASE_INSENSITIVE | Pattern.DOTALL);
    /** What may be said in a transaction that was begun read-only, so that it, or another one in its place, is not. */
    private static final Pattern MAY_WRITE = Pattern.compile(
            "\\bREAD\\s+WRITE\\b|_read_only\\b|\\bBEGIN\\b|\\bSTART\\s+TRANSACTION\\b", Pattern.CASE_INSENSITIVE);

    private final Settings settings;
    private final Connection proxy;
    private final SessionSettings session = new SessionSettings();
    private final ConnectedNodes nodes;
    private final ReentrantLock lock = new ReentrantLock();
    /** The open transaction is one that the node lets change nothing: it has no part in the order, and no outcome. */
    private boolean readsOnly;
    /** The node of the open transaction was lost, and the application has not ended it yet. */
    private @Nullable SQLException lost;

    private ClusterConnection(Settings settings) {
        this.settings = settings;
        this.nodes = new ConnectedNodes(settings, session);
        this.proxy = Calls.proxy(Connection.class, this);
    }

    /** Connects. */
    static Connection open(Settings settings) throws SQLException {
        ClusterConnection connection = new ClusterConnection(settings);
        connection.nodes.connect();
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
                + nodes);
        if (ofObject != null) {
            return ofObject;
        }
        return switch (method.getName()) {
            case "close" -> {
                nodes.close();
                yield null;
            }
            case "isClosed" ->
                nodes.closed();
            case "abort" -> {
                if (arguments == null || arguments[0] == null) {
                    throw Failures.invalid("abort needs an executor");
                }
                nodes.abort(method, arguments);
                yield null;
            }
            case "setClientInfo" -> {
                setClientInfo(method, arguments);
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

    /** JDBC lets it fail with one kind of exception only. */
    private void setClientInfo(Method method, @Nullable Object @Nullable [] arguments) throws SQLClientInfoException {
        try {
            checkOpen();
            alone(() -> whileOpen(method, arguments));
        } catch (SQLClientInfoException failure) {
            throw failure;
        } catch (SQLException failure) {
            throw new SQLClientInfoException(failure.getMessage(), failure.getSQLState(), failure.getErrorCode(),
                    Map.of(), failure);
        }
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
                if (face.isInstance(proxy)) {
                    return proxy;
                }
                checkNotLost();
                return Calls.call(method, somewhere().connection(), arguments);
            }
            case "createStatement", "prepareStatement", "prepareCall" -> {
                return Statements.create(this, method, arguments);
            }
            case "getMetaData" -> {
                return Calls.proxy(DatabaseMetaData.class, new MetaDataHandler(this, settings.url()));
            }
            case "getAutoCommit" -> {
                return nodes.autoCommit();
            }
            case "setAutoCommit" -> {
                setAutoCommit((Boolean) Calls.argument(arguments, 0));
                return null;
            }
            case "isReadOnly" -> {
                return nodes.readOnly();
            }
            case "setReadOnly" -> {
                setReadOnly((Boolean) Calls.argument(arguments, 0));
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
                session.called(method, arguments, open());
                return null;
            }
            case "setSavepoint" -> {
                return execute(null, true, on -> Calls.call(method, on.connection(), arguments));
            }
            case "releaseSavepoint" -> {
                return execute(null, false, on -> Calls.call(method, on.connection(), arguments));
            }
            default -> {
                return ask(on -> Calls.call(method, on.connection(), arguments));
            }
        }
    }

    /**
     * Whether a transaction is open at the current node, or was when that was lost and nobody had noticed yet. As pgjdbc has it,
     * since it begins some itself, as for COPY.
     */
    private boolean open() {
        NodeConnection on = nodes.current();
        return on != null && on.inTransaction();
    }

    private void checkOpen() throws SQLException {
        if (nodes.closed()) {
            throw Failures.closed("connection");
        }
    }

    private void checkNotLost() throws SQLException {
        SQLException before = lost;
        if (before != null) {
            throw Failures.retry(before.getMessage() + "; roll back, and run the transaction again", before);
        }
    }

    private boolean isValid(int timeout) throws SQLException {
        if (timeout < 0) {
            throw Failures.invalid("the timeout of isValid is negative: " + timeout);
        }
        if (nodes.closed()) {
            return false;
        }
        NodeConnection on = nodes.current();
        if (on != null && on.usable() && answers(on, timeout)) {
            return true;
        }
        if (open() || lost != null || session.pinnedBy() != null) {
            return false;
        }
        if (on != null) {
            nodes.giveUp(on);
        }
        try {
            long wait = timeout == 0 ? settings.failoverNanos() : timeout * 1_000_000_000L;
            return answers(nodes.forNextTransaction(System.nanoTime() + Math.min(wait, settings.failoverNanos())),
                    timeout);
        } catch (SQLException nobody) {
            return false;
        }
    }

    private boolean answers(NodeConnection on, int timeout) {
        Work question = target -> target.connection().isValid(timeout);
        try {
            return Boolean.TRUE.equals(
                    on.inTransaction() ? waited(on, () -> question.on(on)) : nodes.aside(on, question));
        } catch (SQLException lost) {
            return false;
        }
    }

    private void setAutoCommit(boolean wanted) throws SQLException {
        if (wanted == nodes.autoCommit()) {
            return;
        }
        if (open() || lost != null) {
            commit();
        }
        nodes.setAutoCommit(wanted);
    }

    private void setReadOnly(boolean wanted) throws SQLException {
        if (open()) {
            throw new SQLException("the connection cannot become read-only, or cease to be, in a transaction", "25001");
        }
        nodes.setReadOnly(wanted);
    }

    // ------------------------------------------------------------------------------------------ work

    @Override
    public NodeConnection somewhere() throws SQLException {
        checkOpen();
        lock.lock();
        try {
            NodeConnection on = nodes.current();
            return on != null && on.inTransaction()
                    ? on
                    : nodes.forNextTransaction(System.nanoTime() + settings.failoverNanos());
        } finally {
            lock.unlock();
        }
    }

    /** At another node if the one that it is on is lost and nothing prevents that. */
    @Override
    public @Nullable Object execute(@Nullable String sql, boolean repeatable, Work work) throws SQLException {
        return alone(() -> executeAlone(sql, repeatable, work));
    }

    /** Asks something that begins no transaction, in the open one if there is one. */
    @Nullable
    Object ask(Work work) throws SQLException {
        return alone(() -> askAlone(work));
    }

    private @Nullable Object askAlone(Work work) throws SQLException {
        Nodes.Pauses pauses = new Nodes.Pauses(System.nanoTime() + settings.failoverNanos());
        while (!open()) {
            NodeConnection on = somewhere();
            try {
                return nodes.aside(on, work);
            } catch (SQLException failure) {
                if (!on.lostBy(failure)) {
                    throw failure;
                }
                nodes.giveUp(on);
                if (!pauses.next()) {
                    throw failure;
                }
            }
        }
        return executeAlone(null, true, work);
    }

    private @Nullable Object executeAlone(@Nullable String sql, boolean repeatable, Work work) throws SQLException {
        checkOpen();
        if (lost != null && sql != null
                && SqlText.statements(sql).stream().limit(1).anyMatch(ROLLS_BACK.asMatchPredicate())) {
            lost = null;
        }
        checkNotLost();
        long deadline = System.nanoTime() + settings.failoverNanos();
        Nodes.Pauses pauses = new Nodes.Pauses(deadline);
        while (true) {
            boolean begins = !open();
            NodeConnection on = begins ? nodes.atLevel(deadline) : somewhere();
            readsOnly = (begins ? nodes.beginsReadOnly() : readsOnly)
                    && (sql == null || !MAY_WRITE.matcher(sql).find());
            String transaction = on.transaction();
            boolean failed = on.inFailedTransaction();
            try {
                Object result = waited(on, () -> work.on(on));
                executed(on, failed, sql);
                return result;
            } catch (SQLException failure) {
                if (!on.lostBy(failure) && !Failures.refusedNow(failure)) {
                    if (!open()) {
                        readsOnly = false;
                        session.rolledBack();
                    }
                    throw failure;
                }
                left(on, failure, begins, sql, transaction);
                if (!repeatable) {
                    throw Failures.retry(movedInVain(on), failure);
                }
                if (!pauses.next()) {
                    throw failure;
                }
            }
        }
    }

    /** Does something that waits for a node, and fails as if the connection were lost when the node says nothing any more. */
    private static @Nullable Object waited(NodeConnection on, Action action) throws SQLException {
        SilentNodes.Waiting waiting = on.waits();
        try {
            return action.run();
        } finally {
            waiting.close();
        }
    }

    private static String movedInVain(NodeConnection on) {
        return "the connection to node " + on.node() + " was lost, nothing was changed, and what failed cannot be"
                + " repeated: its parameters were streams, or it was called on something that was at that node alone";
    }

    /** @param failed whether the transaction had failed before, so that its end, whatever it is called, rolls it back */
    private void executed(NodeConnection on, boolean failed, @Nullable String sql) {
        boolean open = on.inTransaction();
        readsOnly &= open;
        if (failed && !open) {
            session.rolledBack();
        } else if (sql != null) {
            session.executed(sql, open);
        }
        nodes.saw(on.position());
    }

    /** The node is lost, or does not serve; returns if what was asked of it may be asked of another one. */
    private void left(NodeConnection on, SQLException failure, boolean begins, @Nullable String sql,
            @Nullable String transaction) throws SQLException {
        boolean refused = Failures.refusedNow(failure) && !on.lostBy(failure);
        boolean byItself = begins && nodes.autoCommit();
        nodes.giveUp(on);
        session.rolledBack();
        if (byItself && failure instanceof BatchUpdateException batch && partly(on, batch, refused, transaction)) {
            throw refused
                    ? batch
                    : Failures.inDoubt(batch, "the connection to node " + on.node() + " was lost when some of the"
                            + " batch's transactions had committed, or may have; look which have before repeating"
                            + " anything, or turn auto-commit off for batches");
        }
        List<String> statements = sql == null ? List.of("") : SqlText.statements(sql);
        boolean harmless = sql == null || (statements.size() == 1 && HARMLESS.matcher(statements.get(0)).matches());
        boolean ends = statements.isEmpty() || statements.stream().anyMatch(ENDS.asMatchPredicate());
        // of a text with a COMMIT of its own, what precedes that has taken effect
        boolean nothingDone = refused && !(byItself && ends);
        boolean again = begins && (nothingDone || harmless);
        if (!again && (byItself || ends)) {
            Resolution outcome = nodes.resolve(transaction);
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
            again = begins || (readsOnly && settings.moveReadOnly());
        }
        if (again) {
            nodes.checkPinned(failure);
            return;
        }
        SQLException retry = Failures.retry("node " + on.node() + (refused
                ? " does not accept changes at the moment"
                : " was lost") + ", and the transaction was rolled back: " + failure.getMessage(), failure);
        if (!nodes.autoCommit()) {
            lost = retry;
        }
        throw retry;
    }

    /** Whether some of a batch has committed, or may have: it is several transactions if it is long, or sent as simple queries. */
    private boolean partly(NodeConnection on, BatchUpdateException batch, boolean refused,
            @Nullable String transaction) {
        long[] counts = batch.getLargeUpdateCounts();
        boolean told = counts.length > 0 && counts[0] != Statement.EXECUTE_FAILED;
        // the name of what was refused is over, too
        return told || session.separateRequests()
                || (refused ? on.simpleQueries() : !Objects.equals(transaction, on.transaction()));
    }

    private static SQLException unresolved(NodeConnection on, SQLException failure) {
        return Failures.inDoubt("the connection to node " + on.node() + " was lost while the transaction committed, and"
                + " no node could tell in time whether it has; look whether it has before repeating it", failure);
    }

    @Override
    public String translated(String sql, Target on) {
        return SequenceQuery.is(sql) && ((NodeConnection) on).transaction() != null
                ? "SELECT * FROM tutti.declared_sequences"
                : sql;
    }

    /** By a statement of pgjdbc's own, which commits by itself with auto-commit on. */
    @Override
    public @Nullable Object changeResults(Target of, Work work) throws SQLException {
        return execute("", false, on -> {
            if (!Objects.equals(on, of)) {
                throw new SQLException(
                        "the rows are of a session that was left, and cannot be changed through this result"
                                + " set any more",
                        "24000");
            }
            return work.on(on);
        });
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
        if (!on.lostBy(failure) || on != nodes.current() || !open()) {
            return failure;
        }
        nodes.giveUp(on);
        session.rolledBack();
        SQLException retry = Failures.retry("node " + on.node() + " was lost, and the transaction was rolled back: "
                + failure.getMessage(), failure);
        lost = nodes.autoCommit() ? null : retry;
        return retry;
    }

    // ------------------------------------------------------------------------------------------ the end of transactions

    private void commit() throws SQLException {
        boolean onlyRead = readsOnly;
        readsOnly = false;
        SQLException before = lost;
        if (before != null) {
            lost = null;
            throw before;
        }
        NodeConnection on = nodes.current();
        if (nodes.autoCommit() || on == null || !on.inTransaction()) {
            somewhere().connection().commit();
            return;
        }
        String transaction = on.transaction();
        boolean failed = on.inFailedTransaction();
        try {
            waited(on, () -> {
                on.connection().commit();
                return null;
            });
            if (failed) {
                session.rolledBack();
            } else {
                session.committed();
            }
            nodes.saw(on.position());
        } catch (SQLException failure) {
            boolean gone = on.lostBy(failure);
            if (!gone) {
                session.rolledBack();
                if (!Failures.refusedNow(failure)) {
                    throw failure;
                }
            }
            nodes.giveUp(on);
            Resolution outcome = !gone
                    ? Resolution.ABORTED
                    : onlyRead ? Resolution.COMMITTED : nodes.resolve(transaction);
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
        NodeConnection on = nodes.current();
        lost = null;
        readsOnly = false;
        session.rolledBack();
        if (nodes.autoCommit()) {
            Calls.call(method, somewhere().connection(), arguments);
        }
        if (on == null || !on.inTransaction()) {
            return;
        }
        try {
            waited(on, () -> {
                on.connection().rollback();
                return null;
            });
        } catch (SQLException failure) {
            if (!on.lostBy(failure)) {
                throw failure;
            }
            // its transaction has ended with the session
            nodes.giveUp(on);
        }
    }
}
