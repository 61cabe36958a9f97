package tutti.eval;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.model.Costs;
import tutti.model.ModelConfig;
import tutti.model.RunResult;
import tutti.model.TraceFile;
import tutti.model.scenario.ScenarioFile;
import tutti.model.scenario.ScenarioReader;
import tutti.yaml.UnusableFileException;

/** Runs a scenario file on the performance model. */
@Command(name = "run", description = "Run a scenario: the real protocols between models of clients, databases and networks;"
        + " docs/evaluation.md says what a scenario may say. Prints throughput, latency and aborts, checks that all replicas"
        + " commit the same sequence (otherwise exit status 1), and how fast the simulation was.")
public final class RunCommand implements Callable<Integer> {
    private static final int TRACE_CHARACTERS_MAX = 100_000_000;
    private static final int THREADS_MAX = 256;
    private static final int REPETITIONS_MAX = 1000;

    @Parameters(index = "0", paramLabel = "SCENARIO", description = "A scenario file, or the name of a shipped scenario.")
    private String scenario = "";

    @Option(names = "--set", paramLabel = "KEY=VALUE", description = "A key of the scenario, for example"
            + " workload.clients=1000.")
    private Map<String, String> overrides = new LinkedHashMap<>();

    @Option(names = "--seed", paramLabel = "K", description = "Seed of the first repetition (default: the scenario's).")
    private @Nullable Long seed;

    @Option(names = "--repetitions", paramLabel = "N", description = "Runs of each point, with seeds in turn (default:"
            + " the scenario's).")
    private @Nullable Integer repetitions;

    @Option(names = "--threads", paramLabel = "N", description = "Runs side by side (default: the processors).")
    private @Nullable Integer threads;

    @Option(names = "--json", paramLabel = "FILE", description = "Write all numbers.")
    private @Nullable Path json;

    @Option(names = "--html", paramLabel = "FILE", description = "Write a report with plots.")
    private @Nullable Path html;

    @Option(names = "--trace", paramLabel = "FILE", description = "Write a timeline of transactions for Perfetto or"
            + " chrome://tracing; for a scenario of one run.")
    private @Nullable Path trace;

    @Option(names = "--pcap", paramLabel = "FILE", description = "Write the packets that sites send, for Wireshark or"
            + " tcpdump; for a scenario of one run with order.kind group.")
    private @Nullable Path pcap;

    @Option(names = "--costs", paramLabel = "FILE", description = "With run.charge measured: where to write what real code"
            + " cost; with replay: where to read it.")
    private @Nullable Path costs;

    @Option(names = "--performability", description = "Run the scenario without its faults, too, and say with what"
            + " probability a transaction commits within the time that nine of ten need without them (D5.1, section 3.5.2).")
    private boolean performability;

    @Option(names = "--print", description = "Print the shipped scenario or calibration instead of running it.")
    private boolean print;

    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        if (spec == null) {
            throw new IllegalStateException("the command line was not parsed");
        }
        Screen screen = Screen.standard(spec.commandLine().getOut());
        if (print) {
            screen.line(valid(() -> ScenarioReader.shipped(scenario)).stripTrailing());
            return Program.OK;
        }
        ScenarioFile base = read(overrides);
        List<Point> points = points(base);
        List<Point> calm = performability ? withoutFaults(base) : List.of();
        List<ModelRuns.Job> jobs = new ArrayList<>();
        points.forEach(point -> addJobs(jobs, point, base, ""));
        calm.forEach(point -> addJobs(jobs, point, base, " without faults"));
        boolean alone = jobs.size() == 1;
        ModelConfig.Charge charge = base.config().charge();
        if (pcap != null && base.config().order().kind() != ModelConfig.OrderChoice.Kind.GROUP) {
            throw Failure.usage("--pcap needs real packets, and the order of this scenario is modelled",
                    "add --set order.kind=group");
        }
        if (!alone && (trace != null || pcap != null || charge != ModelConfig.Charge.MODEL)) {
            throw Failure
                    .usage("--trace, --pcap, and charge measured or replay, are for scenarios of one run; this one has "
                            + jobs.size(), "give one seed, one repetition and no sweep");
        }
        TraceFile timeline = new TraceFile(trace == null ? 0 : TRACE_CHARACTERS_MAX);
        List<Costs> measured = new ArrayList<>();
        List<RunResult> results;
        try (OutputStream packets = pcap == null
                ? OutputStream.nullOutputStream()
                : new BufferedOutputStream(Files.newOutputStream(pcap))) {
            results = new ModelRuns(screen, threads()).run(jobs, timeline,
                    charge == ModelConfig.Charge.REPLAY ? readCosts() : List.of(),
                    charge == ModelConfig.Charge.MEASURED ? measured : null, pcap == null ? null : packets);
        }
        int each = repetitions(base);
        for (int i = 0; i < points.size() + calm.size(); i++) {
            Point point = i < points.size() ? points.get(i) : calm.get(i - points.size());
            point.results().addAll(results.subList(i * each, (i + 1) * each));
        }
        String title = base.title().isEmpty() ? scenario : base.title();
        Findings findings = new Findings(title, points);
        findings.lines(screen).forEach(screen::line);
        if (performability) {
            screen.line("");
            Screen.table(Performability.table(points, calm)).forEach(screen::line);
        }
        write(json, findings.json(), screen);
        write(html, findings.html(), screen);
        if (trace != null) {
            write(trace, timeline.json(base.config().topology().names()), screen);
            if (timeline.leftOut() > 0) {
                screen.line(screen.notice("the timeline is full: " + timeline.leftOut() + " spans were left out"));
            }
        }
        if (charge == ModelConfig.Charge.MEASURED && costs != null) {
            writeCosts(costs, measured);
        }
        return findings.isSafe() ? Program.OK : Program.FAILURE;
    }

    private void addJobs(List<ModelRuns.Job> jobs, Point point, ScenarioFile base, String suffix) {
        long first = seed == null ? base.seed() : seed;
        for (int i = 0; i < repetitions(base); i++) {
            jobs.add(new ModelRuns.Job(
                    point.name() + suffix + (repetitions(base) > 1 ? " seed " + (first + i) : ""),
                    point.scenario(), first + i));
        }
    }

    private List<Point> withoutFaults(ScenarioFile base) {
        List<Point> points = new ArrayList<>();
        for (Map<String, String> values : base.points()) {
            Map<String, String> all = new LinkedHashMap<>(overrides);
            all.putAll(values);
            if (read(all).config().faults().isEmpty()) {
                throw Failure.usage("--performability compares with a run without faults, and this scenario has none",
                        "give it `faults`, for example --set 'faults=[{kind: random-loss, rate: 0.05}]'"
                                + " --set order.kind=group");
            }
            all.put("faults", "[]");
            points.add(new Point(values, read(all), new ArrayList<>()));
        }
        return points;
    }

    private List<Point> points(ScenarioFile base) {
        List<Point> points = new ArrayList<>();
        for (Map<String, String> values : base.points()) {
            Map<String, String> all = new LinkedHashMap<>(overrides);
            all.putAll(values);
            points.add(new Point(values, read(all), new ArrayList<>()));
        }
        return points;
    }

    private ScenarioFile read(Map<String, String> with) {
        return valid(() -> ScenarioReader.read(scenario, with));
    }

    /** What may be wrong with a scenario. */
    interface Reading<T> {
        T read() throws UnusableFileException;
    }

    static <T> T valid(Reading<T> reading) {
        try {
            return reading.read();
        } catch (UnusableFileException wrong) {
            throw Failure.usage(String.valueOf(wrong.getMessage()), "");
        }
    }

    private int repetitions(ScenarioFile base) {
        return within("--repetitions", repetitions == null ? base.repetitions() : repetitions, REPETITIONS_MAX);
    }

    private int threads() {
        return within("--threads", threads == null ? Runtime.getRuntime().availableProcessors() : threads, THREADS_MAX);
    }

    private static int within(String option, int value, int most) {
        if (value < 1 || value > most) {
            throw Failure.usage(option + " must be 1 to " + most + ", was " + value, "");
        }
        return value;
    }

    private static void write(@Nullable Path file, String text, Screen screen) throws IOException {
        if (file != null) {
            Path parent = file.toAbsolutePath().getParent();
            if (parent != null) {
                Files.createDirectories(parent);
            }
            Files.writeString(file, text);
            screen.line("written: " + file.toAbsolutePath().normalize());
        }
    }

    private static void writeCosts(Path file, List<Costs> measured) throws IOException {
        try (DataOutputStream out = new DataOutputStream(
                new BufferedOutputStream(Files.newOutputStream(file)))) {
            out.writeInt(measured.size());
            for (Costs one : measured) {
                long[] nanos = one.toArray();
                out.writeInt(nanos.length);
                for (long cost : nanos) {
                    out.writeLong(cost);
                }
            }
        }
    }

    private List<Costs> readCosts() throws IOException {
        if (costs == null) {
            throw Failure.usage("charge replay needs what a measured run has written", "give --costs FILE");
        }
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(costs)))) {
            List<Costs> read = new ArrayList<>();
            for (int site = in.readInt(); site > 0; site--) {
                long[] nanos = new long[in.readInt()];
                for (int i = 0; i < nanos.length; i++) {
                    nanos[i] = in.readLong();
                }
                read.add(Costs.of(nanos));
            }
            return read;
        } catch (NoSuchFileException _) {
            throw new Failure("there is no file " + costs,
                    "run the scenario with run.charge=measured and --costs first");
        }
    }
}
