package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.cli.NodeCommand;
import tutti.cluster.ClusterSpec;
import tutti.core.schema.Versions;

/**
 * Three nodes go to the next release, one after the other, while clients of the driver work. The next release is this one with two classes changed: it
 * speaks one version more, and since then what is in the log has one field more, which this release cannot read.
 */
@Tag("long")
class RollingUpgradeTest {
    private static final int NODES = 3;
    private static final int CLIENTS = 4;
    private static final Duration STOP = Duration.ofSeconds(60);

    @TempDir
    private Path directory;

    private Path next(String node) {
        return directory.resolve("next-" + node);
    }

    /** Its own classes come first for a node for which there are any. */
    private List<String> command() {
        List<String> command = new ArrayList<>(NodeCommand.line());
        int classPath = command.indexOf("-cp") + 1;
        command.set(classPath, next("{node}") + File.pathSeparator + command.get(classPath));
        return command;
    }

    private static String source(String module, String file) throws IOException {
        return Files.readString(Path.of("..", module, "src", "main", "java").resolve(file));
    }

    private static String changed(String source, String from, String to) {
        assertTrue(source.contains(from), () -> "there is no " + from);
        return source.replace(from, to);
    }

    private void compileNext() throws IOException {
        Path sources = Files.createDirectories(directory.resolve("sources"));
        int newest = Versions.SPOKEN.newest();
        Path versions = Files.writeString(sources.resolve("Versions.java"), changed(
                source("core", "tutti/core/schema/Versions.java"),
                "SPOKEN = new Versions(" + Versions.SPOKEN.oldest() + ", " + newest + ")",
                "SPOKEN = new Versions(" + Versions.SPOKEN.oldest() + ", " + (newest + 1) + ")"));
        Path batch = Files.writeString(sources.resolve("Batch.java"), changed(
                source("order", "tutti/order/batch/Batch.java"), "Batch::messages), Batch::new)",
                "Batch::messages), Field.<Batch, Long>of(\"next\", Types.LONG, _ -> 0L).since(" + (newest + 1)
                        + ", 0L), (sender, incarnation, sequence, messages, _) -> new Batch(sender, incarnation,"
                        + " sequence, messages))"));
        Path classes = Files.createDirectories(next("compiled"));
        assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null, "-proc:none", "-nowarn", "-d",
                classes.toString(), "-cp", System.getProperty("java.class.path"), versions.toString(),
                batch.toString()));
    }

    private void install(int node) {
        Path from = next("compiled");
        Path to = next(String.valueOf(node));
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : files.toList()) {
                Files.copy(file, to.resolve(from.relativize(file).toString()));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Set<Long> rows(FaultCluster cluster, int node) throws SQLException {
        Set<Long> ids = new TreeSet<>();
        try (Connection connection = cluster.connect(node);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT id FROM item")) {
            while (rows.next()) {
                ids.add(rows.getLong(1));
            }
        }
        return ids;
    }

    /** Something that may be done twice; a busy machine may take longer to let somebody in than a client waits. */
    private static void execute(FaultCluster cluster, int node, String sql) {
        FaultCluster.await(sql, () -> {
            try {
                cluster.execute(node, sql);
                return true;
            } catch (SQLException failed) {
                if (failed.getSQLState() == null || !failed.getSQLState().startsWith("08")) {
                    throw new AssertionError(sql, failed);
                }
                return false;
            }
        });
    }

    @Test
    void clientsSeeNothingButWhatTheyMayRepeat() throws Exception {
        compileNext();
        ClusterSpec spec = FaultCluster.spec(directory.resolve("cluster"), NODES, "si");
        try (FaultCluster cluster = FaultCluster.start(new ClusterSpec(spec.directory(), NODES, spec.basePort(),
                spec.protocol(), spec.database(), spec.password(), spec.settings(), command()))) {
            execute(cluster, 0, "CREATE TABLE IF NOT EXISTS item (id bigint PRIMARY KEY, text text)");
            DriverClients clients = new DriverClients(cluster, "item");
            for (int node = 0; node < NODES; node++) {
                int upgraded = node;
                clients.whileAway(upgraded, CLIENTS, () -> {
                    assertTrue(cluster.cluster.stop(upgraded, STOP), "it stops by itself");
                    install(upgraded);
                });
            }
            for (int node = 0; node < NODES; node++) {
                execute(cluster, node, "INSERT INTO item VALUES (" + node + ", 'all are new') ON CONFLICT DO NOTHING");
            }
            cluster.assertSame();
            Set<Long> there = rows(cluster, 0);
            there.removeIf(id -> id < NODES);
            clients.assertAre(there, "after the upgrade");
            assertTheReleaseBeforeSaysWhatIsWrong(cluster);
        }
    }

    /** Which also shows that the new version is spoken when all speak it. */
    private void assertTheReleaseBeforeSaysWhatIsWrong(FaultCluster cluster) throws Exception {
        assertTrue(cluster.cluster.stop(0, STOP), "it stops by itself");
        for (int i = 0; i < 2; i++) {
            execute(cluster, 1, "INSERT INTO item VALUES (" + (NODES + i) + ", 'without it') ON CONFLICT DO NOTHING");
        }
        try (Stream<Path> files = Files.walk(next("0"))) {
            for (Path file : files.sorted(java.util.Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
        cluster.cluster.startNode(0);
        FaultCluster.await("the release before stops", () -> !cluster.deaths.isEmpty());
        String log = Files.readString(Path.of(cluster.node(0).log()));
        assertTrue(log.contains("version " + (Versions.SPOKEN.newest() + 1)), () -> "its log: " + log);
    }
}
