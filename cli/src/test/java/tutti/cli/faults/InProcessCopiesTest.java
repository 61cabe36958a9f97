package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.cluster.ClusterSpec;
import tutti.command.Trees;

/** Nodes with H2 or HSQLDB begin anew with copies that others give them. */
@Tag("long")
class InProcessCopiesTest {
    @TempDir
    private Path directory;

    private static void execute(FaultCluster cluster, int node, String... statements) throws SQLException {
        try (Connection connection = cluster.connect(node); Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static String items(FaultCluster cluster, int node) {
        try (Connection connection = cluster.connect(node);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT count(*), sum(id), max(what) FROM item")) {
            rows.next();
            return rows.getLong(1) + " " + rows.getLong(2) + " " + rows.getString(3);
        } catch (SQLException between) {
            return String.valueOf(between.getMessage());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "hsqldb"})
    @Timeout(180)
    void aNodeThatHasLostEverythingGetsItFromAnother(String engine) throws Exception {
        ClusterSpec spec = FaultCluster.with(FaultCluster.spec(directory.resolve(engine), 3, "si"), ClusterSpec.ENGINE,
                engine);
        try (FaultCluster cluster = FaultCluster.start(spec)) {
            execute(cluster, 0, "CREATE TABLE item (id bigint PRIMARY KEY, what varchar(20))",
                    "CREATE INDEX what ON item (what)");
            for (int i = 0; i < 50; i++) {
                execute(cluster, i % 3, "INSERT INTO item VALUES (" + i + ", 'before')");
            }
            for (int node : new int[]{2, 0}) {
                cluster.cluster.kill(node);
                Trees.delete(Path.of(cluster.node(node).config()).resolveSibling("data"));
                execute(cluster, 1, "INSERT INTO item VALUES (" + (100 + node) + ", 'without')");
                cluster.cluster.startNode(node);
                cluster.awaitReady(node);
                execute(cluster, node, "INSERT INTO item VALUES (" + (200 + node) + ", 'with it')");
            }
            String all = "54 " + (49 * 25 + 100 + 102 + 200 + 202) + " without";
            for (int node = 0; node < 3; node++) {
                int at = node;
                FaultCluster.await("node " + node + " has all", () -> items(cluster, at).equals(all));
                assertEquals(all, items(cluster, node));
            }
        }
    }
}
