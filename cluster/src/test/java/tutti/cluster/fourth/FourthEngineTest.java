package tutti.cluster.fourth;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.cluster.Cluster;
import tutti.cluster.ClusterFile;
import tutti.cluster.ClusterSpec;
import tutti.server.NodeProgram;

/** Runs nodes with an engine that only these tests have. */
@Tag("long")
class FourthEngineTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    private Path directory;

    @Test
    @Timeout(180)
    void nodesAreConfiguredWithItReplicateAndStartAgain() throws Exception {
        ClusterSpec spec = new ClusterSpec(directory, 2, 0, "si", "tutti", "secret",
                Map.of(ClusterSpec.ENGINE, CompressedH2Engine.NAME, ClusterSpec.SECONDARIES, "1"),
                List.of(System.getProperty("java.home") + "/bin/java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                        "-Xmx256m", "-cp",
                        System.getProperty("java.class.path"), NodeProgram.class.getName()));
        try (Cluster cluster = start(spec);
                Connection connection = connect(cluster, 0);
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE item (id int PRIMARY KEY, what text)");
            statement.execute("INSERT INTO item VALUES (1, 'one')");
            assertTrue(cluster.status(1).orElseThrow().database().startsWith("H2, compressed 2."));
            cluster.kill(1);
            try (Stream<Path> files = Files.list(directory.resolve("node-1"))) {
                assertTrue(files.findAny().isPresent());
            }
            cluster.startNode(1);
            cluster.awaitReady(1, PATIENCE);
            try (Connection other = connect(cluster, 1);
                    Statement reading = other.createStatement();
                    ResultSet rows = reading.executeQuery("SELECT what FROM item WHERE id = 1")) {
                assertTrue(rows.next());
                assertEquals("one", rows.getString(1));
            }
        }
    }

    private static Cluster start(ClusterSpec spec) {
        Cluster cluster = Cluster.start(spec, (node, status) -> {
            throw new AssertionError(node.name() + " has ended with " + status);
        });
        for (ClusterFile.Node node : cluster.nodes()) {
            cluster.awaitReady(node.id(), PATIENCE);
        }
        return cluster;
    }

    private static Connection connect(Cluster cluster, int node) throws Exception {
        return DriverManager.getConnection(cluster.nodes().get(node).jdbcUrl());
    }
}
