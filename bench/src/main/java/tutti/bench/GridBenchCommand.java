package tutti.bench;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tutti.command.Failure;
import tutti.command.QuietLog;
import tutti.command.Screen;
import tutti.grid.IsolationLevel;
import tutti.report.BenchFiles;
import tutti.report.Chart;
import tutti.report.MeasurementOptions;

/** The evaluation of the thesis on partial replication (section V), with all nodes on this machine, or simulated. */
@Command(name = "bench", description = "The evaluation of the thesis on partial replication: transactions of 10 operations on"
        + " random keys, a tenth of them writes and at least one, by TOM-2, TOM-3, groups of owners and two-phase commit, and by Infinispan; all nodes on this"
        + " machine, over loopback. Abort rate, throughput, commit latency.")
final class GridBenchCommand implements Callable<Integer> {
    private static final int BAR_WIDTH = 30;
    /** What is drawn over the number of nodes, by its name and unit. */
    static final SortedMap<String, ToDoubleFunction<GridFigures.Measured>> FIGURES = new TreeMap<>(Map.of(
            "abort rate, percent", GridFigures.Measured::abortPercent,
            "throughput, commits per second", GridFigures.Measured::commitsPerSecond,
            "commit latency, median in ms", GridFigures.Measured::commitMillisMedian));

    @Option(names = "--nodes", paramLabel = "N", split = ",", defaultValue = "4", description = "How many nodes (default: ${DEFAULT-VALUE}; the thesis has 4 to 10).")
    private List<Integer> nodes;

    @Option(names = "--degrees", paramLabel = "N", split = ",", defaultValue = "2,4", description = "Owners of each key (default: ${DEFAULT-VALUE}).")
    private List<Integer> degrees;

    @Option(names = "--keys", paramLabel = "N", split = ",", defaultValue = "100000,1000", description = "How many keys (default: ${DEFAULT-VALUE}).")
    private List<Integer> keys;

    @Option(names = "--protocols", paramLabel = "NAME", split = ",", defaultValue = "two_phase,tom_2,tom_3", description = "Of ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}). TWO_PHASE_BLIND: two-phase commit whose deadlocks last until the lock timeout. INFINISPAN, embedded: distributed, optimistic transactions; READ_COMMITTED and REPEATABLE_READ_WRITE_SKEW, and in the real world only.")
    private List<GridContender> protocols;

    @Option(names = "--levels", paramLabel = "NAME", split = ",", defaultValue = "read_committed,repeatable_read_write_skew", description = "Of ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private List<IsolationLevel> levels;

    @Option(names = "--workloads", paramLabel = "NAME", split = ",", defaultValue = "radargun", description = "Of ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}). TPCC has keys of its own: one warehouse, 45 %% payments, 5 %% questions, new orders.")
    private List<GridScript.Workload> workloads;

    @Option(names = "--worlds", paramLabel = "NAME", split = ",", defaultValue = "real", description = "Of ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}). Processes: each node in one of its own. Simulated: the nodes' classes on machines of 8 cores on a gigabit network, in virtual time; --nodes 100 is no matter.")
    private List<GridFigures.World> worlds;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Of what is simulated (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(names = "--threads", paramLabel = "N", defaultValue = "8", description = "Clients of each node (default: ${DEFAULT-VALUE}).")
    private int threads;

    @Option(names = "--crashes", paramLabel = "N", defaultValue = "0", description = "How many nodes at a time may crash without anything being undone that was seen; 0 is the thesis (default: ${DEFAULT-VALUE}).")
    private int crashes;

    @Option(names = "--lock-timeout", paramLabel = "MS", defaultValue = "10000", description = "Of two-phase commit, in milliseconds (default: ${DEFAULT-VALUE}, as in the thesis).")
    private int lockTimeoutMillis;

    @Option(names = "--seconds", paramLabel = "N", defaultValue = "3", description = "Of each measurement, after a warm-up of a third (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "1", description = "So often each is measured where it is not simulated: protocols take turns, each next time the other way around; the round with the median throughput counts (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(names = "--simulated-seconds", paramLabel = "N", description = "Of each measurement in virtual time (default: as --seconds).")
    private @Nullable Double simulatedSeconds;

    @Option(names = "--real-nodes-max", paramLabel = "N", defaultValue = "10", description = "Larger grids are only simulated, if that is among the worlds (default: ${DEFAULT-VALUE}).")
    private int realNodesMax;

    @Option(names = "--memory", paramLabel = "ENTRIES", description = "Instead of all others: how many bytes of the heap an entry takes at each of two owners, of so many small ones, for each of --protocols.")
    private @Nullable Integer memory;

    @Option(names = "--docs", paramLabel = "FILE", description = "A page in Markdown whose section is to be replaced by what was measured, each world beside the others.")
    private @Nullable Path docs;

    @Mixin
    private MeasurementOptions measurement;

    @Option(names = "--resume", paramLabel = "FILE", description = "What another run has written by --json: what was measured there is not measured again, and stands beside what is.")
    private @Nullable Path resume;

    @Option(names = "--plots", paramLabel = "DIR", description = "Where to draw each figure over the number of nodes.")
    private @Nullable Path plots;

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (seconds < 0.01 || seconds > 3600 || inSimulation() < 0.01 || inSimulation() > 3600 || threads < 1
                || threads > 256 || lockTimeoutMillis < 1 || crashes < 0 || crashes > 255 || rounds < 1 || rounds > 99
                || rounds % 2 == 0) {
            throw Failure.usage(
                    "--seconds and --simulated-seconds must be 0.01 to 3600, --threads 1 to 256, --lock-timeout at least 1,"
                            + " --crashes 0 to 255, and --rounds odd and below 100",
                    "");
        }
        if (nodes.stream().anyMatch(count -> count < 1 || count > 100) || keys.stream().anyMatch(count -> count < 1)
                || degrees.stream().anyMatch(degree -> degree < 1)) {
            throw Failure.usage("--nodes must be 1 to 100, --keys and --degrees at least 1", "");
        }
        Integer entries = memory;
        if (entries != null) {
            return measureMemory(entries);
        }
        for (GridContender protocol : protocols) {
            for (IsolationLevel level : levels) {
                if (!protocol.has(level)) {
                    throw Failure.usage(protocol + " has no level " + level,
                            "leave one of them out: --protocols, --levels");
                }
            }
            if (!protocol.isOurs() && !worlds.contains(GridFigures.World.REAL)) {
                throw Failure.usage(protocol + " can be measured in one process only", "--worlds real");
            }
        }
        Numbers before = resume == null ? numbers(List.of(), List.of()) : resumed(resume);
        Screen screen = measurement.begin();
        screen.line(String.format(Locale.ROOT, "%-9s %-8s %-9s %-27s %7s %6s %5s | %9s %8s %8s | %24s | %9s", "world",
                "workload", "protocol", "level",
                "keys", "degree", "nodes", "commits/s", "aborts", "", "commit, ms: p50 p99 max", "messages"));
        List<List<Planned>> plan = plan();
        int toMeasure = plan.stream().mapToInt(List::size).sum();
        List<List<String>> parts = new ArrayList<>(before.parts());
        parts.add(measurement.conditions().lines());
        List<GridFigures.Measured> all = new ArrayList<>(before.measurements());
        int done = 0;
        try (QuietLog _ = new QuietLog()) {
            for (List<Planned> together : plan) {
                List<Planned> left = together.stream()
                        .filter(next -> before.measurements().stream()
                                .noneMatch(one -> one.isOf(next.measurement, next.world)))
                        .toList();
                done += together.size() - left.size();
                all.addAll(inTurns(left, done, toMeasure, screen));
                done += left.size();
                if (!left.isEmpty()) {
                    // A later one may end the process: for want of memory, or of patience.
                    write(numbers(parts, all), Screen.standard(new PrintWriter(Writer.nullWriter())));
                }
            }
        }
        screen.live(List.of());
        write(numbers(parts, all), screen);
        return 0;
    }

    /** What is to be measured, and where. */
    private record Planned(GridMeasurement measurement, GridFigures.World world) {}

    /** Measures what is compared, in as many rounds as are wanted, and has the round of each with its median throughput. */
    private List<GridFigures.Measured> inTurns(List<Planned> compared, int doneBefore, int toMeasure, Screen screen)
            throws IOException, InterruptedException {
        Map<Planned, List<GridFigures.Measured>> found = new LinkedHashMap<>();
        List<Planned> turns = compared;
        for (int round = 1; round <= rounds; round++) {
            for (Planned next : turns) {
                boolean simulated = next.world == GridFigures.World.SIMULATED;
                if (round > 1 && simulated) {
                    continue;
                }
                screen.live(List.of(bar(doneBefore + (round - 1) * compared.size() / rounds, toMeasure,
                        next.measurement)));
                GridFigures.Measured measured = switch (next.world) {
                    case REAL -> next.measurement.run();
                    case PROCESSES -> GridProcesses.run(next.measurement);
                    case SIMULATED -> new GridSimulation(next.measurement.lasting(inSimulation()), seed).run();
                };
                found.computeIfAbsent(next, _ -> new ArrayList<>()).add(measured);
                screen.line(line(measured));
            }
            turns = turns.reversed();
        }
        return compared.stream().map(one -> GridFigures.Measured.median(found.getOrDefault(one, List.of()))).toList();
    }

    /**
     * What stands in the file beside the conditions of the last part.
     *
     * @param parts the conditions under which each part was measured, as lines
     */
    private record Numbers(int threads, double seconds, double simulatedSeconds, int rounds, int crashes,
            int lockTimeoutMillis, long seed, List<List<String>> parts, List<GridFigures.Measured> measurements) {}

    private Numbers numbers(List<List<String>> parts, List<GridFigures.Measured> measurements) {
        return new Numbers(threads, seconds, inSimulation(), rounds, crashes, lockTimeoutMillis, seed, parts,
                measurements);
    }

    private Numbers resumed(Path file) throws IOException {
        Numbers read = BenchFiles.readJson(file, Numbers.class, "grid bench",
                "name one that `tutti grid bench --json FILE` has written",
                found -> found.parts != null && found.measurements != null);
        if (!read.equals(numbers(read.parts, read.measurements))) {
            throw Failure.usage(file + " was measured with --threads " + read.threads + " --seconds " + read.seconds
                    + " --simulated-seconds " + read.simulatedSeconds + " --rounds " + read.rounds + " --crashes "
                    + read.crashes
                    + " --lock-timeout " + read.lockTimeoutMillis + " --seed " + read.seed,
                    "give the same");
        }
        return read;
    }

    private void write(Numbers numbers, Screen screen) throws IOException {
        List<GridFigures.Measured> all = numbers.measurements();
        measurement.write("grid", Map.of("measurements", all, "parts", numbers.parts, "threads", threads,
                "seconds", seconds, "simulatedSeconds", inSimulation(), "rounds", rounds, "crashes", crashes,
                "lockTimeoutMillis",
                lockTimeoutMillis, "seed", seed), screen);
        if (plots != null) {
            draw(plots, all, screen);
        }
        if (docs != null) {
            GridSweepPage.write(docs, numbers.parts(), threads + " clients on each node; " + seconds + " s each"
                    + (rounds == 1 ? "" : ", the median of " + rounds + " rounds in turns (least to most)")
                    + (inSimulation() == seconds ? "" : ", " + inSimulation() + " s in simulation"), all, plots);
            screen.line("page: " + docs);
        }
    }

    private int measureMemory(int entries) throws IOException, InterruptedException {
        if (entries < 1) {
            throw Failure.usage("--memory must be at least 1", "");
        }
        Screen screen = measurement.begin();
        List<GridMemory.Measured> found = new ArrayList<>();
        try (QuietLog _ = new QuietLog()) {
            for (GridContender protocol : protocols) {
                GridMemory.Measured one = GridMemory.measure(protocol, entries);
                found.add(one);
                screen.line(one.line());
            }
        }
        measurement.write("grid memory", Map.of("measurements", found), screen);
        return 0;
    }

    private double inSimulation() {
        return simulatedSeconds == null ? seconds : simulatedSeconds;
    }

    /** Where a measurement is made. */
    private List<GridFigures.World> worldsOf(GridMeasurement next) {
        if (!next.protocol().isOurs()) {
            return next.nodes() > realNodesMax ? List.of() : List.of(GridFigures.World.REAL);
        }
        return next.nodes() > realNodesMax && worlds.contains(GridFigures.World.SIMULATED)
                ? List.of(GridFigures.World.SIMULATED)
                : worlds;
    }

    /** All measurements, in the order in which they are made; those together that are compared, in one world. */
    private List<List<Planned>> plan() {
        List<List<Planned>> plan = new ArrayList<>();
        for (GridScript.Workload workload : workloads) {
            // The other one has keys of its own.
            for (int keyCount : workload == GridScript.Workload.RADARGUN ? keys : List.of(0)) {
                for (int degree : degrees) {
                    for (IsolationLevel level : levels) {
                        for (int count : nodes) {
                            List<GridMeasurement> compared = (degree > count ? List.<GridContender>of() : protocols)
                                    .stream()
                                    .map(protocol -> new GridMeasurement(workload, protocol, level, keyCount, degree,
                                            count, threads, crashes, Duration.ofMillis(lockTimeoutMillis), seconds))
                                    .toList();
                            Arrays.stream(GridFigures.World.values()).map(world -> compared.stream()
                                    .filter(each -> worldsOf(each).contains(world))
                                    .map(each -> new Planned(each, world)).toList()).forEach(plan::add);
                        }
                    }
                }
            }
        }
        return plan;
    }

    private static String bar(int done, int all, GridMeasurement now) {
        int full = BAR_WIDTH * done / all;
        return String.format(Locale.ROOT, "[%s%s] %d of %d, %s of %d nodes, degree %d, %d keys", "=".repeat(full),
                " ".repeat(BAR_WIDTH - full), done, all, now.protocol(), now.nodes(), now.degree(), now.keys());
    }

    private static String line(GridFigures.Measured of) {
        return String.format(Locale.ROOT,
                "%-9s %-8s %-9s %-27s %7d %6d %5d | %9.0f %7.3f%% %8s | %6.2f %7.2f %9.2f | %9.1f",
                of.world(), of.workload(), of.protocol(), of.level(), of.keys(), of.degree(), of.nodes(),
                of.commitsPerSecond(),
                of.abortPercent(), locks(of),
                of.commitMillisMedian(),
                of.commitMillis99(), of.commitMillisMax(), of.messagesPerTransaction());
    }

    /** Deadlocks that were found, and locks that were waited for in vain. */
    private static String locks(GridFigures.Measured of) {
        return of.deadlocks() + of.lockTimeouts() == 0 ? "" : of.deadlocks() + "D " + of.lockTimeouts() + "T";
    }

    /** What is drawn together: a curve for each protocol. */
    record Kind(GridFigures.World world, GridScript.Workload workload, int keys, int degree, IsolationLevel level) {
        static Kind of(GridFigures.Measured one) {
            return new Kind(one.world(), one.workload(), one.keys(), one.degree(), one.level());
        }

        private static String word(Enum<?> one) {
            return one.name().toLowerCase(Locale.ROOT).replace('_', '-');
        }

        private String what() {
            return workload == GridScript.Workload.TPCC ? "TPC-C" : keys + " keys";
        }

        String title() {
            return what() + ", degree " + degree + ", " + level + ", " + word(world);
        }

        /** Where one of its figures is drawn. */
        String file(String figure) {
            return "grid-" + word(world) + "-" + what().replace(' ', '-') + "-degree-" + degree + "-"
                    + word(level) + "-" + figure.replaceAll("[^a-z].*", "")
                    + ".svg";
        }
    }

    private static void draw(Path directory, List<GridFigures.Measured> all, Screen screen) {
        for (Kind kind : all.stream().map(Kind::of).distinct().toList()) {
            // What has committed nothing has no latency.
            List<GridFigures.Measured> of = all.stream()
                    .filter(one -> Kind.of(one).equals(kind) && one.commitsPerSecond() > 0).toList();
            FIGURES.forEach((name, figure) -> {
                List<Chart.Curve> curves = new ArrayList<>();
                of.stream().map(GridFigures.Measured::protocol).distinct().forEach(protocol -> {
                    List<GridFigures.Measured> points = of.stream().filter(one -> one.protocol() == protocol).toList();
                    curves.add(new Chart.Curve(protocol.name(), protocol.isTwoPhase(),
                            points.stream().mapToDouble(GridFigures.Measured::nodes).toArray(),
                            points.stream().mapToDouble(figure).toArray()));
                });
                BenchFiles.write(directory.resolve(kind.file(name)),
                        new Chart(kind.title(), "nodes", name, false, false, true, curves).svg());
            });
        }
        screen.line("plots: " + directory.toAbsolutePath().normalize());
    }
}
