package tutti.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.cli.SpanCollector.Collected;
import tutti.server.NodeRuntime;
import tutti.server.NodeServer;
import tutti.server.config.ConfigReader;

/** What a collector hears of a transaction at three nodes. */
@Tag("long")
@Timeout(180)
class TracesTest {
    private static final int NODES = 3;
    private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
    private static final String OTHER = "0000000000000000a3ce929d0e0e4736";
    private static final String CLIENT = "00f067aa0ba902b7";

    private static final Set<String> EFFECTS = Set.of("apply", "commit", "execute");

    @TempDir
    private Path directory;
    private final List<NodeRuntime.RunningNode> nodes = new ArrayList<>();
    private int base;
    private SpanCollector collector;

    private void start(String engine, String protocol, int oneIn) throws Exception {
        collector = new SpanCollector();
        base = FreePorts.base(0, 1, 2, 3, 4, 5, 6, 7, 8);
        String members = "";
        for (int id = 0; id < NODES; id++) {
            members += "%s{id: %d, name: n%d, order: \"127.0.0.1:%d\"}".formatted(id == 0 ? "" : ", ", id, id,
                    base + 3 * id + 2);
        }
        for (int id = 0; id < NODES; id++) {
            Path home = Files.createDirectories(directory.resolve("n" + id));
            Path file = Files.writeString(home.resolve("node.yaml"), """
                    node: %d
                    data: data
                    engine: %s
                    protocol: %s
                    members: [%s]
                    peers: {security: none}
                    listen: {host: 127.0.0.1, port: %d}
                    http: {host: 127.0.0.1, port: %d}
                    tracing: {endpoint: "%s", one-in: %d}
                    """.formatted(id, engine, protocol, members, base + 3 * id, base + 3 * id + 1,
                    collector.endpoint(), oneIn));
            nodes.add(new NodeServer().start(ConfigReader.read(file)));
        }
        for (int id = 0; id < NODES; id++) {
            int node = id;
            await(() -> get(node, "/health/ready").statusCode() == 200);
        }
    }

    @AfterEach
    void stop() {
        nodes.forEach(NodeRuntime.RunningNode::close);
        collector.close();
    }

    private static void await(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            assertFalse(Thread.interrupted(), "the time of the test is up");
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
    }

    private HttpResponse<String> get(int node, String path) {
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(
                    HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + (base + 3 * node + 1) + path)).build(),
                    HttpResponse.BodyHandlers.ofString());
        } catch (java.io.IOException broken) {
            throw new AssertionError(broken);
        } catch (InterruptedException over) {
            throw new AssertionError("the time of the test is up", over);
        }
    }

    private Connection connect(int node) throws SQLException {
        return DriverManager.getConnection(
                "jdbc:postgresql://127.0.0.1:" + (base + 3 * node) + "/tutti?user=postgres&password=tutti");
    }

    private static Collected only(List<Collected> spans, String node, String name) {
        List<Collected> found = spans.stream().filter(span -> span.node().equals(node) && span.name().equals(name))
                .toList();
        assertEquals(1, found.size(), () -> name + " at " + node + " of " + spans);
        return found.getFirst();
    }

    private static Set<String> names(List<Collected> spans, String node) {
        return spans.stream().filter(span -> span.node().equals(node)).map(Collected::name)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static boolean complete(List<Collected> spans) {
        return spans.stream().anyMatch(span -> span.name().equals("transaction"))
                && spans.stream().filter(span -> span.name().equals("deliver")).count() == NODES - 1;
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "hsqldb", "postgres"})
    void aTransactionWhoseClientNamesAParentIsFollowedAtAllNodesWithoutValues(String engine) throws Exception {
        start(engine, "si", 0);
        try (Connection client = connect(0); Statement statement = client.createStatement()) {
            statement.execute("CREATE TABLE item (k int PRIMARY KEY, v varchar(100))");
            statement.execute("INSERT INTO item VALUES (1, 'unfollowed')");
            client.setAutoCommit(false);
            statement.execute("INSERT INTO item VALUES (76543, 'secret''s value') /*traceparent='00-" + TRACE + "-"
                    + CLIENT + "-01'*/");
            try (PreparedStatement update = client.prepareStatement("UPDATE item SET v = ? WHERE k = ?")) {
                update.setString(1, "hidden");
                update.setInt(2, 76543);
                update.execute();
            }
            client.commit();
        }
        await(() -> complete(collector.of(TRACE)));
        List<Collected> spans = collector.of(TRACE);
        assertEquals(spans, collector.all(), "nothing else is followed");

        Collected transaction = only(spans, "n0", "transaction");
        assertEquals(CLIENT, transaction.parent());
        assertEquals(2, transaction.kind());
        assertEquals(Set.of("transaction", "INSERT", "UPDATE", "COMMIT", "capture", "order", "certify", "commit"),
                names(spans, "n0"));
        for (String part : List.of("INSERT", "UPDATE", "COMMIT", "capture", "order", "certify", "commit")) {
            assertEquals(transaction.id(), only(spans, "n0", part).parent(), part);
        }
        Collected insert = only(spans, "n0", "INSERT");
        assertEquals("INSERT INTO item VALUES (?, ?)", insert.attributes().get("db.query.text"));
        assertEquals("tutti", insert.attributes().get("db.namespace"));
        assertFalse(spans.toString().contains("76543") || spans.toString().contains("secret")
                || spans.toString().contains("hidden"), spans::toString);

        Collected order = only(spans, "n0", "order");
        for (String other : List.of("n1", "n2")) {
            Collected delivery = only(spans, other, "deliver");
            assertEquals(order.id(), delivery.parent());
            assertEquals(delivery.id(), only(spans, other, "certify").parent());
            assertEquals(delivery.id(), only(spans, other, "apply").parent());
            assertEquals(transaction.attributes().get("tutti.position"), delivery.attributes().get("tutti.position"));
            assertTrue(delivery.startNanos() <= only(spans, other, "certify").startNanos() + 1_000_000);
        }
        await(() -> get(0, "/metrics").body().contains("tutti_trace_spans_total{result=\"exported\"} 8.0"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "postgres"})
    void whatEveryNodeExecutesIsFollowedTooAndAStatementByItself(String engine) throws Exception {
        start(engine, "si", 0);
        try (Connection client = connect(1); Statement statement = client.createStatement()) {
            statement.execute("CREATE TABLE item (k int PRIMARY KEY) /*traceparent='00-" + TRACE + "-" + CLIENT
                    + "-01'*/");
            statement.execute("INSERT INTO item VALUES (1) /*traceparent='00-" + OTHER + "-" + CLIENT + "-01'*/");
        }
        await(() -> complete(collector.of(TRACE)));
        List<Collected> spans = collector.of(TRACE);
        Collected order = only(spans, "n1", "order");
        assertEquals(only(spans, "n1", "transaction").id(), order.parent());
        for (String other : List.of("n0", "n2")) {
            assertEquals(order.id(), only(spans, other, "deliver").parent());
            assertEquals(only(spans, other, "deliver").id(), only(spans, other, "execute").parent());
        }
        await(() -> complete(collector.of(OTHER)));
        assertEquals(Set.of("transaction", "INSERT", "capture", "order", "certify", "commit"),
                names(collector.of(OTHER), "n1"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgres-r", "nodo", "2pc", "dbsm", "passive", "akara", "hybrid", "wice"})
    void otherProtocolsCarryTheContextToo(String protocol) throws Exception {
        start("h2", protocol, 1);
        try (Connection client = connect(0); Statement statement = client.createStatement()) {
            statement.execute("CREATE TABLE item (k int PRIMARY KEY)");
            statement.execute("INSERT INTO item VALUES (7)");
        }
        await(() -> collector.all().stream().filter(span -> span.name().equals("INSERT")).anyMatch(insert -> {
            List<Collected> spans = collector.of(insert.trace());
            return Set.of("n1", "n2").equals(spans.stream()
                    .filter(span -> EFFECTS.contains(span.name())).map(Collected::node)
                    .filter(node -> !node.equals("n0")).collect(Collectors.toSet()));
        }));
    }
}
