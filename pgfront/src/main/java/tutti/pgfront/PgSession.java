package tutti.pgfront;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.ZoneId;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;
import tutti.engine.jdbc.ClientSession;
import tutti.node.Transactions;
import tutti.node.trace.SessionTrace;
import tutti.pgfront.PgStatement.Kind;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.session.EmbeddedSession;
import tutti.session.BlockingCompletion;
import tutti.session.LostTransaction;
import tutti.wire.ClusterQuestion;
import tutti.wire.JavaRequests;
import tutti.wire.LoggedRequests;
import tutti.wire.ShownToAll;

/**
 * A client's transactions as PostgreSQL has them, over a session that knows transactions only: statements outside of a
 * block make a transaction up to the next Sync or the end of the query; in a block that has failed nothing but its end
 * is executed. One thread, except {@link #cancel}.
 */
final class PgSession implements AutoCloseable {
    private final Transactions node;
    private final EmbeddedSession session;
    private final PgCatalog catalog;
    private final NamedObjects kept;
    private final SessionParameters parameters;
    private final Clock clock;
    private final Cancellation cancellation = new Cancellation();
    private final IdentityHashMap<Connection, String> schemas = new IdentityHashMap<>();
    private byte status = Backend.IDLE;
    private int savepoints;
    private boolean readOnly;
    private @Nullable String cancelled;
    private volatile Runnable cancelsToo = () -> {};
    /** What the next transaction outside of a block consists of, if that is known. */
    private @Nullable String alone;
    private @Nullable Connection catalogConnection;
    private @Nullable TransactionId reportedName;
    private long reportedPosition = -1;
    /** Of what was executed last; null if the client has been told, or there is nothing. */
    private @Nullable ErrorFields notice;
    private Commits commits = new Commits() {
        @Override
        public boolean may() {
            return true;
        }

        @Override
        public void done() {
            // nobody wants to know
        }

        @Override
        public boolean mayBook() {
            return false;
        }

        @Override
        public void asks(TransactionId run) {
            // nothing is booked
        }
    };
    private final LastStatement last;
    private final ReadLevels readLevel;
    private final OwnerStatements owners;

    /** Hears of the ends of transactions. */
    interface Commits {
        /** What has been executed may be committed; otherwise it is rolled back, as one that has lost. */
        boolean may();

        /** Something has taken effect. */
        void done();

        /** Whether the transaction could begin anew before it looks at what is to be booked. */
        boolean mayBook();

        /** This run is about to ask to commit. */
        void asks(TransactionId run);
    }

    /** Does something later. */
    @FunctionalInterface
    interface Clock {
        /** Has a task run after that many milliseconds, on any thread; what is answered keeps it from being run. */
        Runnable after(long millis, Runnable task);
    }

    PgSession(Transactions node, EmbeddedSession session, PgCatalog catalog, SessionParameters parameters,
            JavaRequests java, Clock clock, NamedObjects kept) {
        this.kept = kept;
        this.clock = clock;
        this.node = node;
        this.session = session;
        this.last = new LastStatement(node, session);
        this.owners = new OwnerStatements(node, session, parameters, java);
        this.catalog = catalog;
        this.parameters = parameters;
        this.readLevel = new ReadLevels(node, parameters);
    }

    /** What the client has by name. */
    NamedObjects kept() {
        return kept;
    }

    /** As ReadyForQuery tells it. */
    byte status() {
        return status;
    }

    /** Who hears of the ends of transactions. */
    void tells(Commits who) {
        commits = who;
    }

    /** Who is told of transactions in case they are followed. */
    void followedBy(SessionTrace follows) {
        session.followedBy(follows);
    }

    /** Whether a transaction has looked at the database, and is open. */
    boolean inTransaction() {
        return session.inTransaction();
    }

    /** Whether neither a transaction is open nor a block. */
    boolean isOutside() {
        return status == Backend.IDLE && !session.inTransaction();
    }

    /**
     * What is known of the transaction that has failed because of others.
     *
     * @return null if it cannot be run again
     */
    LostTransaction.@Nullable Loss loss(SQLException failed) {
        return last.loss(failed);
    }

    /** What was executed last has answered something else than its client has seen. */
    void seenInVain() {
        last.seenInVain();
    }

    /** Waits until nobody at this node holds rows that were lost, or the time is over. */
    void awaitFree(long[] rows, long millis) throws InterruptedException {
        session.awaitFree(rows, millis);
    }

    /** The transaction that is lost is rolled back; its client has not heard of that, and will say the same again. */
    void runAgain(SQLException failed) {
        if (last.isFirst(failed)) {
            session.rollback();
        } else {
            session.runAgain();
        }
        ended(false);
    }

    /** The client is about to hear that its block has failed, of which nothing is left. */
    void failBlock() {
        parameters.begin();
        status = Backend.FAILED;
    }

    private boolean commitOpen() throws SQLException {
        if (!session.inTransaction()) {
            return session.commit();
        }
        if (!commits.may()) {
            throw new SQLException("a transaction that was run again has come to something else", "40001");
        }
        commits.asks(session.run());
        boolean changed = session.commit();
        commits.done();
        return changed;
    }

    SessionParameters parameters() {
        return parameters;
    }

    ReadLevels readLevel() {
        return readLevel;
    }

    ZoneId zone() {
        return parameters.zone();
    }

    /** Why the last statement was cancelled, or null. */
    @Nullable
    String cancelled() {
        return cancelled;
    }

    /** What else a client cancels. */
    void whenCancelled(Runnable task) {
        cancelsToo = task;
    }

    /** From any thread: cancels what is executed now, or waits to be run again. */
    void cancel() {
        cancellation.ask();
        cancelsToo.run();
    }

    /**
     * Before a statement.
     *
     * @throws SQLException with {@code 25P02} if the transaction has failed and this does not end it
     */
    void check(PgStatement statement) throws SQLException {
        cancelled = null;
        if (status == Backend.FAILED && !statement.kind().endsFailure()) {
            throw new SQLException(
                    "current transaction is aborted, commands ignored until end of transaction block", "25P02");
        }
        if (statement.kind() == Kind.REFUSED) {
            throw new SQLException(statement.refusal(),
                    statement.refusal().startsWith(PgStatement.SYNTAX_ERROR) ? "42601" : "0A000");
        }
    }

    // ------------------------------------------------------------------------------------------ cluster

    /**
     * What has changed of what clients are told that have asked for it: the name of the next transaction, and the visible
     * position. To be sent before the client hears of the end of what it is doing, so that it never takes the name of a
     * transaction that has ended for that of the next one.
     */
    Map<String, String> report() {
        Map<String, String> told = new TreeMap<>();
        if (!parameters.reports()) {
            return told;
        }
        TransactionId name = session.nextName();
        if (name != null && !name.equals(reportedName)) {
            reportedName = name;
            told.put("tutti.transaction", node.names().of(name));
        }
        long position = node.visiblePosition();
        if (position != reportedPosition) {
            reportedPosition = position;
            told.put("tutti.position", Long.toString(position));
        }
        return told;
    }

    /**
     * Has the node answer a question.
     *
     * @throws SQLException with {@code 25001} if it is about what is visible, and the transaction block has its snapshot; and with what the node says if it
     *             cannot tell
     */
    ClusterQuestion.Answer ask(ClusterQuestion question) throws SQLException {
        if (status != Backend.IDLE && session.inTransaction() && question.number()) {
            throw new SQLException(question.column()
                    + " comes too late in a transaction that has looked at the database: call it before BEGIN, or first in the block",
                    "25001");
        }
        if (status == Backend.IDLE) {
            commitOpen();
        }
        BlockingCompletion<ClusterQuestion.Answer> answer = new BlockingCompletion<>();
        question.ask(node, answer);
        return answer.await();
    }

    // ------------------------------------------------------------------------------------------ statements

    /** Prepares a statement. */
    Prepared prepare(PgStatement statement, int[] declared) throws SQLException {
        Prepared prepared = new Prepared(statement, declared);
        boolean described = false;
        try {
            if (statement.kind() == Kind.CATALOG) {
                prepared.describe(catalogConnection());
            } else {
                run(true, connection -> {
                    prepared.describe(connection);
                    return null;
                });
            }
            described = true;
            return prepared;
        } finally {
            if (!described) {
                prepared.close();
            }
        }
    }

    /** Executes a prepared statement. */
    Rows execute(Prepared prepared, @Nullable Object[] values, short[] formats) throws SQLException {
        if (prepared.statement().kind() == Kind.CATALOG) {
            Runnable ended = limited();
            try {
                return prepared.execute(catalogConnection(), values, formats, zone(), cancellation, kept.results());
            } finally {
                ended.run();
            }
        }
        PgStatement statement = prepared.statement();
        parameters.count();
        last.is(statement, values);
        if (status == Backend.IN_TRANSACTION && !readOnly && node.wantsAny() && commits.mayBook()) {
            last.isBooked();
        }
        if (owners.take(statement, status == Backend.IDLE, alone)) {
            commits.done();
            Rows rows = owners.execute(statement, last.values());
            shownToAll(rows.count() > 0);
            String ticket = rows.ticket();
            if (ticket != null) {
                notice = LoggedRequests.notice(ticket);
            }
            return rows;
        }
        return run(false, connection -> prepared.execute(connection, values, formats, zone(), cancellation,
                kept.results()));
    }

    /** Refuses rows that a client copies and wants to be logged as a request: they come one by one. */
    void copies() throws SQLException {
        if (status == Backend.IDLE) {
            owners.refuseLogged("COPY sends its rows one by one");
        }
    }

    /**
     * Runs something in the transaction.
     *
     * @param looks whether it only looks at the schema
     */
    private <T extends @Nullable Object> T run(boolean looks, ClientSession.Work<T> work) throws SQLException {
        if (status == Backend.IDLE && !session.inTransaction()) {
            session.setReadOnly(parameters.readOnlyByDefault());
        }
        if (!looks || node.executesAtOnce()) {
            // even a look at the schema may begin the transaction, and take its snapshot
            readLevel.await(session.inTransaction());
        }
        Runnable ended = limited();
        try {
            ClientSession.Work<T> there = connection -> {
                setSchema(connection);
                return work.run(connection);
            };
            String whole = status == Backend.IDLE ? alone : null;
            if (looks) {
                return session.aside(there);
            }
            return whole == null ? session.statement(there) : session.alone(whole, there);
        } finally {
            ended.run();
        }
    }

    /** A statement begins that may be cancelled, also by its limit of time; to be run when it has ended. */
    private Runnable limited() {
        long which = cancellation.begin();
        long millis = parameters.statementTimeoutMillis();
        Runnable stop = millis == 0 ? () -> {} : clock.after(millis, () -> cancellation.late(which));
        return () -> {
            stop.run();
            cancelled = cancellation.end();
        };
    }

    /** Whether it must be known beforehand what the transaction touches that the next statement begins outside of a block. */
    boolean needsToKnow() {
        return status == Backend.IDLE && session.needsClasses() && !session.inTransaction();
    }

    /**
     * Says what the next transaction outside of a block consists of.
     *
     * @param sql all its statements; null if they are not known yet
     */
    void alone(@Nullable String sql) {
        alone = sql;
    }

    /**
     * Says which tables the block will touch.
     *
     * @throws SQLException with {@code 25001} outside of a block and behind its first statement
     */
    void declare(String tables) throws SQLException {
        if (session.needsClasses() && status != Backend.IN_TRANSACTION) {
            throw new SQLException("tutti.classes must be set by the first statement of a transaction block", "25001");
        }
        session.declare(tables);
    }

    private void setSchema(Connection connection) throws SQLException {
        String wanted = parameters.schema();
        String present = schemas.get(connection);
        if (!wanted.equals(present == null ? "PUBLIC" : present)) {
            connection.setSchema(wanted);
            schemas.put(connection, wanted);
        }
    }

    private Connection catalogConnection() throws SQLException {
        Connection open = catalogConnection;
        if (open == null) {
            open = catalog.connect();
            catalogConnection = open;
        }
        catalog.refresh();
        return open;
    }

    /** Has all replicas execute a schema change. What stands outside of a block before it is committed first. */
    void schema(PgStatement statement) throws SQLException {
        if (status != Backend.IDLE) {
            throw new SQLException(statement.tag() + " cannot run inside a transaction block: schema changes commit by"
                    + " themselves in this node's database; send it outside of a block", "25001");
        }
        commitOpen();
        setSchema(session.connection());
        commits.done();
        session.everywhere(statement.sql());
        shownToAll(true);
    }

    /** Savepoints. */
    void savepoint(PgStatement statement) throws SQLException {
        if (status == Backend.IDLE) {
            throw new SQLException(statement.tag() + " can only be used in transaction blocks", "25P01");
        }
        if (status == Backend.FAILED && savepoints == 0) {
            throw new SQLException("there is no savepoint to roll back to: roll back the transaction", "3B001");
        }
        run(false, connection -> {
            try (var there = connection.createStatement()) {
                there.execute(statement.sql());
            }
            return null;
        });
        if (statement.kind() == Kind.SAVEPOINT) {
            savepoints++;
        } else if (statement.kind() == Kind.ROLLBACK_TO) {
            status = Backend.IN_TRANSACTION;
        }
    }

    // ------------------------------------------------------------------------------------------ transactions

    /**
     * Begins a block.
     *
     * @return whether it has begun; false if there is one already
     */
    boolean begin(List<Token> options) throws SQLException {
        if (status != Backend.IDLE) {
            return false;
        }
        readOnly = parameters.readOnlyByDefault();
        if (!session.inTransaction()) {
            session.setReadOnly(readOnly);
        }
        parameters.begin();
        try {
            parameters.set("transaction_read_only", readOnly ? "on" : "off", true);
            characteristics(options);
        } catch (SQLException refused) {
            parameters.end(false);
            throw refused;
        }
        status = Backend.IN_TRANSACTION;
        savepoints = 0;
        return true;
    }

    /** What begins another block like the present one. */
    String another() throws SQLException {
        return "begin isolation level " + parameters.show("transaction_isolation")
                + (readOnly ? " read only" : " read write");
    }

    /** Isolation and access mode of the block. */
    void characteristics(List<Token> options) throws SQLException {
        for (int i = 0; i < options.size(); i++) {
            Token token = options.get(i);
            if (token.is("serializable")) {
                requireSerializable();
                parameters.set("transaction_isolation", "serializable", true);
            }
            if (token.is("read") && i + 1 < options.size() && options.get(i + 1).is("only")) {
                access(true);
            } else if (token.is("read") && i + 1 < options.size() && options.get(i + 1).is("write")) {
                access(false);
            }
        }
    }

    /**
     * Fails if transactions are not serializable.
     *
     * @throws SQLException with {@code 0A000}
     */
    void requireSerializable() throws SQLException {
        if (!session.serializable()) {
            throw new SQLException("the cluster's protocol guarantees snapshot isolation, not SERIALIZABLE: use"
                    + " REPEATABLE READ, or a cluster whose protocol is serializable, such as dbsm", "0A000");
        }
    }

    private void access(boolean only) throws SQLException {
        if (session.inTransaction() && readOnly && !only) {
            throw new SQLException("transaction read-write mode must be set before any query", "25001");
        }
        readOnly = only;
        session.setReadOnly(only);
        parameters.set("transaction_read_only", only ? "on" : "off", true);
    }

    /**
     * Commits the block.
     *
     * @return whether it was committed; false if it had failed, and has been rolled back
     */
    boolean commit() throws SQLException {
        if (status == Backend.FAILED) {
            rollback();
            return false;
        }
        try {
            shownToAll(commitOpen());
            ended(true);
        } catch (SQLException failed) {
            session.rollback();
            ended(false);
            throw failed;
        }
        return true;
    }

    /** Rolls back whatever there is. */
    void rollback() {
        session.rollback();
        ended(false);
    }

    private void ended(boolean committed) {
        status = Backend.IDLE;
        savepoints = 0;
        parameters.end(committed);
    }

    /** Commits what has been executed outside of a block, if something has. */
    void commitImplicit() throws SQLException {
        if (status == Backend.IDLE) {
            shownToAll(commitOpen());
            if (parameters.setForNothing()) {
                notice = ErrorFields.of("WARNING", "25P01", "SET LOCAL can only be used in transaction blocks");
            }
            parameters.end(true);
        }
    }

    private void shownToAll(boolean changed) throws SQLException {
        if (changed && parameters.applied()) {
            Set<Integer> missing = session.awaitElsewhere(ShownToAll.PATIENCE_NANOS);
            notice = missing.isEmpty() ? null : ShownToAll.warning(missing);
        }
    }

    /** What the client is to be told or warned of, once; null if that is nothing. */
    @Nullable
    ErrorFields notice() {
        ErrorFields told = notice;
        notice = null;
        return told;
    }

    /** A statement has failed. */
    void failed() {
        if (status == Backend.IDLE) {
            session.rollback();
            parameters.end(false);
        } else {
            status = Backend.FAILED;
            if (savepoints == 0) {
                session.rollback();
            }
        }
    }

    @Override
    public void close() {
        session.close();
        Connection open = catalogConnection;
        if (open != null) {
            try {
                open.close();
            } catch (SQLException closed) {
                // The catalog is gone, and it with it.
            }
        }
    }
}
