package tutti.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.command.Failure;

class ClusterTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final BlockingQueue<String> deaths = new LinkedBlockingQueue<>();

    @TempDir
    private Path directory;

    private ClusterSpec spec(int nodes, String... environment) {
        List<String> command = new ArrayList<>(List.of("env"));
        command.addAll(List.of(environment));
        command.addAll(List.of(System.getProperty("java.home") + "/bin/java", "-XX:+UseSerialGC", "-Xshare:auto",
                "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), FakeNode.class.getName()));
        return new ClusterSpec(directory, nodes, 0, "si", "tutti", "secret", Map.of(), command);
    }

    private Cluster start(int nodes, String... environment) {
        return Cluster.start(spec(nodes, environment), (node, status) -> deaths.add(node.name() + " " + status));
    }

    @Test
    void everythingCanBeFoundInTheClusterFileWhileItRuns() throws Exception {
        List<ClusterFile.Node> stopped;
        try (Cluster cluster = start(2)) {
            cluster.awaitReady(0, PATIENCE);
            cluster.awaitReady(1, PATIENCE);
            ClusterFile file = ClusterFile.read(directory).orElseThrow();
            assertEquals(cluster.nodes(), file.nodes());
            assertEquals(ProcessHandle.current().pid(), file.supervisorPid());
            for (ClusterFile.Node node : file.nodes()) {
                assertTrue(ProcessHandle.of(node.pid()).orElseThrow().isAlive());
                assertEquals(node.processGroup(), NodeProcess.processGroup(node.pid()),
                        "a node leads a group of its own");
            }
            stopped = file.nodes();
        }
        for (ClusterFile.Node node : stopped) {
            assertFalse(ProcessHandle.of(node.pid()).map(ProcessHandle::isAlive).orElse(false));
        }
        assertTrue(ClusterFile.read(directory).orElseThrow().nodes().stream().allMatch(node -> node.pid() == 0));
        assertTrue(deaths.isEmpty(), () -> "a node that was stopped has not died: " + deaths);
    }

    @Test
    void aKilledNodeIsGoneWithAllItsDescendantsAndCanBeStartedAgainOnTheSamePorts() throws Exception {
        try (Cluster cluster = start(2)) {
            cluster.awaitReady(0, PATIENCE);
            cluster.awaitReady(1, PATIENCE);
            ClusterFile.Node before = cluster.nodes().get(1);
            long child = childrenOf(before)[0];
            assertNotEquals(before.processGroup(), NodeProcess.processGroup(child), "the child has a group of its own");

            cluster.kill(1);

            assertFalse(cluster.isRunning(1));
            assertFalse(ProcessHandle.of(before.pid()).map(ProcessHandle::isAlive).orElse(false));
            assertFalse(ProcessHandle.of(child).map(ProcessHandle::isAlive).orElse(false));
            assertTrue(cluster.status(1).isEmpty());
            assertTrue(cluster.status(0).isPresent());

            cluster.startNode(1);
            cluster.awaitReady(1, PATIENCE);
            assertEquals(before.withProcess(0), cluster.nodes().get(1).withProcess(0));
            assertTrue(deaths.isEmpty(), () -> "a node that was killed here has not died on its own: " + deaths);
        }
    }

    @Tag("long")
    @Test
    void aNodeThatDiesOnItsOwnIsReportedAndLeavesNothingOfItsGroupBehind() throws Exception {
        try (Cluster cluster = start(1)) {
            cluster.awaitReady(0, PATIENCE);
            long[] children = childrenOf(cluster.nodes().get(0));
            ProcessHandle.of(cluster.nodes().get(0).pid()).orElseThrow().destroyForcibly();
            assertEquals("node-0 137", deaths.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS));
            assertFalse(cluster.isRunning(0));
            assertEquals(0, cluster.nodes().get(0).pid());
            assertFalse(ProcessHandle.of(children[1]).map(ProcessHandle::isAlive).orElse(false));
            ProcessHandle.of(children[0]).ifPresent(ProcessHandle::destroyForcibly);
        }
    }

    @Test
    void aNodeThatCannotStartIsExplainedByTheEndOfItsLog() {
        try (Cluster cluster = start(1, "FAKE_NODE_REFUSES=1")) {
            Failure failure = assertThrows(Failure.class, () -> cluster.awaitReady(0, PATIENCE));
            assertTrue(failure.getMessage().contains("node-0 has ended before it was ready"), failure.getMessage());
            assertTrue(failure.getMessage().contains("cannot start: the disk is full"), failure.getMessage());
        }
    }

    @Test
    void portsAreKeptFromStartToStartAsLongAsTheyAreFree() throws Exception {
        List<ClusterFile.Node> first = planned();
        assertEquals(first, planned());
        try (ServerSocket taken = new ServerSocket(first.get(0).httpPort())) {
            assertTrue(taken.isBound());
            List<ClusterFile.Node> second = planned();
            assertNotEquals(first.get(0).httpPort(), second.get(0).httpPort());
            assertEquals(first.get(0).postgresPort(), second.get(0).postgresPort());
            assertEquals(first.get(1), second.get(1));
        }
    }

    @Test
    void thePortsOfTheOrderAreForGood() throws Exception {
        List<ClusterFile.Node> first = planned();
        try (ServerSocket taken = new ServerSocket(first.get(1).orderPort())) {
            assertTrue(taken.isBound());
            Failure failure = assertThrows(Failure.class, this::planned);
            assertTrue(failure.getMessage().contains("port " + first.get(1).orderPort()
                    + ", at which the other nodes look for node-1, is taken"), failure.getMessage());
        }
        assertEquals(first, planned());
    }

    private List<ClusterFile.Node> planned() {
        try (Ports ports = new Ports()) {
            List<ClusterFile.Node> plan = spec(2).plan(ports);
            new ClusterFile("tutti", "", 1, "secret", "jdbc:tutti://", plan).write(directory);
            return plan;
        }
    }

    /** Neither listens anywhere yet. */
    @Test
    void twoClustersThatStartAtTheSameTimeGetDifferentPorts() {
        try (Ports ports = new Ports(); Ports others = new Ports()) {
            Set<Integer> all = new HashSet<>();
            List<ClusterFile.Node> both = new ArrayList<>(spec(3).plan(ports));
            both.addAll(spec(3).plan(others));
            for (ClusterFile.Node node : both) {
                all.addAll(
                        List.of(node.postgresPort(), node.httpPort(), node.orderPort(), node.databasePort()));
            }
            assertEquals(24, all.size(), both::toString);
        }
    }

    @Test
    void aDirectoryBelongsToOneCommandAtATime() {
        try (Cluster cluster = start(1)) {
            Failure failure = assertThrows(Failure.class, () -> start(1));
            assertTrue(failure.getMessage().contains("(process " + ProcessHandle.current().pid() + ")"),
                    failure.getMessage());
            assertTrue(cluster.isRunning(0));
        }
    }

    @Test
    void aClusterCannotChangeItsSizeUnnoticed() {
        planned();
        Failure failure = assertThrows(Failure.class, () -> spec(3).plan(new Ports()));
        assertTrue(failure.getMessage().contains("holds a cluster of 2 nodes, not 3"), failure.getMessage());
    }

    @Test
    void aDamagedClusterFileIsExplained() throws Exception {
        Files.writeString(directory.resolve("cluster.json"), "{");
        Failure failure = assertThrows(Failure.class, () -> spec(3).plan(new Ports()));
        assertTrue(failure.getMessage().contains("remove the file"), failure.getMessage());
    }

    private static long[] childrenOf(ClusterFile.Node node) throws Exception {
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(node.httpUrl() + "/metrics")).build();
            String page = client.send(request, HttpResponse.BodyHandlers.ofString()).body();
            String[] words = page.strip().split(" ", -1);
            return new long[]{Long.parseLong(words[1]), Long.parseLong(words[2])};
        }
    }
}
