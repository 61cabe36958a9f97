package tutti.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.engine.postgres.server.ServerBinaries;
import tutti.report.BenchFiles;
import tutti.report.MeasurementConditions;
import tutti.report.ProcessTimes;
import tutti.report.ProcessorQuota;
import tutti.workload.tpcc.TpccDatabase;
import tutti.workload.tpcc.TpccForm;
import tutti.workload.tpcc.TpccLoader;
import tutti.workload.tpcc.TpccOptions;
import tutti.workload.tpcc.TpccPopulation;
import tutti.workload.tpcc.TpccResult;
import tutti.workload.tpcc.TpccRun;
import tutti.workload.tpcc.TpccSnapshot;

/**
 * The comparison from beginning to end: loads every contender once, then measures them in turns, round after round. For
 * each measurement the contender is started, warmed up, measured, waited for until all its copies are the same, and
 * stopped, so that none works in the background of another. Used once, by one thread.
 */
final class Overhead implements AutoCloseable {
    private static final long LINE_NANOS = Duration.ofSeconds(5).toNanos();
    private static final double NANOS_PER_MILLI = 1e6;
    private static final double MICROS_PER_MILLI = 1e3;
    /** With what the names of a node's threads begin that send, receive, keep and deliver messages of the order. */
    private static final String ORDER_THREADS = "order-";
    /** Warming up must not use the inputs of the measurement. */
    private static final long WARM_UP_SEED = 0x5DEECE66DL;

    private final OverheadPlan plan;
    private final Screen screen;
    private final MeasurementConditions ground;
    private final @Nullable Path json;
    private final TpccPopulation population;
    private final List<Contender> contenders = new ArrayList<>();
    private final List<OverheadResult.Measurement> measurements = new ArrayList<>();
    private final AtomicReference<Contender.@Nullable Running> running = new AtomicReference<>();

    /**
     * A comparison that has not begun.
     *
     * @param directory for the data of all contenders, on the disk to be measured
     * @param nodeCommand what starts a node, without the arguments of {@code tutti node}
     * @param json where to write the numbers, anew after each measurement; null for nowhere
     */
    Overhead(OverheadPlan plan, Screen screen, MeasurementConditions ground, Path directory, List<String> nodeCommand,
            @Nullable Path json) throws IOException, InterruptedException {
        this.plan = plan;
        this.screen = screen;
        this.ground = ground;
        this.json = json;
        population = new TpccPopulation(plan.scale(), plan.seed());
        ServerBinaries binaries = ServerBinaries.unpacked();
        for (Contender.Kind kind : plan.contenders()) {
            Path own = directory.resolve(kind.name().toLowerCase(Locale.ROOT));
            contenders.add(switch (kind) {
                case A -> new PostgresContender(kind, own, binaries, 0);
                case B, C, D -> new ClusterContender(kind, own, nodeCommand, plan.protocol(), Map.of());
                case E -> new PostgresContender(kind, own, binaries, 2);
                case F -> new BouncerContender(kind, own, binaries);
            });
        }
    }

    /** Runs all of it; what was measured before a failure is in the JSON file. */
    OverheadResult run() throws IOException, SQLException, InterruptedException {
        for (Contender contender : contenders) {
            long begun = System.nanoTime();
            prepare(contender);
            screen.line(String.format(Locale.ROOT, "%s %s: loaded %s in %.1f s", contender.kind().letter(),
                    contender.kind().description(), plan.scale(), (System.nanoTime() - begun) / 1e9));
        }
        for (int round = 1; round <= plan.rounds(); round++) {
            for (Contender contender : contenders) {
                measure(contender, round);
                if (json != null) {
                    BenchFiles.writeJson(json, OverheadResult.of(ground, plan, measurements));
                }
            }
        }
        return OverheadResult.of(ground, plan, measurements);
    }

    private void prepare(Contender contender) throws IOException, SQLException, InterruptedException {
        try (Contender.Running started = contender.startEmpty()) {
            running.set(started);
            load(contender.kind(), started.copies());
            started.settle();
        } finally {
            running.set(null);
        }
        contender.loaded();
    }

    private void load(Contender.Kind kind, List<TpccDatabase> databases) throws SQLException {
        AtomicLong nextLine = new AtomicLong(System.nanoTime() + LINE_NANOS);
        TpccLoader loader = new TpccLoader(population);
        loader.load(databases.getFirst(), (rows, expected) -> {
            long due = nextLine.get();
            String text = String.format(Locale.ROOT, "%s loading: %,d of about %,d rows", kind.letter(), rows,
                    expected);
            if (screen.isTerminal()) {
                screen.live(List.of(text));
            } else if (System.nanoTime() >= due && nextLine.compareAndSet(due, System.nanoTime() + LINE_NANOS)) {
                screen.line(text);
            }
        });
        if (plan.form() == TpccForm.STORED) {
            loader.createFunctions(databases.getFirst());
        }
        for (TpccDatabase other : databases.subList(1, databases.size())) {
            loader.analyze(other);
        }
    }

    private void measure(Contender contender, int round) throws IOException, SQLException, InterruptedException {
        String name = contender.kind().letter() + " round " + round + " of " + plan.rounds();
        if (screen.isTerminal()) {
            screen.live(List.of(name + ": starting"));
        }
        try (ProcessorQuota quota = plan.ownMachines() ? new ProcessorQuota(plan.machineCpus()) : null;
                Contender.Running started = contender.start()) {
            running.set(started);
            if (quota != null) {
                quota.limit(started.machines());
            }
            work(started, plan.warmupSeconds(), plan.seed() + round ^ WARM_UP_SEED, name + ", warming up");
            started.settle();
            OverheadResult.Measurement found = measure(contender.kind(), started, round, name);
            measurements.add(found);
            screen.live(List.of());
            screen.line(String.format(Locale.ROOT,
                    "%s: %,.0f transactions/s, %,.0f tpmC, NewOrder p50 %.1f p95 %.1f ms, %.2f ms CPU per"
                            + " transaction, aborted %.1f %%%s",
                    name, found.transactionsPerSecond(), found.tpmC(), latency(found).p50Millis(),
                    latency(found).p95Millis(), found.serverCpuMillis(), found.abortPercent(),
                    found.otherPercent() > 5
                            ? String.format(Locale.ROOT, " (other work took %.0f %% of the machine)",
                                    found.otherPercent())
                            : ""));
        } finally {
            running.set(null);
        }
    }

    private static OverheadResult.Latency latency(OverheadResult.Measurement of) {
        return of.latencies().getOrDefault("NewOrder", new OverheadResult.Latency(0, 0, 0, 0));
    }

    private OverheadResult.Measurement measure(Contender.Kind kind, Contender.Running started, int round, String name)
            throws IOException, SQLException, InterruptedException {
        ProcessTimes before = ProcessTimes.ofFamilies(started.processes());
        long orderBefore = ProcessTimes.ofThreads(started.processes(), ORDER_THREADS);
        long clientBefore = ProcessTimes.ownMillis();
        long machineBefore = ProcessTimes.machineBusyMillis();
        long begun = System.nanoTime();
        TpccSnapshot total = work(started, plan.seconds(), plan.seed() + round, name).total();
        long answered = System.nanoTime();
        started.settle();
        long settled = System.nanoTime();
        Map<String, Long> server = ProcessTimes.ofFamilies(started.processes()).since(before);
        long order = ProcessTimes.ofThreads(started.processes(), ORDER_THREADS) - orderBefore;
        long client = ProcessTimes.ownMillis() - clientBefore;
        long machine = ProcessTimes.machineBusyMillis() - machineBefore;
        double committed = Math.max(1, total.committed());
        long serverMillis = server.values().stream().mapToLong(Long::longValue).sum();
        double available = (settled - begun) / NANOS_PER_MILLI * Runtime.getRuntime().availableProcessors();
        Map<String, Double> byProgram = new TreeMap<>();
        server.forEach((program, millis) -> byProgram.put(program, millis / committed));
        Map<String, OverheadResult.Latency> latencies = new LinkedHashMap<>();
        total.latencies().forEach((type, latency) -> latencies.put(type.label(),
                new OverheadResult.Latency(latency.count(), latency.p50Micros() / MICROS_PER_MILLI,
                        latency.p95Micros() / MICROS_PER_MILLI, latency.p99Micros() / MICROS_PER_MILLI)));
        return new OverheadResult.Measurement(kind, round, total.committed() / total.elapsedSeconds(), total.tpmC(),
                total.committed(), 100 * total.abortRate(),
                total.aborts(), latencies, serverMillis / committed, byProgram, order / committed,
                client / committed,
                (settled - answered) / NANOS_PER_MILLI, 100 * (serverMillis + client) / available,
                Math.max(0, 100 * (machine - serverMillis - client) / available));
    }

    private TpccResult work(Contender.Running started, int seconds, long seed, String name)
            throws SQLException, InterruptedException {
        TpccOptions options = TpccOptions.of(started.databases(), population, plan.terminals(),
                Duration.ofSeconds(seconds), seed).with(plan.form()).withReads(plan.readPercent());
        TpccRun run = TpccRun.start(options, snapshot -> progress(name, seconds, snapshot));
        try {
            TpccResult result = run.result();
            if (result.failure().isPresent()) {
                throw new Failure(name + " ended early: " + result.failure().get(), "");
            }
            return result;
        } finally {
            run.stop();
        }
    }

    private void progress(String name, int seconds, TpccSnapshot snapshot) {
        if (screen.isTerminal()) {
            double now = snapshot.nodes().stream().mapToDouble(node -> node.lastSecond().perSecond()).sum();
            screen.live(List.of(String.format(Locale.ROOT, "%s: %.0f of %d s, %,.0f transactions/s, %,.0f tpmC", name,
                    snapshot.elapsedSeconds(), seconds, now, snapshot.tpmC())));
        }
    }

    /** Stops whatever runs; from any thread. */
    @Override
    public void close() throws IOException {
        Contender.Running now = running.getAndSet(null);
        if (now != null) {
            now.close();
        }
    }
}
