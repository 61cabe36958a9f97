package tutti.cli.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import tutti.cli.Failure;
import tutti.core.protocol.Protocols;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.Order.TruncatedException;
import tutti.engine.jdbc.ClientEngine;
import tutti.engine.jdbc.ClientSession;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.JdbcEngine;
import tutti.engine.jdbc.h2.H2Database;
import tutti.engine.jdbc.hsqldb.HsqldbDatabase;
import tutti.engine.macro.MacroDb;
import tutti.node.ReplicaNode;
import tutti.node.embedded.EmbeddedSession;
import tutti.node.metrics.NodeMetrics;
import tutti.order.local.LocalOrderGroup;
import tutti.workload.tpcc.JdbcStatements;
import tutti.workload.tpcc.PortableTpcc;
import tutti.workload.tpcc.TpccLoader;
import tutti.workload.tpcc.TpccPopulation;

/**
 * One of the systems that the MacroDDB thesis compares, in this virtual machine, loaded with TPC-C: the bare engine; a
 * MacroDB without nodes; nodes with MacroDBs over a total order in this process.
 */
final class MacroSystem implements AutoCloseable {
    private static final int TRANSACTION_BYTES_MAX = 32 << 20;
    private static final long SECONDS_MAX = 60;

    /**
     * What to measure.
     *
     * @param label for tables
     * @param nodes 0 for a database without replication between nodes
     * @param replicas databases of each node, or of the MacroDB; 0 for the bare engine
     */
    record Kind(String label, int nodes, int replicas) {}

    /** A client's session: its statements, and the ends of its transactions. */
    interface Client extends AutoCloseable {
        PortableTpcc.Statements statements();

        /** Says whether the transaction that begins next only reads. */
        void begin(boolean readOnly) throws SQLException;

        void commit() throws SQLException;

        void rollback() throws SQLException;

        @Override
        void close() throws SQLException;
    }

    private final boolean h2;
    private final Kind kind;
    private final List<AutoCloseable> closing = new ArrayList<>();
    private final List<ReplicaNode> nodes = new ArrayList<>();
    private final List<ClientEngine> engines = new ArrayList<>();
    private @Nullable EmbeddedDatabase bare;
    private final Object commitLock = new Object();
    private long position;

    private MacroSystem(boolean h2, Kind kind) {
        this.h2 = h2;
        this.kind = kind;
    }

    /** Loads it and starts it. */
    static MacroSystem start(boolean h2, Kind kind, TpccPopulation population, Path directory)
            throws IOException, SQLException, InterruptedException {
        MacroSystem system = new MacroSystem(h2, kind);
        try {
            system.start(population, directory);
            return system;
        } catch (IOException | SQLException | RuntimeException | InterruptedException failed) {
            system.close();
            throw failed;
        }
    }

    private EmbeddedDatabase empty() throws SQLException {
        return h2 ? H2Database.inMemory() : HsqldbDatabase.inMemory();
    }

    private EmbeddedDatabase loaded(TpccPopulation population) throws SQLException {
        EmbeddedDatabase database = empty();
        try (EmbeddedDatabase.Session session = database.openApplier()) {
            new TpccLoader(population).load(session.connection());
        }
        return database;
    }

    private ClientEngine engine(TpccPopulation population) throws SQLException {
        JdbcEngine primary = JdbcEngine.open(loaded(population));
        return kind.replicas == 1
                ? primary
                : MacroDb.open(primary, this::empty, kind.replicas - 1, MacroDb.Settings.DEFAULT);
    }

    private void start(TpccPopulation population, Path directory)
            throws IOException, SQLException, InterruptedException {
        if (kind.replicas == 0) {
            EmbeddedDatabase database = loaded(population);
            closing.add(database);
            bare = database;
            return;
        }
        Set<Integer> all = IntStream.range(0, Math.max(1, kind.nodes)).boxed().collect(Collectors.toSet());
        LocalOrderGroup group = new LocalOrderGroup(all);
        for (int node : all) {
            ClientEngine engine = engine(population);
            closing.add(engine);
            engines.add(engine);
            if (kind.nodes > 0) {
                ReplicaNode replica = new ReplicaNode(
                        ReplicaNode.Settings.defaults(node, all, directory.resolve(kind.label + "-" + node), "si"),
                        group.open(node), engine, world -> Protocols.create("si", node, all, Map.of(), world),
                        NodeMetrics.NONE, (cause, _) -> {
                            throw new IllegalStateException(cause);
                        });
                closing.add(replica);
                nodes.add(replica);
                begin(replica);
            }
        }
        for (ReplicaNode node : nodes) {
            try {
                node.ready().get(SECONDS_MAX, TimeUnit.SECONDS);
            } catch (ExecutionException | TimeoutException late) {
                throw new Failure("a node is not ready: " + late.getMessage(), "", late);
            }
        }
    }

    private static void begin(ReplicaNode replica) throws IOException {
        try {
            replica.start();
        } catch (TruncatedException truncated) {
            throw new IOException(truncated.getMessage(), truncated);
        }
    }

    /** A client, at one of the nodes in turns. */
    Client client(int number) throws SQLException {
        EmbeddedDatabase database = bare;
        if (database != null) {
            return new BareClient(database.openClient());
        }
        int node = number % engines.size();
        return nodes.isEmpty()
                ? new LocalClient(engines.get(node).openSession(() -> null))
                : new NodeClient(new EmbeddedSession(nodes.get(node), engines.get(node), TRANSACTION_BYTES_MAX));
    }

    /** How many bytes the copies take: what is alive on the heap. */
    static long liveBytes() {
        Runtime runtime = Runtime.getRuntime();
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 3; i++) {
            System.gc();
            least = Math.min(least, runtime.totalMemory() - runtime.freeMemory());
        }
        return least;
    }

    @Override
    public void close() {
        for (AutoCloseable part : closing.reversed()) {
            try {
                part.close();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            } catch (Exception failed) {
                throw new IllegalStateException(part + " does not close", failed);
            }
        }
    }

    /** The engine itself. */
    private record BareClient(EmbeddedDatabase.Session session, JdbcStatements statements) implements Client {
        BareClient(EmbeddedDatabase.Session session) {
            this(session, new JdbcStatements(session.connection()));
        }

        @Override
        public void begin(boolean readOnly) {
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

    /** Where a statement of a session runs. */
    private interface Runner {
        <T extends @Nullable Object> T run(ClientSession.Work<T> work) throws SQLException;
    }

    /** Statements by way of a session, which says on which connection. */
    private static final class SessionStatements implements PortableTpcc.Statements {
        private final Runner runner;
        private final Map<Connection, JdbcStatements> there = new HashMap<>();

        SessionStatements(Runner runner) {
            this.runner = runner;
        }

        private JdbcStatements on(Connection connection) {
            return there.computeIfAbsent(connection, JdbcStatements::new);
        }

        @Override
        public int update(String sql, @Nullable Object... parameters) throws SQLException {
            return runner.run(connection -> on(connection).update(sql, parameters));
        }

        @Override
        public void batch(String sql, List<@Nullable Object[]> parameters) throws SQLException {
            runner.run(connection -> {
                on(connection).batch(sql, parameters);
                return null;
            });
        }

        @Override
        public List<PortableTpcc.Row> query(String sql, @Nullable Object... parameters) throws SQLException {
            return runner.run(connection -> on(connection).query(sql, parameters));
        }
    }

    /** A MacroDB, or one engine, whose write sets are captured and go nowhere else. */
    private final class LocalClient implements Client {
        private final ClientSession session;
        private final PortableTpcc.Statements statements;

        LocalClient(ClientSession session) {
            this.session = session;
            statements = new SessionStatements(session::statement);
        }

        @Override
        public PortableTpcc.Statements statements() {
            return statements;
        }

        @Override
        public void begin(boolean readOnly) {
            session.setReadOnly(readOnly);
        }

        @Override
        public void commit() throws SQLException {
            if (session.capture().writes().isEmpty()) {
                session.commitUnchanged();
                return;
            }
            // As for a node: one commit at a time, so that positions become visible in their order.
            Waiting done = new Waiting();
            synchronized (commitLock) {
                session.commit(++position, done);
                done.await();
            }
            session.forget();
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
    private static final class Waiting extends java.util.concurrent.CompletableFuture<@Nullable Void>
            implements
                Completion<Void> {
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
            } catch (java.util.concurrent.CompletionException failed) {
                throw failed.getCause() instanceof SQLException cause ? cause : new SQLException(failed.getCause());
            }
        }
    }

    /** A node. */
    private static final class NodeClient implements Client {
        private final EmbeddedSession session;
        private final PortableTpcc.Statements statements;

        NodeClient(EmbeddedSession session) {
            this.session = session;
            statements = new SessionStatements(session::statement);
        }

        @Override
        public PortableTpcc.Statements statements() {
            return statements;
        }

        @Override
        public void begin(boolean readOnly) {
            session.setReadOnly(readOnly);
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
            session.close();
        }
    }
}
