package tutti.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tutti.cluster.Cluster;
import tutti.cluster.ClusterFile;
import tutti.cluster.ClusterSpec;
import tutti.cluster.NodeJvm;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.command.Trees;
import tutti.report.MeasurementOptions;
import tutti.server.http.NodeStatus;

/** Measures how long clients of the driver wait when a node is lost, and with what. */
@Command(name = "failover", description = "Three nodes, of which one is killed, paused or stopped again and again: how long"
        + " clients of the JDBC driver wait for their next commit, and what of it is noticing, election, and the rest.")
final class FailoverCommand implements Callable<Integer> {
    private static final int NODES = 3;
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final long WAIT_NANOS_MAX = TimeUnit.SECONDS.toNanos(30);
    /** So long the driver tries a node that it has lost after all others. */
    private static final int AVOIDED_MILLIS = 5500;
    private static final int REST_MILLIS_MIN = 1500;
    private static final int REST_MILLIS_SPREAD = 1000;

    /** What is done to a node. */
    enum Fault {
        /** The leader is killed. */
        KILL_LEADER,
        /** Another one is killed. */
        KILL_FOLLOWER,
        /** The leader and its database stand still, their connections stay. */
        PAUSE_LEADER,
        /** The leader is asked to stop. */
        STOP_LEADER;

        String label() {
            return name().toLowerCase(Locale.ROOT).replace('_', ' ');
        }
    }

    /** One loss of a node, in milliseconds since then; NaN for what was not seen. */
    record Loss(Fault fault, double noticed, double elected, double atSurvivor, double atLost, double atOthers) {}

    @Option(names = "--faults", paramLabel = "X", split = ",", defaultValue = "KILL_LEADER,KILL_FOLLOWER,PAUSE_LEADER,STOP_LEADER", description = "What is done: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private List<Fault> faults = List.of();

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "10", description = "How often each (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(names = "--order", paramLabel = "YAML", defaultValue = "", description = "The order's part of the nodes' configuration, such as {election-timeout: 600ms} (default: its defaults).")
    private String order;

    @Mixin
    private MeasurementOptions measuring = new MeasurementOptions();

    private final Random random = new Random(1);

    @Override
    public Integer call() throws Exception {
        if (rounds < 1 || rounds > 1000) {
            throw new Failure("--rounds must be 1 to 1000, was " + rounds, "");
        }
        Path data = Files.createTempDirectory("tutti-failover-");
        Screen screen = measuring.begin(data);
        Map<String, String> settings = order.isEmpty() ? Map.of() : Map.of("order", order);
        ClusterSpec wanted = new ClusterSpec(data.resolve("cluster"), NODES, 0, "si", "tutti", "tutti", settings,
                NodeJvm.command());
        List<Loss> losses = new ArrayList<>();
        try (Cluster cluster = Cluster.start(wanted, (_, _) -> {
            // Most do: they are killed.
        })) {
            Runtime.getRuntime().addShutdownHook(Thread.ofPlatform().name("stop").unstarted(cluster::close));
            settled(cluster);
            measure(cluster, losses, screen);
        }
        Trees.delete(data);
        screen.line("");
        Screen.table(rows(losses)).forEach(screen::line);
        screen.line(
                "milliseconds from the loss, median / worst of so many losses; a client's wait from when it asked for its row");
        measuring.write("failover", Map.of("losses", losses), screen);
        return 0;
    }

    private void measure(Cluster cluster, List<Loss> losses, Screen screen) throws SQLException, InterruptedException {
        try (Connection connection = DriverManager.getConnection(cluster.nodes().getFirst().jdbcUrl());
                Statement statement = connection.createStatement()) {
            statement.execute("create table failover (id int primary key)");
        }
        AtomicInteger numbers = new AtomicInteger();
        List<FailoverClient> everywhere = new ArrayList<>();
        List<FailoverClient> pinned = new ArrayList<>();
        try {
            for (int id = 0; id < NODES; id++) {
                everywhere.add(FailoverClient.start(urlFrom(cluster, id), numbers));
                pinned.add(FailoverClient.start(cluster.nodes().get(id).jdbcUrl(), numbers));
            }
            for (int round = 0; round < rounds; round++) {
                for (Fault fault : faults) {
                    Loss loss = lose(cluster, fault, everywhere, pinned);
                    losses.add(loss);
                    screen.line(String.format(Locale.ROOT,
                            "%-14s noticed %6.0f  elected %6.0f  first commit at a survivor %6.0f  driver: at home there %6.0f,"
                                    + " elsewhere %6.0f ms",
                            fault.label(), loss.noticed(), loss.elected(), loss.atSurvivor(), loss.atLost(),
                            loss.atOthers()));
                }
            }
        } finally {
            Stream.concat(everywhere.stream(), pinned.stream()).forEach(FailoverClient::close);
        }
    }

    /** All nodes, one of them first. */
    private static String urlFrom(Cluster cluster, int first) {
        List<ClusterFile.Node> nodes = cluster.nodes();
        String hosts = String.join(",", IntStream.range(0, nodes.size())
                .mapToObj(i -> nodes.get((first + i) % nodes.size())).map(n -> n.host() + ":" + n.postgresPort())
                .toList());
        return cluster.jdbcUrl().replaceFirst("//[^/]*/", "//" + hosts + "/");
    }

    private static void settled(Cluster cluster) {
        IntStream.range(0, NODES).forEach(id -> cluster.awaitReady(id, PATIENCE));
    }

    private static int leader(Cluster cluster) {
        return IntStream.range(0, NODES).mapToObj(cluster::status).flatMap(Optional::stream)
                .filter(NodeStatus::majority).map(NodeStatus::leader).filter(java.util.Objects::nonNull)
                .mapToInt(Integer::intValue).findFirst().orElseThrow(() -> new Failure("there is no leader", ""));
    }

    private Loss lose(Cluster cluster, Fault fault, List<FailoverClient> everywhere, List<FailoverClient> pinned)
            throws InterruptedException {
        settled(cluster);
        TimeUnit.MILLISECONDS.sleep(AVOIDED_MILLIS);
        everywhere.forEach(FailoverClient::goHome);
        TimeUnit.MILLISECONDS.sleep(REST_MILLIS_MIN + random.nextInt(REST_MILLIS_SPREAD));
        List<FailoverClient> all = Stream.concat(everywhere.stream(), pinned.stream()).toList();
        awaitRows(all, System.nanoTime(), "before a fault");
        int leader = leader(cluster);
        int victim = fault == Fault.KILL_FOLLOWER ? (leader + 1 + random.nextInt(NODES - 1)) % NODES : leader;
        List<Integer> survivors = IntStream.range(0, NODES).filter(id -> id != victim).boxed().toList();
        all.forEach(FailoverClient::forget);
        List<Long> family = family(cluster.nodes().get(victim).pid());
        Instant at = Instant.now();
        long begun = System.nanoTime();
        switch (fault) {
            case KILL_LEADER, KILL_FOLLOWER -> signal("KILL", family);
            case PAUSE_LEADER -> signal("STOP", family);
            case STOP_LEADER -> signal("TERM", family.subList(0, 1));
        }
        // A client whose row was answered just before asks for the next one after its rest.
        long asked = begun + TimeUnit.MILLISECONDS.toNanos(500);
        awaitRows(Stream.concat(everywhere.stream(), survivors.stream().map(pinned::get)).toList(), asked,
                fault.label());
        double atSurvivor = survivors.stream().mapToDouble(id -> pinned.get(id).longestMillis()).max().orElseThrow();
        double atLost = everywhere.get(victim).longestMillis();
        double atOthers = survivors.stream().mapToDouble(id -> everywhere.get(id).longestMillis()).max()
                .orElseThrow();
        double noticed = seen(cluster, survivors, at, line -> line.contains("the leader is not known"));
        double elected = seen(cluster, survivors, at, line -> line.contains("the leader is node"));
        if (fault == Fault.PAUSE_LEADER) {
            signal("CONT", family);
        } else {
            cluster.kill(victim);
            cluster.startNode(victim);
        }
        return new Loss(fault, noticed, elected, atSurvivor, atLost, atOthers);
    }

    private static void awaitRows(List<FailoverClient> clients, long after, String what) throws InterruptedException {
        for (FailoverClient client : clients) {
            if (!client.awaitAfter(after, WAIT_NANOS_MAX)) {
                throw new Failure("a client has waited for more than 30 s: " + what, "");
            }
        }
    }

    /** When a node has first logged something after a point in time, in milliseconds after it. */
    private static double seen(Cluster cluster, List<Integer> nodes, Instant after, Predicate<String> what) {
        double first = Double.NaN;
        for (int node : nodes) {
            try (Stream<String> lines = Files.lines(Path.of(cluster.nodes().get(node).log()))) {
                OptionalDouble found = lines.filter(what).mapToDouble(line -> millisAfter(line, after))
                        .filter(millis -> millis >= 0).min();
                if (found.isPresent() && !(found.getAsDouble() > first)) {
                    first = found.getAsDouble();
                }
            } catch (IOException unreadable) {
                throw new Failure("cannot read the log of node " + node + ": " + unreadable.getMessage(), "",
                        unreadable);
            }
        }
        return first;
    }

    private static double millisAfter(String line, Instant after) {
        int end = line.indexOf(' ');
        try {
            return end < 0
                    ? -1
                    : Duration.between(after, OffsetDateTime.parse(line.substring(0, end)).toInstant()).toNanos() / 1e6
                            + 1;
        } catch (DateTimeParseException _) {
            return -1;
        }
    }

    private static List<Long> family(long pid) {
        return ProcessHandle.of(pid).map(root -> Stream.concat(Stream.of(root), root.descendants())
                .map(ProcessHandle::pid).toList()).orElse(List.of());
    }

    private static void signal(String name, List<Long> pids) throws InterruptedException {
        List<String> command = new ArrayList<>(List.of("kill", "-" + name));
        pids.forEach(pid -> command.add(pid.toString()));
        try {
            int _ = new ProcessBuilder(command).inheritIO().start().waitFor();
        } catch (IOException e) {
            throw new Failure("cannot send a signal: " + e.getMessage(), "", e);
        }
    }

    static List<List<String>> rows(List<Loss> losses) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("fault", "losses", "noticed", "elected", "first commit at a survivor", "driver, at home there",
                "driver, elsewhere"));
        Map<Fault, List<Loss>> byFault = new LinkedHashMap<>();
        losses.forEach(loss -> byFault.computeIfAbsent(loss.fault(), _ -> new ArrayList<>()).add(loss));
        byFault.forEach((fault, of) -> rows.add(List.of(fault.label(), String.valueOf(of.size()),
                told(of.stream().mapToDouble(Loss::noticed).toArray()),
                told(of.stream().mapToDouble(Loss::elected).toArray()),
                told(of.stream().mapToDouble(Loss::atSurvivor).toArray()),
                told(of.stream().mapToDouble(Loss::atLost).toArray()),
                told(of.stream().mapToDouble(Loss::atOthers).toArray()))));
        return rows;
    }

    private static String told(double[] values) {
        double[] sorted = java.util.Arrays.stream(values).filter(value -> !Double.isNaN(value)).sorted().toArray();
        return sorted.length == 0
                ? "-"
                : String.format(Locale.ROOT, "%.0f / %.0f",
                        (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2,
                        sorted[sorted.length - 1]);
    }
}
