package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import tutti.cli.NodeCommand;
import tutti.cli.Tutti;
import tutti.cluster.ClusterFile;
import tutti.cluster.ClusterSpec;
import tutti.cluster.ExtraNode;
import tutti.cluster.MemberChanges;
import tutti.command.Program;

/** Under {@code hybrid} a request is executed by the owner of its log, once, whatever becomes of owners. */
@Tag("long")
class OwnersClusterTest {
    /** Nothing was done: the node takes no writes at the moment. */
    private static final String CANNOT_CONNECT_NOW = "57P03";
    private static final int TABLES = 8;
    private static final int CLIENTS = 16;
    private static final long MORE = 300;
    private static final String UNDERTAKEN = "tutti_requests_undertaken_total";
    private static final String TRANSACTIONS = "tutti_requests_transactions_total";
    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    @TempDir
    private Path directory;

    private final AtomicLong done = new AtomicLong();
    private final AtomicLong until = new AtomicLong(Long.MAX_VALUE);

    /** Clients of the nodes that stay never lose their connection, so each of their requests counts exactly once. */
    @ParameterizedTest
    @ValueSource(strings = {"postgres", "h2"})
    @Timeout(400)
    void nothingIsLostOrRepeatedWhenAnOwnerDiesOrParametersChange(String engine) throws Exception {
        try (FaultCluster cluster = start(engine);
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> clients = begin(cluster, threads);
            anOwnerDies(cluster);
            parametersChange(cluster);
            countedOnce(cluster.cluster.nodes(), clients);
            assertEquals(List.of(), List.copyOf(cluster.deaths));
        }
    }

    private void anOwnerDies(FaultCluster cluster) {
        FaultCluster.await("requests", () -> done.get() > MORE);
        for (int node = 0; node < cluster.size(); node++) {
            assertTrue(undertaken(cluster.node(node)) > 0, "node " + node + " has executed nothing");
        }
        assertTrue(metric(cluster.node(1), TRANSACTIONS) < undertaken(cluster.node(1)),
                "clients change the same tables at the same time, and no two requests were executed together");
        cluster.cluster.kill(0);
        long before = done.get();
        FaultCluster.await("requests without an owner", () -> done.get() > before + MORE);
        cluster.cluster.startNode(0);
        cluster.awaitReady();
        FaultCluster.await("the owner that is back executes requests", () -> undertaken(cluster.node(0)) > 0);
    }

    /** A node is away for some of the changes, and has been told of all when it is back. */
    private void parametersChange(FaultCluster cluster) {
        set("owners=2", "logs=3");
        more();
        double others = undertaken(cluster.node(0)) + undertaken(cluster.node(1));
        more();
        assertEquals(others, undertaken(cluster.node(0)) + undertaken(cluster.node(1)), "node 2 owns all");
        cluster.cluster.kill(0);
        set("execution=active");
        more();
        double owner = undertaken(cluster.node(2));
        more();
        assertEquals(owner, undertaken(cluster.node(2)), "nobody executes for others");
        set("owners=1,2");
        more();
        double first = undertaken(cluster.node(1));
        set("execution=passive");
        FaultCluster.await("the first of the owners owns all", () -> undertaken(cluster.node(1)) > first + 1);
        cluster.cluster.startNode(0);
        set("logs=128", "owners=in-turn", "execution=hybrid");
        cluster.awaitReady();
        FaultCluster.await("the node that is back executes requests", () -> undertaken(cluster.node(0)) > 0);
        set("execution=active");
        more();
        set("execution=hybrid");
        more();
        String now = tutti("parameters", "list", "--url", cluster.node(0).httpUrl());
        for (int node = 1; node < cluster.size(); node++) {
            assertEquals(now, tutti("parameters", "list", "--url", cluster.node(node).httpUrl()));
        }
    }

    /** One that has come owns its share, and one that goes leaves its own to the others. */
    @Test
    @Timeout(200)
    void nothingIsLostOrRepeatedWhenMembersComeAndGo() throws Exception {
        try (FaultCluster cluster = start("postgres");
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
                ExtraNode extra = cluster.cluster.extra(3, "127.0.0.1", NodeCommand.line())) {
            List<Future<?>> clients = begin(cluster, threads);
            MemberChanges changes = MemberChanges.of(cluster.cluster);
            changes.add(extra.id(), extra.order());
            more();
            extra.start();
            assertTrue(changes.awaitDeciding(extra.id(), FaultCluster.PATIENCE), extra::logEnd);
            FaultCluster.await("the new node executes requests", () -> undertaken(extra.node()) > 0);
            set("owners=0,3", "logs=2");
            more();
            changes.remove(0);
            FaultCluster.await("it stops by itself", () -> !cluster.cluster.isRunning(0));
            more();
            assertTrue(tutti("parameters", "list", "--url", cluster.node(1).httpUrl())
                    .matches("(?s).*owners\\W+3\\s.*"));
            double others = undertaken(cluster.node(1)) + undertaken(cluster.node(2));
            more();
            assertEquals(others, undertaken(cluster.node(1)) + undertaken(cluster.node(2)), "node 3 owns all");
            set("owners=in-turn");
            FaultCluster.await("others execute requests",
                    () -> undertaken(cluster.node(1)) + undertaken(cluster.node(2)) > others);
            countedOnce(List.of(cluster.node(1), cluster.node(2), extra.node()), clients);
            assertTrue(cluster.deaths.stream().allMatch(each -> each.startsWith("node-0 ")), cluster.deaths::toString);
        }
    }

    private FaultCluster start(String engine) {
        return FaultCluster.start(
                FaultCluster.with(FaultCluster.spec(directory, 3, "hybrid"), ClusterSpec.ENGINE, engine));
    }

    /** Clients of nodes 1 and 2 begin to count. */
    private List<Future<?>> begin(FaultCluster cluster, ExecutorService threads) throws SQLException {
        try (Connection connection = cluster.connect(0); Statement statement = connection.createStatement()) {
            for (int table = 0; table < TABLES; table++) {
                statement.execute("create table counter" + table + " (id int primary key, n bigint not null)");
                statement.execute("insert into counter" + table + " values (0, 0)");
            }
        }
        List<Future<?>> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            ClusterFile.Node at = cluster.node(1 + i % 2);
            clients.add(threads.submit(() -> count(at)));
        }
        return clients;
    }

    /** Clients end, and every node counts what they have been told. */
    private void countedOnce(List<ClusterFile.Node> nodes, List<Future<?>> clients) throws Exception {
        until.set(0);
        for (Future<?> client : clients) {
            client.get(60, TimeUnit.SECONDS);
        }
        for (ClusterFile.Node node : nodes) {
            FaultCluster.await(node.name() + " counts " + done, () -> sum(node) == done.get());
        }
    }

    /** Clients are told of more requests than can have been under way. */
    private void more() {
        long before = done.get();
        FaultCluster.await("more requests", () -> done.get() > before + 4 * CLIENTS);
    }

    private void set(String... values) {
        List<String> line = new ArrayList<>(List.of("parameters", "set", "--data", directory.toString()));
        line.addAll(List.of(values));
        String said = tutti(line.toArray(new String[0]));
        for (String value : values) {
            assertTrue(said.contains(value.substring(value.indexOf('=') + 1)), said);
        }
    }

    private static String tutti(String... arguments) {
        StringWriter out = new StringWriter();
        PrintWriter writer = new PrintWriter(out);
        assertEquals(Program.OK, new CommandLine(new Tutti()).setOut(writer).setErr(writer).execute(arguments),
                () -> List.of(arguments) + ": " + out);
        return out.toString();
    }

    private @Nullable Void count(ClusterFile.Node at) throws SQLException {
        try (Connection connection = DriverManager.getConnection(at.jdbcUrl())) {
            List<PreparedStatement> updates = new ArrayList<>();
            for (int table = 0; table < TABLES; table++) {
                updates.add(connection.prepareStatement("update counter" + table + " set n = n + ? where id = ?"));
            }
            for (int i = 0; done.get() < until.get(); i++) {
                PreparedStatement update = updates.get(i % TABLES);
                update.setInt(1, 1);
                update.setInt(2, 0);
                try {
                    assertEquals(1, update.executeUpdate());
                    done.incrementAndGet();
                } catch (SQLException refused) {
                    // While another leader is elected, which takes long on a busy machine.
                    if (!CANNOT_CONNECT_NOW.equals(refused.getSQLState())) {
                        throw refused;
                    }
                }
            }
        }
        return null;
    }

    private static long sum(ClusterFile.Node at) {
        long sum = 0;
        try (Connection connection = DriverManager.getConnection(at.jdbcUrl());
                Statement statement = connection.createStatement()) {
            for (int table = 0; table < TABLES; table++) {
                try (ResultSet row = statement.executeQuery("select n from counter" + table)) {
                    row.next();
                    sum += row.getLong(1);
                }
            }
        } catch (SQLException failed) {
            throw new AssertionError(failed);
        }
        return sum;
    }

    private static double undertaken(ClusterFile.Node at) {
        return metric(at, UNDERTAKEN);
    }

    private static double metric(ClusterFile.Node at, String name) {
        try {
            String page = CLIENT.send(HttpRequest.newBuilder(URI.create(at.httpUrl() + "/metrics")).build(),
                    HttpResponse.BodyHandlers.ofString()).body();
            Matcher found = Pattern.compile("(?m)^" + name + " (\\S+)$").matcher(page);
            assertTrue(found.find(), page);
            return Double.parseDouble(found.group(1));
        } catch (java.io.IOException | InterruptedException failed) {
            throw new AssertionError(failed);
        }
    }
}
