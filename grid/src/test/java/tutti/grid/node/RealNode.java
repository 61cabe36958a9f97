package tutti.grid.node;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.view.Layout;
import tutti.runtime.real.RealMachine;
import tutti.sim.kernel.RandomStream;

/**
 * A real node with clients, which says by lines what they do ({@link WitnessLines}) and, with each heartbeat, how it is ({@code state …}). It is told by lines what to do. In this
 * process, or by {@link #main} in one of its own.
 */
final class RealNode implements AutoCloseable {
    private static final int CLIENTS = 3;
    private static final int PAUSE_MICROS_MAX = 20_000;
    /** Marks lines for the test among what else a process may print. */
    static final String MARK = "> ";

    /**
     * Which.
     *
     * @param ports of the nodes that it is to know, itself among them, by number
     * @param session of its first client
     */
    record Setting(CommitProtocol protocol, IsolationLevel level, int self, Map<Integer, Integer> ports, int degree,
            int crashes, int keys, long l1BytesMax, int session) {
        String[] arguments() {
            return new String[]{protocol.name(), level.name(), self + "",
                    ports.entrySet().stream().map(port -> port.getKey() + ":" + port.getValue())
                            .collect(Collectors.joining(",")),
                    degree + "", crashes + "", keys + "", l1BytesMax + "", session + ""};
        }

        static Setting of(String[] from) {
            Map<Integer, Integer> ports = new TreeMap<>();
            for (String port : from[3].split(",", -1)) {
                ports.put(number(port.split(":", -1)[0]), number(port.split(":", -1)[1]));
            }
            return new Setting(CommitProtocol.valueOf(from[0]), IsolationLevel.valueOf(from[1]), number(from[2]), ports,
                    number(from[4]), number(from[5]), number(from[6]), number(from[7]),
                    number(from[8]));
        }

        GridConfig config() {
            Map<Integer, InetSocketAddress> addresses = new TreeMap<>();
            ports.forEach(
                    (node, port) -> addresses.put(node, new InetSocketAddress(InetAddress.getLoopbackAddress(), port)));
            return GridConfig
                    .of("test", self, addresses,
                            List.of(GridConfig.CacheConfig.of("cache", degree).withL1BytesMax(l1BytesMax)),
                            protocol)
                    .withCrashes(crashes).withHeartbeat(Duration.ofMillis(100), Duration.ofSeconds(3))
                    .withTimeouts(Duration.ofMillis(300), Duration.ofSeconds(8), Duration.ofSeconds(10));
        }
    }

    /** How a node is. */
    record State(boolean member, long view, Set<Integer> members, Layout.Phase phase, Set<Integer> owners, boolean lost,
            int kept, boolean resting) {
        private static final String KIND = "state ";

        private String line() {
            return KIND + member + ' ' + view + ' ' + text(members) + ' ' + phase + ' ' + text(owners) + ' ' + lost
                    + ' '
                    + kept + ' ' + resting;
        }

        static boolean isOne(String line) {
            return line.startsWith(KIND);
        }

        static State of(String line) {
            String[] parts = line.split(" ", -1);
            return new State(Boolean.parseBoolean(parts[1]), Long.parseLong(parts[2]), set(parts[3]),
                    Layout.Phase.valueOf(parts[4]), set(parts[5]), Boolean.parseBoolean(parts[6]), number(parts[7]),
                    Boolean.parseBoolean(parts[8]));
        }
    }

    private final Setting setting;
    private final Consumer<String> told;
    private final CutMachine machine = new CutMachine();
    private final GridNode node;
    private final List<GridClient> clients = new ArrayList<>();

    RealNode(Setting setting, Consumer<String> told) throws IOException {
        this.setting = setting;
        this.told = told;
        WitnessLines witness = new WitnessLines(told);
        node = new GridNode(setting.config(), machine, witness);
        for (int i = 0; i < CLIENTS; i++) {
            int session = setting.session + i;
            clients.add(new GridClient(session, node,
                    new GridClient.Habits(setting.level, setting.keys, PAUSE_MICROS_MAX), Integer.MAX_VALUE,
                    new RandomStream(session), RealMachine.INSTANCE.clock()::nanoTime, witness, () -> {}));
        }
        node.loop().execute(() -> {
            clients.forEach(GridClient::start);
            sayState();
        });
    }

    private static int number(String text) {
        return Integer.parseInt(text);
    }

    static String text(Set<Integer> nodes) {
        return nodes.isEmpty() ? "-" : nodes.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    static Set<Integer> set(String text) {
        return text.equals("-")
                ? Set.of()
                : Arrays.stream(text.split(",", -1)).map(Integer::valueOf)
                        .collect(Collectors.toCollection(TreeSet::new));
    }

    private void sayState() {
        boolean resting = clients.stream().allMatch(GridClient::isDone);
        if (node.isMember()) {
            GridStatus status = node.status();
            told.accept(new State(true, status.view(), status.members(), status.layout().phase(),
                    status.layout().after(), status.lost(), status.kept(), resting).line());
        } else {
            told.accept(new State(false, 0, Set.of(), Layout.Phase.STABLE, Set.of(), false, 0, resting).line());
        }
        node.loop().schedule(setting.config().heartbeat().toNanos(), this::sayState);
    }

    /** Does what a line says. */
    void command(String line) {
        String[] parts = line.split(" ", -1);
        switch (parts[0]) {
            case "hold" -> machine.hold(set(parts[1]));
            case "part" -> machine.part(set(parts[1]));
            case "stop" -> node.loop().execute(() -> clients.forEach(GridClient::stop));
            case "leave" -> node.loop().execute(() -> node.leave(new GridTransaction.Answer<>() {
                @Override
                public void is(GridNode left) {
                    told.accept("left");
                }

                @Override
                public void failed(GridException why) {
                    told.accept("stays");
                }
            }));
            case "accept-loss" -> node.loop().execute(() -> {
                if (node.isMember()) {
                    node.acceptLoss();
                }
            });
            case "newest" -> node.loop().execute(() -> {
                StringBuilder all = new StringBuilder("newest");
                for (int i = 0; i < setting.keys; i++) {
                    all.append(' ').append(node.newest(GridClient.key(i)).stamp());
                }
                told.accept(all.toString());
            });
            default -> throw new IllegalArgumentException(line);
        }
    }

    @Override
    public void close() {
        node.close();
    }

    /** A process of its own, until its input ends. */
    public static void main(String[] arguments) throws IOException {
        PrintStream out = System.out;
        try (RealNode node = new RealNode(Setting.of(arguments), line -> out.println(MARK + line));
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                node.command(line);
            }
        }
        // Whatever still runs.
        System.exit(0);
    }
}
