package tutti.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.cluster.NodeJvm;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.command.Trees;
import tutti.engine.postgres.server.ServerBinaries;
import tutti.report.BenchFiles;
import tutti.report.MeasurementConditions;
import tutti.report.ProcessTimes;
import tutti.report.ProcessorQuota;
import tutti.workload.tpcc.TpccDatabase;
import tutti.workload.tpcc.TpccLoader;
import tutti.workload.tpcc.TpccPopulation;
import tutti.workload.tpcc.TpccScale;

/** Measures log-based replication beside PostgreSQL's own, as the SQLware thesis does (section 5, tables 6 to 10). */
@Command(name = "sqlware", description = "TPC-C as stored transactions in one run against PostgreSQL with a synchronous standby, with an"
        + " asynchronous one, and three nodes under hybrid that acknowledge when a transaction is executed, and when it is logged."
        + " Prints what was accepted, aborts, mean latency, and the throughput until every copy has applied everything, with the thesis'"
        + " tables beside it; with --sweep also what each parameter does.")
final class SqlwareCommand implements Callable<Integer> {
    private static final Duration DRAIN_PATIENCE = Duration.ofMinutes(20);
    private static final long LOOK_MILLIS_MIN = 50;
    private static final long LOOK_MILLIS_MAX = 1_000;
    /** No system executes more requests in a millisecond than this. */
    private static final long REQUESTS_PER_MILLI = 5;
    private static final long WARM_UP_SEED = 0x5DEECE66DL;
    private static final long SOURCES_PER_RUN = 1_000;
    /** What is the same in two copies only if both have made the same transactions. */
    private static final String TOTALS = "select (select sum(w_ytd) from warehouse) || ' ' || (select sum(d_next_o_id) from district)"
            + " || ' ' || (select sum(c_balance) from customer) || ' ' || (select sum(s_ytd) from stock)"
            + " || ' ' || (select count(*) from order_line) || ' ' || (select count(*) from new_order)"
            + " || ' ' || (select count(*) from history)";

    /** What is compared. */
    enum Measured {
        SYNCHRONOUS("PostgreSQL, synchronous standby"),
        ASYNCHRONOUS("PostgreSQL, asynchronous standby"),
        EXECUTED("hybrid, three nodes, executed"),
        LOGGED("hybrid, three nodes, logged");

        private final String title;

        Measured(String title) {
            this.title = title;
        }
    }

    /**
     * One row.
     *
     * @param accepted transactions a second that were acknowledged
     * @param drained the same, up to when every copy had applied everything
     * @param drainSeconds from the last acknowledgement to that
     * @param backlog requests that had been logged and not executed when the terminals stopped
     * @param lagMax most positions that a node was behind in what was ordered, while the terminals worked
     * @param together mean number of requests in a transaction of an owner's database
     * @param databaseMillis processor time of its PostgreSQL processes for each accepted transaction, up to when every copy had applied everything
     * @param nodeMillis the same of its nodes
     * @param same whether all copies that can be asked had the same totals in the end
     * @param samples backlog and lag, once a second
     */
    record Row(String system, double accepted, double tpmC, double latencyMillis, double abortPercent, double drained,
            double drainSeconds, long backlog, long lagMax, double together, double databaseMillis,
            double nodeMillis, boolean same,
            List<HybridGauges.Sample> samples) {}

    @Option(names = "--seconds", paramLabel = "N", defaultValue = "30", description = "Length of each measurement (default: ${DEFAULT-VALUE}).")
    private int seconds;

    @Option(names = "--warmup", paramLabel = "N", defaultValue = "15", description = "Seconds of work before each, not counted (default: ${DEFAULT-VALUE}).")
    private int warmup;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "3", description = "How often each is measured, in turns (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Mixin
    private TpccOptions tpcc = new TpccOptions();

    @Option(names = "--in-flight", paramLabel = "N", defaultValue = "20", description = "How many transactions a terminal hands in at once when they are logged, as TuttiLog.submitAll does (default: ${DEFAULT-VALUE}).")
    private int inFlight;

    @Option(names = "--machine-cpus", paramLabel = "N", defaultValue = "0", description = "Processors that each machine of a system has, such as 0.45: the server, the standby, and each node with its server are given this quota by a control group (Linux, as root). Without it, all share this machine's.")
    private double machineCpus;

    @Option(names = "--only", split = ",", paramLabel = "SYSTEM", description = "Measure these only: ${COMPLETION-CANDIDATES} (default: all).")
    private EnumSet<Measured> only = EnumSet.allOf(Measured.class);

    @Option(names = "--sweep", description = "Afterwards measure hybrid when logged once more for each parameter that has a counterpart in the thesis' tables 1 to 3, with another value, on the same database.")
    private boolean sweep;

    @Option(names = "--set", paramLabel = "NAME=VALUE", description = "Measure hybrid when logged once more in each round with other values, on the same database: names and values between blanks, parameters of the protocol or settings of the nodes, such as --set 'executors=4 batch-requests=128' --set apply.appliers=8. May be given several times.")
    private List<String> sets = List.of();

    @Option(names = "--directory", paramLabel = "DIR", description = "Where to put all data while it runs: on the disk to be measured (default: the temporary directory).")
    private Path directory = Path.of(System.getProperty("java.io.tmpdir"));

    @Option(names = "--json", paramLabel = "FILE", description = "Where to write all numbers as JSON.")
    private @Nullable Path json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        if (inFlight < 1 || inFlight > 250) {
            throw Failure.usage("--in-flight must be 1 to 250", "");
        }
        if (seconds < 1 || warmup < 1 || rounds < 1 || tpcc.terminals() < 1 || tpcc.terminals() > 150) {
            throw Failure.usage("--seconds, --warmup and --rounds must be 1 or more, --terminals 1 to 150", "");
        }
        List<SqlwareParameter> wanted = new ArrayList<>();
        try {
            sets.forEach(each -> wanted.add(SqlwareParameter.of(each)));
        } catch (IllegalArgumentException wrong) {
            throw Failure.usage("--set: " + wrong.getMessage(), "give it as NAME=VALUE, such as executors=4");
        }
        Screen screen = Screen.standard(spec.commandLine().getOut());
        Files.createDirectories(directory);
        MeasurementConditions ground = MeasurementConditions.look(directory);
        ground.lines().forEach(screen::line);
        TpccPopulation population = new TpccPopulation(tpcc.reduced()
                ? TpccScale.reduced(tpcc.warehouses())
                : TpccScale.standard(tpcc.warehouses()), tpcc.seed());
        screen.line(
                String.format(Locale.ROOT, "%s, %d terminals without think time, stored transactions, %d rounds of %d s"
                        + " after %d s of warming up", population.scale(), tpcc.terminals(), rounds, seconds, warmup));
        Path data = Files.createTempDirectory(directory, "tutti-sqlware-");
        List<Row> rows = new ArrayList<>();
        try {
            Map<Measured, Contender> contenders = contenders(data);
            for (Contender contender : List.copyOf(new java.util.LinkedHashSet<>(contenders.values()))) {
                screen.line("loading " + contender.kind().description());
                load(contender, population);
            }
            int more = rounds;
            for (int round = 1; round <= rounds; round++) {
                for (Map.Entry<Measured, Contender> each : contenders.entrySet()) {
                    add(rows, measure(each.getKey(), each.getKey().title, each.getValue(),
                            wanted.isEmpty() ? Map.of() : SqlwareParameter.USUAL, population, round), screen, ground);
                }
                for (SqlwareParameter parameter : wanted) {
                    add(rows, measure(parameter, data, population, ++more), screen, ground);
                }
            }
            for (SqlwareParameter parameter : sweep ? SqlwareParameter.ALL : List.<SqlwareParameter>of()) {
                add(rows, measure(parameter, data, population, ++more), screen, ground);
            }
            SqlwareThesis.lines().forEach(screen::line);
        } finally {
            Trees.delete(data);
        }
        return rows.stream().allMatch(Row::same) ? 0 : 1;
    }

    private void add(List<Row> rows, Row row, Screen screen, MeasurementConditions ground) throws IOException {
        rows.add(row);
        screen.line(line(row));
        write(ground, rows);
    }

    private Row measure(SqlwareParameter parameter, Path data, TpccPopulation population, int round)
            throws IOException, SQLException, InterruptedException {
        return measure(Measured.LOGGED, parameter.title(), hybrid(data, parameter.settings()), parameter.ordered(),
                population, round);
    }

    private void write(MeasurementConditions ground, List<Row> rows) throws IOException {
        if (json != null) {
            BenchFiles.writeJson(json,
                    Map.of("conditions", ground.lines(), "rows", rows, "thesis", SqlwareThesis.TABLES));
        }
    }

    private Map<Measured, Contender> contenders(Path data) throws IOException, InterruptedException {
        ServerBinaries binaries = ServerBinaries.unpacked();
        Contender hybrid = hybrid(data, Map.of());
        Map<Measured, Contender> contenders = new java.util.EnumMap<>(Measured.class);
        contenders.put(Measured.SYNCHRONOUS,
                new PostgresContender(Contender.Kind.E, data.resolve("synchronous"), binaries, 1));
        contenders.put(Measured.ASYNCHRONOUS,
                new PostgresContender(Contender.Kind.E, data.resolve("asynchronous"), binaries, 1, false));
        contenders.put(Measured.EXECUTED, hybrid);
        contenders.put(Measured.LOGGED, hybrid);
        contenders.keySet().retainAll(only);
        return contenders;
    }

    /** Three nodes, whose database stays when they are started with other settings. */
    private static Contender hybrid(Path data, Map<String, String> settings) {
        return new ClusterContender(Contender.Kind.D, data.resolve("hybrid"), NodeJvm.command(), "hybrid", settings);
    }

    private static void load(Contender contender, TpccPopulation population)
            throws IOException, SQLException, InterruptedException {
        try (Contender.Running started = contender.startEmpty()) {
            TpccLoader loader = new TpccLoader(population);
            TpccDatabase first = started.copies().getFirst();
            loader.load(first, (_, _) -> {});
            loader.createFunctions(first);
            loader.declareClasses(first);
            started.settle();
            for (TpccDatabase other : started.copies().subList(1, started.copies().size())) {
                loader.analyze(other);
            }
        }
        contender.loaded();
    }

    private Row measure(Measured system, String title, Contender contender, Map<String, String> parameters,
            TpccPopulation population, int round) throws IOException, SQLException, InterruptedException {
        boolean logged = system == Measured.LOGGED;
        long source = ((long) round * Measured.values().length + system.ordinal()) * 2 * SOURCES_PER_RUN;
        try (ProcessorQuota quota = machineCpus > 0 ? new ProcessorQuota(machineCpus) : null;
                Contender.Running started = contender.start();
                HybridGauges gauges = new HybridGauges(started)) {
            if (started instanceof ClusterContender.Started cluster && !parameters.isEmpty()) {
                cluster.change(parameters);
            }
            if (quota != null) {
                quota.limit(started.machines());
            }
            new SqlwareTerminals(started.databases(), population, tpcc.terminals(), logged,
                    inFlight, tpcc.seed() + round ^ WARM_UP_SEED, source).work(warmup);
            drain(started, gauges);
            gauges.watch();
            ProcessTimes before = ProcessTimes.ofFamilies(started.processes());
            long begun = System.nanoTime();
            SqlwareTerminals.Result result = new SqlwareTerminals(started.databases(), population, tpcc.terminals(),
                    logged, inFlight, tpcc.seed() + round, source + SOURCES_PER_RUN).work(seconds);
            long stopped = System.nanoTime();
            List<HybridGauges.Sample> samples = gauges.watched();
            long backlog = gauges.now().backlog();
            drain(started, gauges);
            long drained = System.nanoTime();
            Map<String, Long> used = ProcessTimes.ofFamilies(started.processes()).since(before);
            if (result.accepted() == 0) {
                throw new Failure(title + " has accepted no transaction; the last error: " + result.lastError(),
                        "see the logs of the nodes");
            }
            double work = (stopped - begun) / 1e9;
            return new Row(title, result.accepted() / work, 60 * result.newOrders() / work,
                    result.latencyMillis(), result.abortPercent(), result.accepted() * 1e9 / (drained - begun),
                    (drained - stopped) / 1e9, backlog,
                    samples.stream().mapToLong(HybridGauges.Sample::lag).max().orElse(0), gauges.together(),
                    (double) used.getOrDefault("postgres", 0L) / result.accepted(),
                    (double) used.getOrDefault("java", 0L) / result.accepted(),
                    same(started.copies()), samples);
        }
    }

    /**
     * Waits until nothing is left that was logged and not executed, and all copies have what was ordered. Looks the more often the less there is: the
     * nodes that are measured write the pages that are looked at.
     */
    private static void drain(Contender.Running started, HybridGauges gauges)
            throws SQLException, InterruptedException {
        long deadline = System.nanoTime() + DRAIN_PATIENCE.toNanos();
        for (long backlog = gauges.now().backlog(); backlog > 0; backlog = gauges.now().backlog()) {
            if (System.nanoTime() > deadline) {
                throw new Failure("requests are logged and not executed after " + DRAIN_PATIENCE,
                        "see the logs of the nodes");
            }
            TimeUnit.MILLISECONDS.sleep(Math.clamp(backlog / REQUESTS_PER_MILLI, LOOK_MILLIS_MIN, LOOK_MILLIS_MAX));
        }
        started.settle();
    }

    private static boolean same(List<TpccDatabase> copies) throws SQLException {
        String first = null;
        for (TpccDatabase copy : copies) {
            try (Connection connection = copy.open();
                    Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery(TOTALS)) {
                row.next();
                String totals = row.getString(1);
                if (first != null && !first.equals(totals)) {
                    return false;
                }
                first = totals;
            }
        }
        return true;
    }

    private static String line(Row row) {
        return String.format(Locale.ROOT,
                "%-48s accepted %,7.0f/s, %,8.0f tpmC, mean %6.2f ms, aborted %4.1f %%; drained %,7.0f/s, %5.1f s after the last,"
                        + " backlog %,d, lag %,d positions, %.1f requests together; CPU %.2f ms each (databases %.2f, nodes %.2f)%s",
                row.system, row.accepted, row.tpmC, row.latencyMillis, row.abortPercent, row.drained, row.drainSeconds,
                row.backlog, row.lagMax, row.together, row.databaseMillis + row.nodeMillis, row.databaseMillis,
                row.nodeMillis,
                row.same ? "" : "; COPIES DIFFER");
    }
}
