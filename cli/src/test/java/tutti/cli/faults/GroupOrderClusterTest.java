package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.cluster.ClusterSpec;

/** Three processes with H2 that agree by group communication over UDP, which are killed. */
@Tag("long")
class GroupOrderClusterTest {
    @TempDir
    private Path directory;

    private FaultCluster start() {
        ClusterSpec spec = FaultCluster.spec(directory, 3, "si");
        Map<String, String> settings = new HashMap<>(spec.settings());
        settings.put(ClusterSpec.ENGINE, "h2");
        settings.put("order", "{kind: group, durability: none, election-timeout: 600ms}");
        settings.put("limits", "{transaction-bytes: 1 MiB}");
        return FaultCluster.start(new ClusterSpec(spec.directory(), 3, spec.basePort(), "si", spec.database(),
                spec.password(), settings, spec.nodeCommand()));
    }

    private static Connection at(FaultCluster cluster, int node) throws SQLException {
        return DriverManager.getConnection(DriverClients.url(cluster, "&readLevel=linearizable", IntStream.of(node)));
    }

    private static void run(FaultCluster cluster, int node, String sql) throws SQLException {
        try (Connection connection = at(cluster, node); Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static void assertRows(FaultCluster cluster, int rows, int... nodes) throws SQLException {
        for (int node : nodes) {
            try (Connection connection = at(cluster, node)) {
                assertEquals(String.valueOf(rows), DriverClients.value(connection, "SELECT count(*) FROM item"),
                        "node " + node);
            }
        }
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }

    @Test
    @Timeout(240)
    void aMajorityGoesOnAForgetfulNodeCatchesUpAndAMinorityRefuses() throws Exception {
        int rows = 0;
        try (FaultCluster cluster = start()) {
            run(cluster, 0, "CREATE TABLE item (id bigint PRIMARY KEY, what varchar(1000000))");
            for (; rows < 90; rows++) {
                run(cluster, rows % 3, "INSERT INTO item VALUES (" + rows + ", 'all')");
            }
            assertRows(cluster, rows, 0, 1, 2);
            DriverClients clients = new DriverClients(cluster, "item");
            clients.whileKilling(2, 3);
            Set<Long> told = clients.told();
            assertTrue(told.size() > 10, "clients were at work: " + told.size());
            rows += told.size();
            assertRows(cluster, rows, 0, 1, 2);

            cluster.cluster.kill(1);
            run(cluster, 0, "INSERT INTO item VALUES (2000000, REPEAT('long', 100000))");
            rows++;
            assertRows(cluster, rows, 0, 2);
            cluster.cluster.kill(2);
            SQLException refused = assertThrows(SQLException.class, () -> {
                try (Connection connection = at(cluster, 0); Statement statement = connection.createStatement()) {
                    statement.setQueryTimeout(20);
                    statement.execute("INSERT INTO item VALUES (2000001, 'a minority')");
                }
            });
            assertNotNull(refused.getSQLState());

            // Two of three have forgotten: the one that remembers is no majority, and says so.
            cluster.cluster.startNode(1);
            cluster.cluster.startNode(2);
            Path log = Path.of(cluster.node(0).log());
            FaultCluster.await("the node says that the order is lost",
                    () -> text(log).contains("so many nodes have forgotten the order"));
            SQLException lost = assertThrows(SQLException.class,
                    () -> run(cluster, 0, "INSERT INTO item VALUES (2000002, 'lost')"));
            assertEquals("57P03", lost.getSQLState());
            assertTrue(lost.getMessage().contains("no majority remembers it"), lost.getMessage());
        }
    }
}
