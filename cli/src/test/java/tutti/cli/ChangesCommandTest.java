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
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tutti.command.Program;
import tutti.server.NodeRuntime;
import tutti.server.NodeServer;
import tutti.server.config.ConfigReader;

/** {@code tutti changes} at a real node in this process, with clients of it and of its server. */
@Tag("long")
class ChangesCommandTest {
    private static final String PARAMETERS = "parameters: {wal_level: logical, max_slot_wal_keep_size: 256MB}";

    @TempDir
    private Path directory;
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private int base;

    private int run(String... arguments) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        List<String> all = new ArrayList<>(List.of("changes", "--url", "http://127.0.0.1:" + (base + 1), "--token-file",
                directory.resolve("data/http-token").toString()));
        all.addAll(List.of(arguments));
        CommandLine line = new Tutti().commandLine();
        line.setOut(new PrintWriter(out));
        line.setErr(new PrintWriter(err));
        return line.execute(all.toArray(String[]::new));
    }

    private NodeRuntime.RunningNode start(String parameters) throws Exception {
        base = FreePorts.base(0, 1, 2, 3);
        Path file = Files.writeString(directory.resolve("node.yaml"), """
                node: 0
                data: "%s"
                members: [{id: 0, name: lone, order: "127.0.0.1:%d", http: "127.0.0.1:%d"}]
                listen: {host: 127.0.0.1, port: %d}
                http: {host: 127.0.0.1, port: %d}
                postgres: {embedded: {port: %d, %s}, password: secret}
                """.formatted(directory.resolve("data"), base + 2, base + 1, base, base + 1, base + 3, parameters));
        NodeRuntime.RunningNode node = new NodeServer().start(ConfigReader.read(file));
        while (!ready()) {
            assertFalse(Thread.interrupted(), "the time of the test is up");
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
        }
        return node;
    }

    private boolean ready() throws InterruptedException {
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + (base + 1) + "/health/ready"))
                    .build(), HttpResponse.BodyHandlers.ofString()).statusCode() == 200;
        } catch (IOException starting) {
            return false;
        }
    }

    private void execute(int port, String... statements) throws SQLException {
        executeIn("tutti", port, statements);
    }

    private void executeIn(String database, int port, String... statements) throws SQLException {
        try (Connection connection = DriverManager.getConnection(
                "jdbc:postgresql://127.0.0.1:" + port + "/" + database + "?user=postgres&password=secret");
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    /** What has been told, a transaction a line. */
    private List<JsonNode> lines() {
        return out.toString().lines().map(line -> JsonMapper.shared().readTree(line)).toList();
    }

    @Test
    @Timeout(180)
    void tellsWhatIsChangedFromTheOrderAndFromTheServer() throws Exception {
        try (NodeRuntime.RunningNode _ = start(PARAMETERS)) {
            execute(base, "CREATE TABLE t (id int PRIMARY KEY, v text)");
            assertEquals(Program.OK, run(), err::toString);
            assertEquals(Program.FAILURE, run("--source", "server"));
            assertTrue(err.toString().contains("begin"), err::toString);
            assertEquals(Program.OK, run("--begin"), err::toString);
            assertTrue(lines().getFirst().get("on").booleanValue(), out::toString);

            execute(base, "INSERT INTO t VALUES (1, 'a, b')", "UPDATE t SET v = NULL", "CREATE TABLE later (x int)",
                    "INSERT INTO later VALUES (5)", "DELETE FROM later");
            execute(base + 3, "SET session_replication_role = replica", "SET synchronous_commit = on",
                    "INSERT INTO t VALUES (2, 'behind')");

            assertEquals(Program.OK, run(), err::toString);
            List<JsonNode> ordered = lines();
            assertEquals(4, ordered.size(), out::toString);
            assertEquals("a, b", ordered.getFirst().at("/changes/0/row/v").stringValue());
            assertEquals(Program.OK, run("--after", ordered.get(2).get("position").stringValue()), err::toString);
            assertEquals(List.of(ordered.get(3)), lines());

            assertEquals(Program.OK, run("--source", "server"), err::toString);
            List<JsonNode> told = lines();
            assertEquals(5, told.size(), out::toString);
            for (int i = 0; i < 4; i++) {
                assertEquals(ordered.get(i).get("ordered"), told.get(i).get("ordered"));
                assertEquals(ordered.get(i).get("changes"), told.get(i).get("changes"));
            }
            assertTrue(told.get(1).at("/changes/0/row/v").isNull());
            assertEquals("public.later", told.get(3).at("/changes/0/table").stringValue());
            assertFalse(told.get(4).has("ordered"), out::toString);
            assertEquals("behind", told.get(4).at("/changes/0/row/v").stringValue());

            String third = told.get(2).get("position").stringValue();
            assertEquals(Program.OK, run("--source", "server", "--after", third), err::toString);
            assertEquals(told.subList(3, 5), lines());
            assertEquals(Program.FAILURE, run("--source", "server", "--after", "nowhere"));
            assertTrue(err.toString().contains("0/15E4A38"), err::toString);
            assertEquals(Program.OK, run("--end"), err::toString);
            assertFalse(lines().getFirst().get("on").booleanValue());
            execute(base, "CREATE TABLE without (x int)", "INSERT INTO without VALUES (1)", "UPDATE without SET x = 2");
            anotherDatabase(lastPosition());
        }
    }

    private String lastPosition() {
        assertEquals(Program.OK, run(), err::toString);
        return lines().getLast().get("position").stringValue();
    }

    private void anotherDatabase(String before) throws SQLException {
        execute(base, "CREATE DATABASE shop");
        executeIn("shop", base, "CREATE TABLE item (id int PRIMARY KEY)", "INSERT INTO item VALUES (1)");
        assertEquals(Program.OK, run("--after", before), err::toString);
        assertEquals("", out.toString());
        execute(base, "INSERT INTO t VALUES (3, 'configured')");
        assertEquals(Program.OK, run("--database", "shop"), err::toString);
        List<JsonNode> told = lines();
        assertEquals(1, told.size(), out::toString);
        assertEquals("public.item", told.getFirst().at("/changes/0/table").stringValue());
        assertEquals("1", told.getFirst().at("/changes/0/row/id").stringValue());
        assertEquals(Program.OK, run("--database", "tutti", "--after", before), err::toString);
        assertEquals(1, lines().size(), out::toString);
        assertEquals(Program.FAILURE, run("--database", "shop", "--source", "server"));
        assertEquals(Program.FAILURE, run("--database", "nowhere"));
        assertTrue(err.toString().contains("knows no database"), err::toString);
    }

    @Test
    @Timeout(180)
    void saysWhatMustBeConfigured() throws Exception {
        try (NodeRuntime.RunningNode _ = start("parameters: {}")) {
            assertEquals(Program.FAILURE, run("--begin"));
            assertTrue(err.toString().contains("wal_level: logical, max_slot_wal_keep_size"), err::toString);
            assertEquals(Program.OK, run("--state"), err::toString);
            assertFalse(lines().getFirst().get("on").booleanValue());
        }
    }
}
