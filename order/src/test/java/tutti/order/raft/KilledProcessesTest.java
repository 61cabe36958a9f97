package tutti.order.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Nodes in processes of their own that are killed without warning. */
@Timeout(90)
class KilledProcessesTest {
    @TempDir
    private Path directory;

    private Map<Integer, InetSocketAddress> members = Map.of();
    private final Map<Integer, Node> nodes = new TreeMap<>();

    /** A process and everything it has said. */
    private static final class Node {
        private final Process process;
        private final PrintWriter to;
        private final List<String> said = new ArrayList<>();

        Node(List<String> command) throws IOException {
            process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            to = new PrintWriter(process.outputWriter(StandardCharsets.UTF_8), true);
            BufferedReader from = process.inputReader(StandardCharsets.UTF_8);
            Thread.ofPlatform().daemon().start(() -> from.lines().forEach(this::say));
        }

        private synchronized void say(String line) {
            said.add(line);
            notifyAll();
        }

        synchronized List<String> deliveries() {
            return said.stream().filter(l -> l.startsWith("D ")).toList();
        }

        synchronized int await(Predicate<String> wanted, int from, String what) throws InterruptedException {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(40);
            for (int i = from;; i++) {
                while (i >= said.size()) {
                    long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
                    if (left <= 0) {
                        throw new AssertionError("waited for " + what + ", the last of " + said.size() + " lines is "
                                + said.getLast());
                    }
                    wait(left);
                }
                if (wanted.test(said.get(i))) {
                    return i;
                }
            }
        }

        synchronized int lines() {
            return said.size();
        }

        synchronized int leader() {
            return Integer.parseInt(said.stream().filter(l -> l.startsWith("V ")).toList().getLast().split(" ", -1)[1]);
        }
    }

    private void start(int node) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx256m", "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), OrderProcess.class.getName(),
                String.valueOf(node), directory.toString()));
        members.values().forEach(a -> command.add(String.valueOf(a.getPort())));
        nodes.put(node, new Node(command));
    }

    private void kill(int node) throws InterruptedException {
        Process process = nodes.get(node).process;
        process.destroyForcibly();
        assertTrue(process.waitFor(10, TimeUnit.SECONDS));
    }

    @AfterEach
    void killAll() {
        nodes.values().forEach(n -> n.process.destroyForcibly());
    }

    private void submit(int node, String prefix, int count) {
        for (int i = 0; i < count; i++) {
            nodes.get(node).to.println(prefix + i);
        }
    }

    @Tag("long")
    @Test
    void killedNodesRejoinAndNothingDeliveredIsLost() throws Exception {
        members = RaftNodes.members(3);
        for (int node = 0; node < 3; node++) {
            start(node);
        }
        for (Node node : nodes.values()) {
            node.await(l -> l.matches("V [0-2] 3 true"), 0, "three members and a leader");
        }
        for (int node = 0; node < 3; node++) {
            submit(node, "first-" + node + "-", 500);
        }
        for (Node node : nodes.values()) {
            node.await(l -> l.startsWith("D 1500 "), 0, "1500 deliveries");
        }

        int leader = nodes.get(0).leader();
        int other = (leader + 1) % 3;
        int third = (leader + 2) % 3;
        submit(other, "during-", 2000);
        long killed = System.nanoTime();
        int from = nodes.get(other).lines();
        kill(leader);
        nodes.get(other).await(l -> l.matches("V [0-2] 2 true") && !l.startsWith("V " + leader), from,
                "another leader");
        Duration without = Duration.ofNanos(System.nanoTime() - killed);
        assertTrue(without.toMillis() < 10_000, "a new leader after " + without);
        submit(third, "after-", 100);
        nodes.get(other).await(l -> l.startsWith("D 3600 "), 0, "all of the survivors' messages");
        List<String> all = nodes.get(other).deliveries();

        start(leader);
        nodes.get(leader).await(l -> l.startsWith("D 3600 "), 0, "what it missed");
        assertEquals(all, nodes.get(leader).deliveries());

        for (int node = 0; node < 3; node++) {
            kill(node);
        }
        for (int node = 0; node < 3; node++) {
            start(node);
        }
        submit(0, "last-", 1);
        for (Node node : nodes.values()) {
            node.await(l -> l.startsWith("D 3601 "), 0, "everything after all were killed");
            assertEquals(all, node.deliveries().subList(0, 3600));
        }
        List<String> payloads = all.stream().map(l -> l.split(" ", 3)[2]).distinct().toList();
        assertEquals(3600, payloads.size());
    }
}
