package tutti.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import tutti.command.Failure;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.SnapshotIsolation;
import tutti.core.protocol.Trait;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Order;
import tutti.engine.jdbc.CaptureMode;
import tutti.engine.jdbc.ClientEngine;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.InProcessEngine;
import tutti.engine.jdbc.JdbcEngine;
import tutti.engine.jdbc.SequenceSteps;
import tutti.engine.jdbc.SqlSyntax;
import tutti.engine.macro.MacroDb;
import tutti.macro.distribution.HostedComponent;
import tutti.macro.distribution.MacroNode;
import tutti.macro.distribution.ReadLevel;
import tutti.macroddb.DatabaseComponent;
import tutti.macroddb.SqlDatabase;
import tutti.node.ReplicaNode;
import tutti.node.metrics.NodeMetrics;
import tutti.order.local.LocalOrderGroup;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;
import tutti.session.EmbeddedSession;
import tutti.workload.tpcc.TpccLoader;
import tutti.workload.tpcc.TpccPopulation;

/**
 * One of the systems that the MacroDDB thesis compares, in this virtual machine, loaded with TPC-C: the bare engine; a
 * MacroDB without nodes; nodes with MacroDBs over a total order in this process.
 */
final class MacroSystem implements AutoCloseable {
    private static final int TRANSACTION_BYTES_MAX = 32 << 20;
    private static final long SECONDS_MAX = 60;
    /** Of a protocol with a primary, which no node leaves here. */
    private static final int PRIMARY = 0;
    private static final String COMPONENT = "database";

    /**
     * What to measure.
     *
     * @param label for tables
     * @param nodes 0 for a database without replication between nodes
     * @param replicas databases of each node, or of the MacroDB; 0 for the bare engine
     * @param protocol of the nodes
     * @param capture how write sets are found
     */
    record Kind(String label, int nodes, int replicas, String protocol, CaptureMode capture) {
        /** With the thesis' protocol, certification of write sets. */
        static final String CERTIFICATION = SnapshotIsolation.NAME;

        /** MacroDDB on the distribution of Macro-components. */
        static final String COMPONENTS = "Components";

        Kind(String label, int nodes, int replicas) {
            this(label, nodes, replicas, CERTIFICATION, CaptureMode.NOTES);
        }

        Kind with(CaptureMode other) {
            return new Kind(label, nodes, replicas, protocol, other);
        }

        /** For tables. */
        String display() {
            return switch (label) {
                case "MacroDB" -> "MacroDB of " + replicas;
                case "MacroDDB-Flat" -> "Flat, " + nodes + " masters";
                case "MacroDDB", COMPONENTS -> label + " " + nodes + " x " + replicas;
                default -> label;
            } + (protocol.equals(CERTIFICATION) ? "" : ", " + protocol)
                    + (capture == CaptureMode.NOTES ? "" : ", " + captureName());
        }

        /** As it is written in options and tables. */
        String captureName() {
            return capture.name().toLowerCase(Locale.ROOT);
        }

        /** At how many machines the thesis would have had its clients: two masters of a Flat share one. */
        int machines() {
            return Math.max(1, label.equals("MacroDDB-Flat") ? nodes / 2 : nodes);
        }
    }

    private final InProcessEngine database;
    private final Kind kind;
    private final ChosenProtocol protocol;
    private final List<AutoCloseable> closing = new ArrayList<>();
    private final List<ReplicaNode> nodes = new ArrayList<>();
    private final List<MacroNode> components = new ArrayList<>();
    private final List<ClientEngine> engines = new ArrayList<>();
    private @Nullable EmbeddedDatabase bare;
    private final MacroSessions.Positions positions = new MacroSessions.Positions();

    private MacroSystem(InProcessEngine database, Kind kind) {
        this.database = database;
        this.kind = kind;
        this.protocol = Protocols.STANDARD.choose(kind.protocol);
    }

    /** Loads it and starts it. */
    static MacroSystem start(InProcessEngine database, Kind kind, TpccPopulation population, Path directory)
            throws IOException, SQLException, InterruptedException {
        MacroSystem system = new MacroSystem(database, kind);
        try {
            system.start(population, directory);
            return system;
        } catch (IOException | SQLException | RuntimeException | InterruptedException failed) {
            system.close();
            throw failed;
        }
    }

    private EmbeddedDatabase empty() throws SQLException {
        return database.inMemory(SqlSyntax.OWN);
    }

    private EmbeddedDatabase loaded(TpccPopulation population) throws SQLException {
        EmbeddedDatabase database = empty();
        try (EmbeddedDatabase.Session session = database.openApplier()) {
            new TpccLoader(population).load(session.connection());
        }
        return database;
    }

    private ClientEngine engine(TpccPopulation population) throws SQLException {
        JdbcEngine primary = JdbcEngine.open(loaded(population), kind.capture, SequenceSteps.ALL);
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
        LocalOrderGroup group = new LocalOrderGroup(RealMachine.INSTANCE, all);
        for (int node : all) {
            ClientEngine engine = engine(population);
            if (kind.label.equals(Kind.COMPONENTS)) {
                startComponent(node, group.openDirect(node), engine);
                continue;
            }
            closing.add(engine);
            engines.add(engine);
            if (kind.nodes > 0) {
                ReplicaNode replica = new ReplicaNode(
                        ReplicaNode.Settings.defaults(node, all, protocol), RealMachine.INSTANCE,
                        PathDirectory.of(directory.resolve(kind.label + "-" + node)), group.openDirect(node), engine,
                        world -> protocol.create(node, all, world),
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

    private void startComponent(int node, Order order, ClientEngine engine) {
        DatabaseComponent database = new DatabaseComponent(engine);
        closing.add(database);
        try {
            MacroNode started = MacroNode.builder(node, order).values(DatabaseComponent.values())
                    .readLevel(ReadLevel.LOCAL)
                    .component(COMPONENT, HostedComponent.transactional(SqlDatabase.class, database)).start();
            closing.add(started);
            components.add(started);
        } catch (DurableLog.TruncatedException impossible) {
            throw new IllegalStateException("the order has just begun", impossible);
        }
    }

    private static void begin(ReplicaNode replica) throws IOException, InterruptedException {
        try {
            replica.start().get();
        } catch (ExecutionException failed) {
            throw new IOException(failed.getCause().getMessage(), failed.getCause());
        }
    }

    /** A client, at one of the nodes in turns. */
    MacroSessions.Client client(int number) throws SQLException {
        EmbeddedDatabase database = bare;
        if (database != null) {
            return new MacroSessions.Bare(database.openClient());
        }
        boolean oneByOne = kind.capture == CaptureMode.STATEMENTS;
        if (!components.isEmpty()) {
            return new MacroSessions.OfComponent(components.get(number % components.size()), COMPONENT, oneByOne);
        }
        int node = number % engines.size();
        if (nodes.isEmpty()) {
            return new MacroSessions.Local(engines.get(node).openSession(() -> null), positions, oneByOne);
        }
        EmbeddedSession reads = session(node);
        int primary = protocol.has(Trait.ONE_PRIMARY) ? PRIMARY : node;
        return new MacroSessions.OfNode(reads, primary == node ? reads : session(primary), oneByOne);
    }

    private EmbeddedSession session(int node) throws SQLException {
        return new EmbeddedSession(nodes.get(node), engines.get(node), TRANSACTION_BYTES_MAX);
    }

    /**
     * How many bytes a MacroDB takes that is loaded with TPC-C.
     *
     * @param most replicas to try, at least 1
     * @return with one replica, with two, ..., each with everything around them
     */
    static List<Long> memory(InProcessEngine database, TpccPopulation population, int most) throws SQLException {
        MacroSystem system = new MacroSystem(database, new Kind("MacroDB", 0, 1));
        List<Long> bytes = new ArrayList<>();
        long before = liveBytes();
        try (MacroDb macro = MacroDb.open(JdbcEngine.open(system.loaded(population)), system::empty, 0,
                MacroDb.Settings.DEFAULT)) {
            bytes.add(liveBytes() - before);
            while (bytes.size() < most) {
                macro.addSecondary();
                bytes.add(liveBytes() - before);
            }
        }
        return bytes;
    }

    /** What is alive on the heap. */
    private static long liveBytes() {
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
}
