package tutti.bench;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.engine.jdbc.ClientSession;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.macro.distribution.MacroNode;
import tutti.macro.distribution.MacroTransaction;
import tutti.macro.distribution.TransactionConflictException;
import tutti.macroddb.SqlDatabase;
import tutti.session.EmbeddedSession;
import tutti.workload.tpcc.JdbcStatements;
import tutti.workload.tpcc.PortableTpcc;

/** The clients' sessions at the systems of {@link MacroSystem}. */
final class MacroSessions {
    private MacroSessions() {}

    /** A client's session: its statements, and the ends of its transactions. */
    interface Client extends AutoCloseable {
        PortableTpcc.Statements statements();

        /**
         * Says what the transaction that begins next will be.
         *
         * @param tables all that it touches
         */
        void begin(boolean readOnly, String tables) throws SQLException;

        void commit() throws SQLException;

        void rollback() throws SQLException;

        @Override
        void close() throws SQLException;
    }

    /** The engine itself. */
    record Bare(EmbeddedDatabase.Session session, PortableTpcc.Statements statements) implements Client {
        Bare(EmbeddedDatabase.Session session) {
            this(session, new JdbcStatements(session.connection()));
        }

        @Override
        public void begin(boolean readOnly, String tables) {
            // A transaction begins with its first statement.
        }

        @Override
        public void commit() throws SQLException {
            session.commit();
        }

        @Override
        public void rollback() throws SQLException {
            session.rollback();
        }

        @Override
        public void close() {
            session.close();
        }
    }

    /** A node; under a protocol with a primary, what may write goes there. */
    static final class OfNode implements Client {
        private final EmbeddedSession reads;
        private final EmbeddedSession writes;
        private final PortableTpcc.Statements statements;
        private EmbeddedSession session;

        /**
         * Two sessions, or the same twice.
         *
         * @param reads for transactions that only read
         */
        OfNode(EmbeddedSession reads, EmbeddedSession writes, boolean oneByOne) {
            this.reads = reads;
            this.writes = writes;
            session = writes;
            statements = new SessionStatements(this::run, oneByOne);
        }

        private <T extends @Nullable Object> T run(String sql, List<? extends @Nullable Object> parameters,
                ClientSession.Work<T> work) throws SQLException {
            return session.statement(sql, parameters, work);
        }

        @Override
        public PortableTpcc.Statements statements() {
            return statements;
        }

        @Override
        public void begin(boolean readOnly, String tables) throws SQLException {
            session = readOnly ? reads : writes;
            session.setReadOnly(readOnly);
            if (!readOnly && session.needsClasses()) {
                session.declare(tables);
            }
        }

        @Override
        public void commit() throws SQLException {
            session.commit();
        }

        @Override
        public void rollback() {
            session.rollback();
        }

        @Override
        public void close() {
            reads.close();
            if (!writes.equals(reads)) {
                writes.close();
            }
        }
    }

    /** Gives positions to the commits of a database without a node, one after the other. */
    static final class Positions {
        private long last;

        /** As for a node: one commit at a time, so that positions become visible in their order. */
        synchronized void commit(ClientSession session) throws SQLException {
            Waiting done = new Waiting();
            session.commit(++last, done);
            done.await();
        }
    }

    /** A MacroDB, or one engine, whose write sets are captured and go nowhere else. */
    record Local(ClientSession session, Positions positions, PortableTpcc.Statements statements) implements Client {
        Local(ClientSession session, Positions positions, boolean oneByOne) {
            this(session, positions, new SessionStatements(session::statement, oneByOne));
        }

        @Override
        public void begin(boolean readOnly, String tables) {
            session.setReadOnly(readOnly);
        }

        @Override
        public void commit() throws SQLException {
            if (session.capture().writes().isEmpty()) {
                session.commitUnchanged();
            } else {
                positions.commit(session);
                session.forget();
            }
        }

        @Override
        public void rollback() {
            session.forget();
        }

        @Override
        public void close() {
            session.close();
        }
    }

    /** Waits for a completion. */
    private static final class Waiting extends CompletableFuture<@Nullable Void> implements Completion<Void> {
        @Override
        public void succeeded(@Nullable Void nothing) {
            complete(null);
        }

        @Override
        public void failed(EngineFailure failure) {
            completeExceptionally(new SQLException(failure.message(), failure.sqlState()));
        }

        void await() throws SQLException {
            try {
                join();
            } catch (CompletionException failed) {
                throw failed.getCause() instanceof SQLException cause ? cause : new SQLException(failed.getCause());
            }
        }
    }

    /** A node of the distribution of Macro-components, with a database as its component. */
    static final class OfComponent implements Client {
        private final MacroNode node;
        private final String component;
        private final PortableTpcc.Statements statements;
        private @Nullable MacroTransaction<SqlDatabase> transaction;

        OfComponent(MacroNode node, String component, boolean oneByOne) {
            this.node = node;
            this.component = component;
            statements = new SessionStatements(this::run, oneByOne);
        }

        private MacroTransaction<SqlDatabase> open() {
            return Objects.requireNonNull(transaction, "a transaction has begun");
        }

        private <T extends @Nullable Object> T run(String sql, List<? extends @Nullable Object> parameters,
                ClientSession.Work<T> work) throws SQLException {
            return open().component().statement(sql, parameters, work);
        }

        @Override
        public PortableTpcc.Statements statements() {
            return statements;
        }

        @Override
        public void begin(boolean readOnly, String tables) throws SQLException {
            try {
                transaction = node.begin(component, SqlDatabase.class, readOnly);
            } catch (SQLException | RuntimeException failed) {
                throw failed;
            } catch (Exception unexpected) {
                throw new SQLException(unexpected);
            }
        }

        @Override
        public void commit() throws SQLException {
            try {
                open().commit();
            } catch (TransactionConflictException lost) {
                throw new SQLException(lost.getMessage(), "40001", lost);
            } catch (SQLException | RuntimeException | Error failed) {
                throw failed;
            } catch (Throwable unexpected) {
                throw new SQLException(unexpected);
            }
        }

        @Override
        public void rollback() {
            MacroTransaction<SqlDatabase> ended = transaction;
            transaction = null;
            if (ended != null) {
                ended.close();
            }
        }

        @Override
        public void close() {
            rollback();
        }
    }

    /** Where a statement of a session runs. */
    private interface Runner {
        <T extends @Nullable Object> T run(String sql, List<? extends @Nullable Object> parameters,
                ClientSession.Work<T> work) throws SQLException;
    }

    /** Statements by way of a session, which says on which connection. */
    private static final class SessionStatements implements PortableTpcc.Statements {
        private final Runner runner;
        /** Whether no batches are executed, since changes are told from each statement and its values. */
        private final boolean oneByOne;
        private final Map<Connection, JdbcStatements> there = new HashMap<>();

        SessionStatements(Runner runner, boolean oneByOne) {
            this.runner = runner;
            this.oneByOne = oneByOne;
        }

        private JdbcStatements on(Connection connection) {
            return there.computeIfAbsent(connection, JdbcStatements::new);
        }

        @Override
        public int update(String sql, @Nullable Object... parameters) throws SQLException {
            return runner.run(sql, Arrays.asList(parameters), connection -> on(connection).update(sql, parameters));
        }

        @Override
        public void batch(String sql, List<@Nullable Object[]> parameters) throws SQLException {
            if (oneByOne) {
                for (@Nullable
                Object[] each : parameters) {
                    int _ = update(sql, each);
                }
                return;
            }
            runner.run(sql, List.of(), connection -> {
                on(connection).batch(sql, parameters);
                return null;
            });
        }

        @Override
        public List<PortableTpcc.Row> query(String sql, @Nullable Object... parameters) throws SQLException {
            return runner.run(sql, Arrays.asList(parameters), connection -> on(connection).query(sql, parameters));
        }
    }
}
