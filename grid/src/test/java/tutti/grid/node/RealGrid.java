package tutti.grid.node;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.grid.CommitProtocol;
import tutti.grid.IsolationLevel;
import tutti.grid.store.GroupOwners;
import tutti.grid.store.Owners;
import tutti.grid.store.RingOwners;
import tutti.grid.view.Layout;
import tutti.runtime.real.FreePorts;

/** Real nodes, in this process or each in its own, and what they have told so far. For one thread. */
final class RealGrid implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(150);
    private static final int SESSIONS = 10;

    private final CommitProtocol protocol;
    private final IsolationLevel level;
    private final int degree;
    private final int crashes;
    private final int keys;
    private final boolean processes;
    private final long l1BytesMax;
    private boolean lost;
    private final Map<Integer, Integer> ports = new TreeMap<>();
    private final Set<Integer> founders;
    private final Map<Integer, Node> nodes = new TreeMap<>();
    private final List<Node> all = new ArrayList<>();

    /** One, from its start to its end. */
    private final class Node {
        private final int number;
        private final List<String> lines = new ArrayList<>();
        private RealNode.@Nullable State state;
        private @Nullable String answer;
        private @Nullable RealNode here;
        private @Nullable Process process;
        private @Nullable PrintWriter to;

        Node(RealNode.Setting setting) throws IOException {
            number = setting.self();
            if (!processes) {
                here = new RealNode(setting, this::told);
                return;
            }
            List<String> command = new ArrayList<>(List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx200m", "-XX:+UseSerialGC",
                    "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
                    RealNode.class.getName()));
            command.addAll(List.of(setting.arguments()));
            Process started = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
            process = started;
            to = new PrintWriter(started.outputWriter(StandardCharsets.UTF_8), true);
            BufferedReader out = started.inputReader(StandardCharsets.UTF_8);
            Thread.ofPlatform().daemon().start(() -> {
                try {
                    for (String line = out.readLine(); line != null; line = out.readLine()) {
                        if (line.startsWith(RealNode.MARK)) {
                            told(line.substring(RealNode.MARK.length()));
                        }
                    }
                } catch (IOException killed) {
                    // What it has said before is there.
                }
            });
        }

        private void told(String line) {
            synchronized (RealGrid.this) {
                if (RealNode.State.isOne(line)) {
                    state = RealNode.State.of(line);
                } else if (line.startsWith("newest") || line.equals("left") || line.equals("stays")) {
                    answer = line;
                } else {
                    lines.add(line);
                }
                RealGrid.this.notifyAll();
            }
        }

        void command(String line) {
            RealNode local = here;
            PrintWriter other = to;
            if (local != null) {
                local.command(line);
            } else if (other != null) {
                other.println(line);
            }
        }

        void kill() {
            RealNode local = here;
            Process other = process;
            if (local != null) {
                local.close();
            } else if (other != null) {
                other.destroyForcibly().onExit().join();
            }
        }
    }

    RealGrid(CommitProtocol protocol, IsolationLevel level, int nodeCount, int degree, int crashes, int keys,
            long l1BytesMax, boolean processes) throws IOException {
        this.l1BytesMax = l1BytesMax;
        this.protocol = protocol;
        this.level = level;
        this.degree = degree;
        this.crashes = crashes;
        this.keys = keys;
        this.processes = processes;
        for (InetSocketAddress free : FreePorts.addresses(nodeCount)) {
            ports.put(ports.size(), free.getPort());
        }
        founders = Set.copyOf(ports.keySet());
        founders.stream().sorted().forEach(this::start);
    }

    private boolean isByGroups() {
        return protocol == CommitProtocol.GROUPS;
    }

    Set<Integer> nodes() {
        return new TreeSet<>(nodes.keySet());
    }

    /** Starts a node, with the number of none that runs; one that was there before knows what it knew. */
    void start(int number) {
        try {
            if (!ports.containsKey(number)) {
                ports.put(number, FreePorts.addresses(1).getFirst().getPort());
            }
            Map<Integer, Integer> known = new TreeMap<>(ports);
            known.keySet().removeIf(node -> node != number && !founders.contains(node));
            Node started = new Node(new RealNode.Setting(protocol, level, number, known, degree, crashes, keys,
                    l1BytesMax, SESSIONS * all.size()));
            nodes.put(number, started);
            all.add(started);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** Ends a node as a crash does. */
    void crash(int number) {
        Node victim = nodes.remove(number);
        if (victim != null) {
            victim.kill();
        }
    }

    /** Moves what lies on a node to others, and ends it. */
    void leave(int number) {
        Node leaver = node(number);
        leaver.command("leave");
        await("node " + number + " does not leave", () -> "left".equals(leaver.answer));
        crash(number);
    }

    private Node node(int number) {
        Node node = nodes.get(number);
        if (node == null) {
            throw new IllegalArgumentException("node " + number + " does not run");
        }
        return node;
    }

    /** Cuts some nodes off from the others: what they send is held back, or connections break. */
    void cut(Set<Integer> some, boolean breaks) {
        nodes.forEach((number, node) -> {
            Set<Integer> other = nodes.keySet().stream().filter(one -> some.contains(one) != some.contains(number))
                    .map(ports::get).collect(Collectors.toSet());
            node.command((breaks ? "part " : "hold ") + RealNode.text(other));
        });
    }

    /** The network is whole again. */
    void heal() {
        cut(Set.of(), false);
    }

    private synchronized void await(String otherwise, BooleanSupplier until) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!until.getAsBoolean()) {
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                throw new AssertionError(otherwise + ": " + states());
            }
            try {
                wait(Math.max(1, left / 1_000_000));
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
        }
    }

    private String states() {
        return nodes.values().stream().map(node -> node.number + ": " + node.state).collect(Collectors.joining("\n"));
    }

    /** Waits until some nodes are no members of what others are in. */
    void awaitExcluded(Set<Integer> some) {
        await(some + " are not left out", () -> nodes.values().stream().filter(node -> !some.contains(node.number))
                .allMatch(node -> node.state != null && node.state.members().stream().noneMatch(some::contains)));
    }

    /** Waits until clients have committed so many transactions more, in all. */
    void awaitTransactions(int more) {
        int[] before = {-1};
        await("clients do not go on", () -> {
            int now = all.stream().mapToInt(node -> node.lines.size()).sum();
            before[0] = before[0] < 0 ? now : before[0];
            return now - before[0] >= more * 5;
        });
    }

    /** Waits until keys lie on all nodes, and all are members; without views, until they hear each other. */
    void awaitWhole() {
        Set<Integer> there = nodes();
        await("keys do not lie on all nodes", () -> nodes.values().stream().allMatch(node -> {
            RealNode.State state = node.state;
            if (state != null && state.lost()) {
                // More nodes than that were taken for dead at a time: a machine that has too much to do.
                lost = true;
                node.command("accept-loss");
            }
            return state != null && state.member() && state.members().equals(there)
                    && (isByGroups() || (state.owners().equals(there) && state.phase() == Layout.Phase.STABLE));
        }));
    }

    /** Whether more nodes were left out at a time than keys have owners, so that nothing can be judged. */
    boolean isLost() {
        return lost;
    }

    /** Has all clients stop, and looks at what there is when all has come to rest. */
    List<String> judge(Function<GridHistory, String> figures, List<String> figuresTo) {
        nodes.values().forEach(node -> node.command("stop"));
        await("transactions are kept", () -> nodes.values().stream()
                .allMatch(node -> node.state != null && node.state.resting() && node.state.kept() == 0));
        GridHistory history = new GridHistory(level);
        synchronized (this) {
            all.forEach(node -> node.lines.stream().filter(WitnessLines::isApplied)
                    .forEach(line -> WitnessLines.tell(line, history)));
            all.forEach(node -> node.lines.stream().filter(line -> !WitnessLines.isApplied(line))
                    .forEach(line -> WitnessLines.tell(line, history)));
        }
        figuresTo.add(figures.apply(history));
        List<String> wrong = new ArrayList<>(history.failures());
        wrong.addAll(history.judge());
        // What has expired is dropped some heartbeats later.
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        List<String> differing = differing(history);
        while (!differing.isEmpty() && System.nanoTime() < deadline) {
            differing = differing(history);
        }
        wrong.addAll(differing);
        return wrong;
    }

    private List<String> differing(GridHistory history) {
        Map<Integer, long[]> newest = new TreeMap<>();
        nodes.values().forEach(node -> {
            node.answer = null;
            node.command("newest");
        });
        await("nodes do not answer", () -> nodes.values().stream().allMatch(node -> node.answer != null));
        nodes.forEach((number, node) -> newest.put(number, Arrays.stream(String.valueOf(node.answer).split(" ")).skip(1)
                .mapToLong(Long::parseLong).toArray()));
        Owners owners = isByGroups()
                ? new GroupOwners(founders, degree)
                : new RingOwners(nodes.keySet(), new int[]{degree});
        return history.owners(nodes.keySet(), owners, (node, key) -> {
            long[] of = newest.get(node);
            return of == null ? 0 : of[java.nio.ByteBuffer.wrap(key.bytes()).getInt()];
        });
    }

    @Override
    public void close() {
        List.copyOf(nodes.keySet()).forEach(this::crash);
    }
}
