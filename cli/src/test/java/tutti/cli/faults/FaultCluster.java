package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import tutti.check.CheckResult;
import tutti.check.ReplicaComparison;
import tutti.cli.FreePorts;
import tutti.cli.NewServers;
import tutti.cli.NodeCommand;
import tutti.cluster.Cluster;
import tutti.cluster.ClusterFile;
import tutti.cluster.ClusterSpec;
import tutti.server.http.NodeStatus;

/** A real cluster, each node a process with a PostgreSQL server of its own, and the ways to hurt it. */
final class FaultCluster implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final long POLL_MILLIS = 20;

    final Cluster cluster;
    /** Nodes that ended although nobody killed them, with their exit status. */
    final BlockingQueue<String> deaths = new LinkedBlockingQueue<>();
    private final int nodes;
    private final AtomicInteger awaited = new AtomicInteger();

    private FaultCluster(ClusterSpec spec) {
        this.nodes = spec.nodes();
        NewServers.provide(spec);
        cluster = Cluster.start(spec, (node, status) -> deaths.add(node.name() + " " + status));
    }

    /** Starts nodes and waits until they are ready. */
    static FaultCluster start(Path directory, int nodes) {
        return start(spec(directory, nodes, "si"));
    }

    /** Starts the nodes of a cluster and waits until they are ready. */
    static FaultCluster start(ClusterSpec spec) {
        FaultCluster started = new FaultCluster(spec);
        boolean ready = false;
        try {
            started.awaitReady();
            ready = true;
            return started;
        } finally {
            if (!ready) {
                started.close();
            }
        }
    }

    static ClusterSpec spec(Path directory, int nodes, String protocol) {
        return spec(directory, nodes, protocol, Map.of());
    }

    static ClusterSpec spec(Path directory, int nodes, String protocol, Map<String, String> parameters) {
        Map<String, String> settings = new HashMap<>(ClusterSpec.protocolParameters(protocol, parameters));
        settings.put("order", "{segment-bytes: 4 MiB, election-timeout: 600ms}");
        int base = ClusterFile.read(directory).map(last -> last.nodes().getFirst().postgresPort())
                .orElseGet(() -> basePort(nodes));
        return new ClusterSpec(directory, nodes, base, protocol, "tutti", "secret", settings, NodeCommand.line());
    }

    /** A copy with another line in every node's configuration. */
    static ClusterSpec with(ClusterSpec spec, String key, String value) {
        Map<String, String> settings = new HashMap<>(spec.settings());
        settings.put(key, value);
        return new ClusterSpec(spec.directory(), spec.nodes(), spec.basePort(), spec.protocol(), spec.database(),
                spec.password(), settings, spec.nodeCommand());
    }

    /** A copy whose nodes also find what is where this class comes from. */
    static ClusterSpec alsoLoading(Class<?> type, ClusterSpec spec) {
        Path classes = Path.of(URI.create(type.getProtectionDomain().getCodeSource().getLocation().toString()));
        List<String> command = new ArrayList<>(spec.nodeCommand());
        command.set(command.indexOf("-cp") + 1, command.get(command.indexOf("-cp") + 1) + File.pathSeparator + classes);
        return new ClusterSpec(spec.directory(), spec.nodes(), spec.basePort(), spec.protocol(), spec.database(),
                spec.password(), spec.settings(), command);
    }

    private static int basePort(int nodes) {
        return FreePorts.base(IntStream.range(0, nodes)
                .flatMap(id -> IntStream.of(0, 100, 200, 300).map(kind -> kind + id)).toArray());
    }

    int size() {
        return nodes;
    }

    IntStream ids() {
        return IntStream.range(0, nodes);
    }

    ClusterFile.Node node(int id) {
        return cluster.nodes().get(id);
    }

    void awaitReady() {
        ids().forEach(this::awaitReady);
    }

    /** Waits until a node is ready. */
    void awaitReady(int id) {
        awaited.incrementAndGet();
        try {
            cluster.awaitReady(id, PATIENCE);
        } finally {
            awaited.decrementAndGet();
        }
    }

    /** Whether somebody waits for a node to be ready: clients without pauses take all processors, and it would be long about its start. */
    boolean isAwaited() {
        return awaited.get() > 0;
    }

    /** A session with a node, that gives up after ten seconds without an answer. */
    Connection connect(int id) throws SQLException {
        return DriverManager.getConnection(node(id).jdbcUrl() + "&connectTimeout=5&socketTimeout=10&loginTimeout=10");
    }

    /** A session with another of the cluster's databases. */
    Connection connectTo(int id, String database) throws SQLException {
        return DriverManager.getConnection(node(id).jdbcUrl().replace("/tutti?", "/" + database + "?")
                + "&connectTimeout=5&socketTimeout=20&loginTimeout=20");
    }

    /** Executes statements at a node, one after the other, in a session of their own. */
    void execute(int id, String... statements) throws SQLException {
        try (Connection connection = connect(id)) {
            execute(connection, statements);
        }
    }

    /** The same in another of the cluster's databases. */
    void executeIn(int id, String database, String... statements) throws SQLException {
        try (Connection connection = connectTo(id, database)) {
            execute(connection, statements);
        }
    }

    private static void execute(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    /** A session with the server beneath a node. */
    Connection beneath(int id) throws SQLException {
        return DriverManager.getConnection(cluster.jdbcUrlBeneath(id) + "&socketTimeout=20");
    }

    long beneathValue(int id, String sql) throws SQLException {
        try (Connection connection = beneath(id);
                ResultSet result = connection.createStatement().executeQuery(sql)) {
            result.next();
            return result.getLong(1);
        }
    }

    /** The node that orders, as one that is there sees it. */
    int leader() {
        int[] found = {-1};
        await("a leader is known", () -> {
            OptionalInt leader = ids().filter(cluster::isRunning).mapToObj(cluster::status).flatMap(s -> s.stream())
                    .filter(NodeStatus::majority).filter(status -> status.leader() != null)
                    .mapToInt(NodeStatus::leader).findFirst();
            found[0] = leader.orElse(-1);
            return leader.isPresent();
        });
        return found[0];
    }

    void killAll() throws InterruptedException {
        List<Thread> killers = new ArrayList<>();
        ids().forEach(id -> killers.add(Thread.ofPlatform().start(() -> cluster.kill(id))));
        for (Thread killer : killers) {
            killer.join();
        }
    }

    void startAll() {
        ids().forEach(cluster::startNode);
        awaitReady();
    }

    long serverProcess(int id) throws IOException {
        Path file = Path.of(node(id).config()).resolveSibling("data").resolve("postgres").resolve("postmaster.pid");
        return Long.parseLong(Files.readAllLines(file).getFirst().strip());
    }

    static void signal(String name, long pid) throws IOException, InterruptedException {
        assertEquals(0, new ProcessBuilder("kill", "-" + name, Long.toString(pid)).inheritIO().start().waitFor());
    }

    /** Waits until something is so, looking again and again; fails after {@link #PATIENCE}. */
    static void await(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        BlockingQueue<String> nothing = new LinkedBlockingQueue<>();
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "not within " + PATIENCE + ": " + what);
            try {
                nothing.poll(POLL_MILLIS, TimeUnit.MILLISECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError(what, e);
            }
        }
    }

    /** Waits until all nodes have made visible what any of them has by now. */
    void awaitLevel() {
        awaitReady();
        long target = ids().mapToLong(id -> cluster.status(id).orElseThrow().positions().known()).max().orElseThrow();
        ids().forEach(id -> cluster.await(id, PATIENCE, "at position " + target,
                status -> status.positions().applied() >= target));
    }

    /** Likewise, and compares their tables. */
    void assertSame() throws SQLException, InterruptedException {
        awaitLevel();
        CheckResult result = new ReplicaComparison(ids()
                .mapToObj(id -> new ReplicaComparison.Source(node(id).name(), () -> beneath(id))).toList()).compare();
        assertTrue(result.passed(), result::toString);
        assertEquals(List.of(), List.copyOf(deaths));
    }

    @Override
    public void close() {
        cluster.close();
    }
}
