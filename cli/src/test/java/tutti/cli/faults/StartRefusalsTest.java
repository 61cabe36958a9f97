package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.cli.NodeCommand;
import tutti.cluster.ClusterFile;

/** What a node says that cannot start, and that it leaves everything as it was. */
@Tag("long")
class StartRefusalsTest {
    @TempDir
    private Path directory;

    /** How `tutti node` ended. */
    private record End(int status, String said) {
        void is(String... words) {
            assertEquals(1, status, said);
            for (String word : words) {
                assertTrue(said.contains(word), () -> "\"" + word + "\" is missing in: " + said);
            }
        }
    }

    private static End node(Path config) throws IOException, InterruptedException {
        List<String> line = new ArrayList<>(NodeCommand.line());
        line.addAll(List.of("node", "--config", config.toString(), "--stop-on-eof"));
        Process process = new ProcessBuilder(line).redirectErrorStream(true).start();
        Thread limit = Thread.ofVirtual().start(() -> {
            try {
                if (!process.waitFor(FaultCluster.PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                    process.destroy();
                }
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
        });
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        int status = process.waitFor();
        limit.interrupt();
        return new End(status, said);
    }

    private static Path edited(ClusterFile.Node node, String from, String to) throws IOException {
        Path config = Path.of(node.config());
        String text = Files.readString(config);
        assertTrue(text.contains(from), text);
        return Files.writeString(config.resolveSibling("edited.yaml"), text.replace(from, to));
    }

    private static ServerSocket taken(int port) throws IOException {
        return new ServerSocket(port, 1, InetAddress.getLoopbackAddress());
    }

    @Test
    void whatIsInTheWayIsNamedAndNothingIsChanged() throws Exception {
        ClusterFile.Node node;
        try (FaultCluster cluster = FaultCluster.start(directory, 2)) {
            node = cluster.node(0);
            Ledger.create(cluster);
            Path config = Path.of(node.config());
            String data = "data: data\n";
            String port = "port: ";

            // A second process with the same configuration, as it is and on ports of its own.
            node(config).is("cannot listen at 127.0.0.1:" + node.postgresPort(), "perhaps this node already runs");
            Path elsewhere = edited(node, port + node.postgresPort(), port + (node.postgresPort() + 4));
            Files.writeString(elsewhere, Files.readString(elsewhere).replace(port + node.httpPort(),
                    port + (node.httpPort() + 4)));
            node(elsewhere).is("is in use by another process", "stop that first, or use another directory");
            // The same node with another directory: its place in the order is taken, and so is its database's port.
            Files.writeString(elsewhere, Files.readString(elsewhere).replace(data, "data: other\n").replace(
                    port + node.databasePort(), port + (node.databasePort() + 4)));
            node(elsewhere).is("node 0 cannot listen at 127.0.0.1:" + node.orderPort(),
                    "perhaps this node already runs");
            Files.writeString(elsewhere, Files.readString(elsewhere).replace(
                    port + (node.databasePort() + 4), port + node.databasePort()));
            node(elsewhere).is("port " + node.databasePort(), "in use");
            assertTrue(cluster.beneathValue(0, "SELECT count(*) FROM account") == 200);
            assertTrue(cluster.cluster.isRunning(0));
        }
        List<Integer> ports = List.of(node.postgresPort(), node.httpPort(), node.orderPort(), node.databasePort());
        for (int port : ports) {
            try (ServerSocket other = taken(port)) {
                assertTrue(other.isBound());
                node(Path.of(node.config())).is(Integer.toString(port), "use");
            }
        }
        node(edited(node, "node: 0", "nod: 0")).is("nod", "node");
        node(edited(node, "members:\n", "members:\n  - {id: 2, name: more, order: \"127.0.0.1:1\"}\n"))
                .is("belongs to", "use the same member list as before");
        node(edited(node, "protocol: si", "protocol: sy")).is("protocol", "si");

        damagesOfTheLogAreNamed(node);

        // None of it has done any harm.
        try (FaultCluster cluster = FaultCluster.start(directory, 2)) {
            assertEquals(200, cluster.beneathValue(0, "SELECT count(*) FROM account"));
        }
    }

    private static void damagesOfTheLogAreNamed(ClusterFile.Node node) throws Exception {
        Path log = Path.of(node.config()).resolveSibling("data").resolve("order").resolve("log");
        Path first;
        try (Stream<Path> files = Files.list(log)) {
            first = files.filter(Files::isRegularFile).sorted().findFirst().orElseThrow();
        }
        int original;
        try (RandomAccessFile file = new RandomAccessFile(first.toFile(), "rw")) {
            file.seek(200);
            original = file.read();
            file.seek(200);
            file.write(original ^ 0xff);
        }
        End damaged = node(Path.of(node.config()));
        damaged.is(first.getFileName().toString());
        assertFalse(damaged.said().contains("NullPointer"), damaged.said());
        try (RandomAccessFile file = new RandomAccessFile(first.toFile(), "rw")) {
            file.seek(200);
            file.write(original);
        }
        Path aside = log.resolveSibling("aside");
        Files.move(log, aside);
        node(Path.of(node.config())).is("is gone");
        if (Files.exists(log)) {
            Files.delete(log);
        }
        Files.move(aside, log);
    }
}
