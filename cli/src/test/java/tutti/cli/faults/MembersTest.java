package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tutti.check.CheckResult;
import tutti.check.ReplicaComparison;
import tutti.cli.FreePorts;
import tutti.cli.Tutti;
import tutti.cluster.ClusterFile;
import tutti.command.Program;
import tutti.runtime.real.PrivateFiles;
import tutti.server.NodeRuntime;
import tutti.server.NodeServer;
import tutti.server.config.ConfigReader;
import tutti.server.http.NodeStatus;
import tutti.server.http.StatusJson;

/** A cluster to which a fourth node comes, and from which one of the first goes, by commands, while clients are at work. */
@Tag("long")
class MembersTest {
    private static final int NEW = 3;
    private static final int OLD = 2;

    @TempDir
    private Path directory;

    private FaultCluster cluster;
    /** Of the new node: clients, HTTP, order, the server beneath. */
    private final int[] ports = new int[4];

    @BeforeEach
    void start() throws Exception {
        cluster = FaultCluster.start(directory, 3);
        Ledger.create(cluster);
        int base = FreePorts.base(0, 100, 200, 300);
        for (int kind = 0; kind < ports.length; kind++) {
            ports[kind] = base + 100 * kind;
        }
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private String tutti(int status, String... arguments) {
        StringWriter out = new StringWriter();
        CommandLine command = new CommandLine(new Tutti()).setOut(new PrintWriter(out)).setErr(new PrintWriter(out));
        assertEquals(status, command.execute(arguments), out::toString);
        return out.toString();
    }

    private String nodes(int status, String... arguments) {
        return tutti(status, Stream.of(Stream.of("nodes"), Stream.of(arguments),
                Stream.of("--data", cluster.cluster.directory().toString())).flatMap(each -> each)
                .toArray(String[]::new));
    }

    private NodeStatus.Members members() {
        return StatusJson.readMembers(nodes(Program.OK, "list", "--json"));
    }

    /** As an operator writes it, after one of the others. */
    private Path configuration() throws Exception {
        ClusterFile.Node like = cluster.node(OLD);
        Path home = directory.resolve("node-" + NEW);
        PrivateFiles.createDirectories(home);
        tutti(Program.OK, "keys", "issue", "--authority", directory.resolve("keys").toString(), "--node",
                String.valueOf(NEW), "--out", home.resolve("keys").toString());
        String text = Files.readString(Path.of(like.config()));
        String member = text.lines().filter(line -> line.contains("{id: " + OLD + ",")).findFirst().orElseThrow();
        text = text.replace(member, "@member@").replace("node: " + OLD, "node: " + NEW);
        int[] before = {like.postgresPort(), like.httpPort(), like.orderPort(), like.databasePort()};
        String added = member.replace("id: " + OLD, "id: " + NEW).replace("node-" + OLD, "node-" + NEW);
        for (int kind = 0; kind < ports.length; kind++) {
            text = text.replace(String.valueOf(before[kind]), String.valueOf(ports[kind]));
            added = added.replace(String.valueOf(before[kind]), String.valueOf(ports[kind]));
        }
        Path file = home.resolve("node.yaml");
        PrivateFiles.write(file, text.replace("@member@", member + "\n" + added));
        return file;
    }

    private Connection connect(int port) throws SQLException {
        return DriverManager.getConnection(cluster.node(0).jdbcUrl().replaceFirst(":\\d+/", ":" + port + "/")
                + "&connectTimeout=5&socketTimeout=20&loginTimeout=10");
    }

    private void commitAtTheNewOne(int row) {
        FaultCluster.await("the new node commits", () -> {
            try (Connection connection = connect(ports[0]); Statement statement = connection.createStatement()) {
                statement.execute("INSERT INTO here VALUES (" + row + ") ON CONFLICT DO NOTHING");
                return true;
            } catch (SQLException notYet) {
                return false;
            }
        });
    }

    private void assertSame(int... ids) throws Exception {
        for (int id : ids) {
            FaultCluster.await("node " + id + " shows all", () -> {
                try (Connection one = id == NEW ? connect(ports[3]) : cluster.beneath(id);
                        ResultSet rows = one.createStatement().executeQuery("SELECT count(*) FROM here")) {
                    rows.next();
                    return rows.getInt(1) == 3;
                } catch (SQLException notYet) {
                    return false;
                }
            });
        }
        CheckResult result = new ReplicaComparison(IntStream.of(ids).mapToObj(id -> new ReplicaComparison.Source(
                "node-" + id, () -> id == NEW ? connect(ports[3]) : cluster.beneath(id))).toList()).compare();
        assertTrue(result.passed(), result::toString);
    }

    @Test
    void aFourthComesAndOneOfTheFirstGoesWhileClientsAreAtWork() throws Exception {
        cluster.execute(0, "CREATE TABLE here (row int PRIMARY KEY)");
        Path file = configuration();
        try (Ledger ledger = Ledger.run(cluster, 1, 1)) {
            ledger.awaitMore(50);
            nodes(Program.OK, "add", String.valueOf(NEW), "127.0.0.1:" + ports[2]);
            assertTrue(nodes(Program.FAILURE, "remove", "0").contains("has not caught up yet: one change at a time"));
            ledger.awaitMore(20);
            NodeRuntime.RunningNode added = new NodeServer().start(ConfigReader.read(file));
            try (added) {
                FaultCluster.await("it has caught up",
                        () -> members().nodes().stream().anyMatch(each -> each.id() == NEW && !each.catchesUp()));
                ledger.awaitMore(20);
                commitAtTheNewOne(1);
                nodes(Program.OK, "remove", String.valueOf(OLD));
                FaultCluster.await("it stops by itself", () -> !cluster.cluster.isRunning(OLD));
                assertEquals(List.of(0, 1, NEW), members().nodes().stream().map(NodeStatus.Place::id).toList());
                assertTrue(nodes(Program.FAILURE, "add", String.valueOf(OLD), "127.0.0.1:1")
                        .contains("never given again"));
                ledger.awaitMore(0, 20);
                // Of the three that are left, the new one and another are a majority.
                cluster.cluster.kill(0);
                commitAtTheNewOne(2);
                ledger.awaitMore(1, 20);
                cluster.cluster.startNode(0);
                cluster.awaitReady(0);
                ledger.finish();
                commitAtTheNewOne(3);
                assertSame(0, 1, NEW);
                ledger.verify(1);
                List<String> deaths = new ArrayList<>(cluster.deaths);
                assertEquals(1, deaths.size(), deaths::toString);
                assertTrue(deaths.getFirst().startsWith("node-" + OLD), deaths::toString);
            }
        }
    }
}
