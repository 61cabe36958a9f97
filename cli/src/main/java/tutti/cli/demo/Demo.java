package tutti.cli.demo;

import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.json.JsonMapper;
import tutti.check.CheckResult;
import tutti.cluster.Cluster;
import tutti.cluster.ClusterFile;
import tutti.cluster.ClusterSpec;
import tutti.command.Screen;
import tutti.report.HtmlReport;
import tutti.report.RunReport.Event;
import tutti.report.RunReport;
import tutti.workload.tpcc.TpccDatabase;
import tutti.workload.tpcc.TpccForm;
import tutti.workload.tpcc.TpccLoader;
import tutti.workload.tpcc.TpccOptions;
import tutti.workload.tpcc.TpccPopulation;
import tutti.workload.tpcc.TpccResult;
import tutti.workload.tpcc.TpccRun;
import tutti.report.BenchFiles;

/**
 * The demonstration from beginning to end: start a cluster, load TPC-C, let terminals work at all nodes, kill a node and
 * bring it back, stop, compare, report.
 */
public final class Demo {
    private static final Logger LOG = LoggerFactory.getLogger(Demo.class);
    private static final Duration READY_PATIENCE = Duration.ofMinutes(2);
    private static final Duration SETTLE_PATIENCE = Duration.ofMinutes(3);
    private static final long LOAD_LINE_NANOS = Duration.ofSeconds(5).toNanos();

    private final DemoPlan plan;
    private final Screen screen;
    private final AtomicReference<@Nullable Fault> fault = new AtomicReference<>();

    /** A demonstration that reports to {@code screen}. */
    public Demo(DemoPlan plan, Screen screen) {
        this.plan = plan;
        this.screen = screen;
    }

    /**
     * Runs it.
     *
     * @param wanted the cluster to start; its directory holds none yet
     * @param html where to write the report; null for nowhere
     * @param json where to write the numbers; null for nowhere
     * @return whether replicas are identical, conditions hold, and no acknowledged transaction is missing
     */
    public boolean run(ClusterSpec wanted, @Nullable Path html, @Nullable Path json)
            throws SQLException, InterruptedException {
        long begun = System.nanoTime();
        try (Cluster cluster = Cluster.start(wanted, this::died)) {
            Thread stop = Thread.ofPlatform().name("stop").unstarted(cluster::close);
            Runtime.getRuntime().addShutdownHook(stop);
            try {
                return run(cluster, wanted, begun, html, json);
            } finally {
                removeHook(stop);
            }
        }
    }

    private static void removeHook(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            LOG.debug("The JVM is on its way down, which is what the hook was for", e);
        }
    }

    private boolean run(Cluster cluster, ClusterSpec wanted, long begun, @Nullable Path html, @Nullable Path json)
            throws SQLException, InterruptedException {
        for (ClusterFile.Node node : cluster.nodes()) {
            cluster.awaitReady(node.id(), READY_PATIENCE);
        }
        phase(begun, cluster.nodes().size() + " nodes are ready, each with a database of its own, in "
                + cluster.directory());
        cluster.nodes().forEach(node -> screen.line("        " + node.name() + "  " + node.postgresUrl() + "  "
                + node.httpUrl()));
        TpccPopulation population = new TpccPopulation(plan.scale(), plan.seed());
        List<TpccDatabase> databases = cluster.nodes().stream()
                .map(node -> TpccDatabase.of(node.name(), node.jdbcUrl())).toList();
        load(population, databases.getFirst(), wanted, begun);
        settle(cluster);
        phase(begun, "every node has it; " + plan.terminals() + " terminals start, seed " + plan.seed());
        DemoReport.Findings findings = work(cluster, population, databases, begun);
        RunReport report = DemoReport.of(findings);
        DemoReport.summary(report, screen).forEach(screen::line);
        if (html != null) {
            BenchFiles.write(html, HtmlReport.write(report));
            screen.line("");
            screen.line("report: " + html.toAbsolutePath().normalize());
        }
        if (json != null) {
            BenchFiles.write(json,
                    JsonMapper.shared().writerWithDefaultPrettyPrinter().writeValueAsString(report) + "\n");
            screen.line("numbers: " + json.toAbsolutePath().normalize());
        }
        return report.passed();
    }

    private void load(TpccPopulation population, TpccDatabase database, ClusterSpec wanted, long begun)
            throws SQLException {
        TpccLoader loader = wanted.wholeOnly() ? TpccLoader.ofStatements(population) : new TpccLoader(population);
        long[] nextLine = {System.nanoTime() + LOAD_LINE_NANOS};
        TpccLoader.Report loaded = loader.load(database, (rows, expected) -> {
            String text = String.format(Locale.ROOT, "        loading TPC-C, %s: %,d of about %,d rows",
                    population.scale(), rows, expected);
            synchronized (nextLine) {
                if (screen.isTerminal()) {
                    screen.live(List.of(text));
                } else if (System.nanoTime() >= nextLine[0]) {
                    nextLine[0] = System.nanoTime() + LOAD_LINE_NANOS;
                    screen.line(text);
                }
            }
        });
        if (plan.form() == TpccForm.STORED) {
            loader.createFunctions(database);
            loader.declareClasses(database);
        }
        phase(begun, String.format(Locale.ROOT, "TPC-C is loaded through %s: %s, %,d rows in %.1f s, indexes in %.1f s",
                database.name(), population.scale(), loaded.rows(), loaded.rowsTook().toMillis() / 1e3,
                loaded.indexesTook().toMillis() / 1e3));
    }

    private DemoReport.Findings work(Cluster cluster, TpccPopulation population, List<TpccDatabase> databases,
            long begun) throws SQLException, InterruptedException {
        TpccOptions options = TpccOptions
                .of(databases, population, plan.terminals(), Duration.ofSeconds(plan.seconds()), plan.seed())
                .with(plan.placement()).with(plan.form());
        String startedAt = Instant.now().truncatedTo(ChronoUnit.SECONDS).toString();
        TpccResult result;
        OptionalDouble recovery;
        List<Event> events;
        Progress progress;
        try (NodeWatch watch = new NodeWatch(cluster)) {
            progress = new Progress(screen, watch, plan.seconds());
            TpccRun run = TpccRun.start(options, progress::second);
            try (Fault trouble = new Fault(cluster, plan, screen, () -> run.snapshot().elapsedSeconds())) {
                fault.set(trouble);
                result = run.result();
                screen.live(List.of());
                phase(begun, "terminals have stopped");
                trouble.awaitRecovery();
                recovery = trouble.recoverySeconds();
                events = trouble.events();
            } finally {
                run.stop();
            }
        }
        settle(cluster);
        phase(begun, "every node is at the same position; comparing");
        List<CheckResult> checks = DemoChecks.run(cluster, population.scale(), result.ledger());
        phase(begun, "compared");
        return new DemoReport.Findings(plan, startedAt, result, progress.looks(), events, recovery, checks);
    }

    /** Waits until every node has applied everything that any node knows of now. */
    private static void settle(Cluster cluster) {
        long target = 0;
        for (ClusterFile.Node node : cluster.nodes()) {
            target = Math.max(target, cluster.status(node.id()).map(status -> status.positions().known()).orElse(0L));
        }
        long mustReach = target;
        for (ClusterFile.Node node : cluster.nodes()) {
            cluster.await(node.id(), SETTLE_PATIENCE, "at position " + mustReach,
                    status -> status.positions().applied() >= mustReach);
        }
    }

    private void died(ClusterFile.Node node, int exitStatus) {
        screen.line(screen.bad(node.name() + " ended on its own with exit status " + exitStatus + "; its log: "
                + node.log()));
        Fault trouble = fault.get();
        if (trouble != null) {
            trouble.noteDeath(node.name() + " ended on its own");
        }
    }

    private void phase(long begun, String what) {
        screen.line(String.format(Locale.ROOT, "%s %s", screen.dim(String.format(Locale.ROOT, "%5.1f s",
                (System.nanoTime() - begun) / 1e9)), what));
    }
}
