package tutti.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import tools.jackson.databind.json.JsonMapper;
import tutti.command.Program;
import tutti.server.NodeRuntime;
import tutti.server.NodeServer;
import tutti.server.config.ConfigReader;
import tutti.server.http.NodeStatus;
import tutti.server.http.StatusJson;

/** {@code tutti secondaries} at a real node in this process, with its clients and its admin HTTP. */
@Tag("long")
class SecondariesCommandTest {
    private static final String SUM = "SELECT count(*) || ' ' || sum(v) FROM item";

    @TempDir
    private Path directory;
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private int sqlPort;
    private String url = "";

    private int run(String... arguments) {
        out.getBuffer().setLength(0);
        CommandLine line = new Tutti().commandLine();
        line.setOut(new PrintWriter(out));
        line.setErr(new PrintWriter(err));
        return line.execute(arguments);
    }

    private NodeRuntime.RunningNode start(String engine) throws Exception {
        sqlPort = FreePorts.base(0, 1, 2);
        int httpPort = sqlPort + 1;
        url = "http://127.0.0.1:" + httpPort;
        Path file = Files.writeString(directory.resolve("node.yaml"), """
                node: 0
                data: "%s"
                engine: %s
                members: [{id: 0, name: lone, order: "127.0.0.1:%d", http: "127.0.0.1:%d"}]
                listen: {host: 127.0.0.1, port: %d}
                http: {host: 127.0.0.1, port: %d}
                """.formatted(directory.resolve("data"), engine, sqlPort + 2, httpPort, sqlPort, httpPort));
        NodeRuntime.RunningNode node = new NodeServer().start(ConfigReader.read(file));
        await(() -> ready() == 200);
        return node;
    }

    private static void await(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            assertFalse(Thread.interrupted(), "the time of the test is up");
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
    }

    private int ready() {
        return get("/health/ready").statusCode();
    }

    private HttpResponse<String> get(String path) {
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(HttpRequest.newBuilder(URI.create(url + path)).build(),
                    HttpResponse.BodyHandlers.ofString());
        } catch (IOException broken) {
            throw new AssertionError(broken);
        } catch (InterruptedException over) {
            throw new AssertionError("the time of the test is up", over);
        }
    }

    private NodeStatus.Secondaries now() {
        return StatusJson.readSecondaries(get("/secondaries").body());
    }

    private Connection connect() throws SQLException {
        return DriverManager.getConnection(
                "jdbc:postgresql://127.0.0.1:" + sqlPort + "/tutti?user=postgres&password=tutti");
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static String value(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet results = statement.executeQuery(sql)) {
            assertTrue(results.next());
            return results.getString(1);
        }
    }

    /** A client that goes on writing. */
    private final class Writer implements AutoCloseable {
        private final AtomicBoolean stop = new AtomicBoolean();
        private final CountDownLatch some = new CountDownLatch(20);
        private final CompletableFuture<Integer> commits = CompletableFuture.supplyAsync(() -> {
            try (Connection connection = connect()) {
                int made = 0;
                for (; !stop.get(); made++) {
                    connection.setAutoCommit(false);
                    execute(connection, "INSERT INTO item VALUES (" + (1000 + made) + ", 1)");
                    execute(connection, "UPDATE item SET v = v + 1 WHERE id = " + made % 300);
                    connection.commit();
                    some.countDown();
                }
                return made;
            } catch (SQLException failed) {
                throw new IllegalStateException(failed);
            }
        });

        @Override
        public void close() {
            stop.set(true);
            assertTrue(commits.join() >= 20);
        }
    }

    private String token() {
        return directory.resolve("data").resolve("http-token").toString();
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "hsqldb"})
    @Timeout(60)
    void copiesAreMadeAndGivenUpWhileClientsWrite(String engine) throws Exception {
        try (NodeRuntime.RunningNode _ = start(engine); Connection client = connect()) {
            execute(client, "CREATE TABLE item (id int PRIMARY KEY, v int)");
            for (int id = 0; id < 300; id += 100) {
                StringBuilder rows = new StringBuilder("INSERT INTO item VALUES (" + id + ", 0)");
                for (int other = id + 1; other < id + 100; other++) {
                    rows.append(", (").append(other).append(", 0)");
                }
                execute(client, rows.toString());
            }
            try (Writer writer = new Writer()) {
                writer.some.await();
                assertEquals(Program.OK, run("secondaries", "2", "--url", url, "--token-file", token()),
                        () -> out + "\n" + err);
                assertTrue(out.toString().contains(url), out.toString());
            }
            await(() -> now().secondaries().equals(List.of(now().position(), now().position())));
            long before = now().readsAtSecondaries();
            try (Connection first = connect(); Connection second = connect()) {
                for (Connection reader : List.of(first, second)) {
                    reader.setReadOnly(true);
                    reader.setAutoCommit(false);
                    assertEquals(value(client, SUM), value(reader, SUM));
                }
                assertEquals(before + 2, now().readsAtSecondaries(), "each at the one that was idle");
                assertEquals(Program.OK, run("secondaries", "1", "--url", url, "--token-file", token()));
                assertEquals(1, now().secondaries().size());
                assertEquals(value(client, SUM), value(second, SUM), "its reader goes on to the end");
            }
            String metrics = get("/metrics").body();
            assertTrue(metrics.contains("tutti_secondaries 1.0\n"), metrics);
            assertTrue(metrics.contains("tutti_transactions_read_only_total{place=\"secondary\"} "
                    + (double) (before + 2) + "\n"), metrics);
            assertEquals(Program.OK, run("status", "--url", url));
            assertTrue(out.toString().contains("secondaries of 0 lone: 1\n"), out.toString());

            assertEquals(Program.OK, run("secondaries", "0", "--url", url, "--token-file", token(), "--json"));
            assertEquals(0, JsonMapper.shared().readTree(out.toString()).get(0).get("secondaries").get("secondaries")
                    .size(), out.toString());
            try (Connection reader = connect()) {
                reader.setReadOnly(true);
                assertEquals(value(client, SUM), value(reader, SUM));
            }
        }
        assertEquals(Program.FAILURE, run("secondaries", "--url", url));
        assertTrue(out.toString().contains("cannot be reached"), out.toString());
    }

    /** A database in memory has a name of its own, so it refuses a constraint that the node's takes. */
    @Test
    @Timeout(60)
    void oneThatCannotFollowIsShown() throws Exception {
        try (NodeRuntime.RunningNode _ = start("h2"); Connection client = connect()) {
            execute(client, "CREATE TABLE item (id int PRIMARY KEY, v int)");
            execute(client, "INSERT INTO item VALUES (1, 1)");
            assertEquals(Program.OK, run("secondaries", "1", "--url", url, "--token-file", token()),
                    () -> out + "\n" + err);
            execute(client, "ALTER TABLE item ADD CHECK (current_catalog NOT LIKE 'TUTTI_%')");
            await(() -> now().dropped() == 1);
            assertEquals(Program.OK, run("secondaries", "--url", url));
            assertTrue(out.toString().contains("0 (1 dropped)"), out.toString());
            assertTrue(out.toString().contains("last dropped: XX000 a statement that took effect at the primary"),
                    out.toString());
            assertEquals(Program.OK, run("status", "--url", url));
            assertTrue(out.toString().contains("secondaries of 0 lone: 0 (1 dropped); the last one dropped: XX000 "),
                    out.toString());
            assertTrue(get("/metrics").body().contains("tutti_secondaries_dropped_total 1.0\n"));

            assertEquals(Program.OK, run("secondaries", "2", "--url", url, "--token-file", token()),
                    () -> out + "\n" + err);
            assertTrue(out.toString().contains("2 (1 dropped)"), out.toString());
        }
    }

    @Test
    void whatCannotBeIsAUsageError() {
        assertEquals(Program.USAGE, run("secondaries", "17"));
        assertEquals(Program.USAGE, run("secondaries", "many"));
        assertEquals(Program.FAILURE, run("secondaries", "--data", directory.toString()));
        assertTrue(err.toString().contains("there is no cluster.json"), err.toString());
    }
}
