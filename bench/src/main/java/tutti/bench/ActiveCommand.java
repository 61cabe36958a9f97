package tutti.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tutti.cluster.NodeJvm;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.command.Trees;
import tutti.report.MeasurementOptions;
import tutti.report.ProcessTimes;

/** From how many rows on does it pay to execute an UPDATE at every node, instead of at one that ships the rows (AKARA, section 4.1)? */
@Command(name = "active", description = "One client of three nodes with PostgreSQL updates 1, 10, 100 ... rows in one statement, executed"
        + " by one node that ships the changed rows (tutti.mode = passive), and by every node (active), in turns. Prints the latency"
        + " and the processor time of all nodes and servers for each transaction.")
final class ActiveCommand implements Callable<Integer> {
    private static final String UPDATE = "update maintenance set price = price + 1 where id between ? and ?";
    private static final double NANOS_PER_MILLI = 1e6;

    /** Who executes, as {@code tutti.mode} names it. */
    enum Mode {
        PASSIVE,
        ACTIVE;

        String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * One measurement.
     *
     * @param medianMillis from the request to its answer
     * @param databaseMillis processor time of the nodes' PostgreSQL processes for each transaction, up to when every node had applied all
     * @param nodeMillis the same of the nodes
     */
    record Row(int rows, Mode mode, int round, int transactions, double medianMillis, double databaseMillis,
            double nodeMillis) {}

    @Option(names = "--rows", split = ",", paramLabel = "N", defaultValue = "1,10,100,1000,10000", description = "How many rows a transaction updates (default: ${DEFAULT-VALUE}).")
    private int[] sizes = {};

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "3", description = "How often each is measured, in turns (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(names = "--seconds", paramLabel = "N", defaultValue = "4", description = "Length of each measurement (default: ${DEFAULT-VALUE}).")
    private int seconds;

    @Option(names = "--warmup", paramLabel = "N", defaultValue = "20", description = "Seconds of work of each mode at the beginning, not counted (default: ${DEFAULT-VALUE}).")
    private int warmup;

    @Option(names = "--directory", paramLabel = "DIR", description = "Where to put all data while it runs: on the disk to be measured (default: the temporary directory).")
    private Path directory = Path.of(System.getProperty("java.io.tmpdir"));

    @Mixin
    private MeasurementOptions measurement;

    private final List<String> nodeCommand;

    /** The command line's. */
    ActiveCommand() {
        this(NodeJvm.command());
    }

    /** @param nodeCommand what starts a node, without the arguments of {@code tutti node} */
    ActiveCommand(List<String> nodeCommand) {
        this.nodeCommand = nodeCommand;
    }

    @Override
    public Integer call() throws Exception {
        if (sizes.length == 0 || Arrays.stream(sizes).anyMatch(size -> size < 1 || size > 1_000_000)) {
            throw Failure.usage("--rows must be numbers from 1 to 1000000", "");
        }
        if (rounds < 1 || seconds < 1 || warmup < 0) {
            throw Failure.usage("--rounds and --seconds must be 1 or more, --warmup 0 or more", "");
        }
        Files.createDirectories(directory);
        Screen screen = measurement.begin(directory);
        Path data = Files.createTempDirectory(directory, "tutti-active-");
        List<Row> rows = new ArrayList<>();
        ClusterContender contender = new ClusterContender(Contender.Kind.D, data.resolve("nodes"), nodeCommand);
        try (Contender.Running nodes = contender.start();
                Connection client = nodes.copies().getFirst().open()) {
            fill(client);
            nodes.settle();
            for (Mode mode : Mode.values()) {
                for (int size : sizes) {
                    work(client, mode, size, (double) warmup / sizes.length);
                }
            }
            for (int round = 1; round <= rounds; round++) {
                for (int size : sizes) {
                    for (Mode mode : Mode.values()) {
                        Row row = measure(nodes, client, mode, size, round);
                        rows.add(row);
                        screen.line(String.format(Locale.ROOT,
                                "round %d: %,6d rows, %-7s %7.2f ms, %6.2f ms CPU in servers, %6.2f in nodes, %,d transactions",
                                round, size, mode.word(), row.medianMillis, row.databaseMillis, row.nodeMillis,
                                row.transactions));
                    }
                }
            }
        } finally {
            Trees.delete(data);
        }
        screen.line("");
        Screen.table(table(sizes, rows)).forEach(screen::line);
        screen.line("medians over rounds (least to most)");
        measurement.write("active", Map.of("rows", rows), screen);
        return 0;
    }

    private void fill(Connection client) throws SQLException {
        try (Statement statement = client.createStatement()) {
            statement.execute("create table maintenance (id int primary key, price bigint not null)");
            statement.execute("insert into maintenance select i, i % 7 from generate_series(1, "
                    + Arrays.stream(sizes).max().orElse(1) + ") i");
            statement.execute("analyze maintenance");
        }
    }

    private Row measure(Contender.Running nodes, Connection client, Mode mode, int size, int round)
            throws IOException, SQLException {
        nodes.settle();
        ProcessTimes before = ProcessTimes.ofFamilies(nodes.processes());
        double[] millis = work(client, mode, size, seconds);
        nodes.settle();
        Map<String, Long> used = ProcessTimes.ofFamilies(nodes.processes()).since(before);
        return new Row(size, mode, round, millis.length, millis[millis.length / 2],
                (double) used.getOrDefault("postgres", 0L) / millis.length,
                (double) used.getOrDefault("java", 0L) / millis.length);
    }

    /** Updates the same rows again and again; returns how long each transaction took, ascending. */
    private static double[] work(Connection client, Mode mode, int size, double seconds) throws SQLException {
        try (Statement choice = client.createStatement();
                PreparedStatement update = client.prepareStatement(UPDATE)) {
            choice.execute("set tutti.mode = '" + mode.word() + "'");
            update.setInt(1, 1);
            update.setInt(2, size);
            List<Double> millis = new ArrayList<>();
            long end = System.nanoTime() + (long) (seconds * 1e9);
            for (long begun = System.nanoTime(); begun < end || millis.isEmpty(); begun = System.nanoTime()) {
                if (update.executeUpdate() != size) {
                    throw new Failure("an update of " + size + " rows has changed another number", "");
                }
                millis.add((System.nanoTime() - begun) / NANOS_PER_MILLI);
            }
            return millis.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        }
    }

    /** Passive beside active by the number of rows, the heading first. */
    static List<List<String>> table(int[] sizes, List<Row> rows) {
        List<List<String>> table = new ArrayList<>();
        table.add(List.of("rows", "passive: median ms", "CPU ms", "active: median ms", "CPU ms",
                "active of passive: median", "CPU"));
        for (int size : sizes) {
            List<Row> passive = of(rows, Mode.PASSIVE, size);
            List<Row> active = of(rows, Mode.ACTIVE, size);
            ToDoubleFunction<Row> cpu = row -> row.databaseMillis + row.nodeMillis;
            table.add(List.of(String.format(Locale.ROOT, "%,d", size), spread(passive, Row::medianMillis),
                    spread(passive, cpu), spread(active, Row::medianMillis), spread(active, cpu),
                    ratio(active, passive, Row::medianMillis), ratio(active, passive, cpu)));
        }
        return table;
    }

    private static List<Row> of(List<Row> rows, Mode mode, int size) {
        return rows.stream().filter(row -> row.mode == mode && row.rows == size).toList();
    }

    private static String spread(List<Row> rows, ToDoubleFunction<Row> value) {
        return spread(rows.stream().mapToDouble(value).toArray());
    }

    private static String ratio(List<Row> some, List<Row> others, ToDoubleFunction<Row> value) {
        double[] ratios = new double[some.size()];
        Arrays.setAll(ratios, i -> value.applyAsDouble(some.get(i)) / value.applyAsDouble(others.get(i)));
        return spread(ratios);
    }

    private static String spread(double[] values) {
        Arrays.sort(values);
        return String.format(Locale.ROOT, "%.2f (%.2f to %.2f)", values[values.length / 2], values[0],
                values[values.length - 1]);
    }
}
