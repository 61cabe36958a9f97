package tutti.eval.calibrate;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.model.ModelConfig;
import tutti.model.ModelRun;
import tutti.model.RunResult;
import tutti.model.TraceFile;
import tutti.report.BenchFiles;

/** Runs one scenario in both worlds. */
@Command(name = "validate", description = "Run the same scenario on a real PostgreSQL and on the performance model, and"
        + " compare throughput, latency and aborts of each kind of transaction (D5.1, table 2.6). The model has one"
        + " database that is not replicated: its calibration, and nothing else.", footer = {"",
                "Example: tutti validate --html reports/validation.html",
                "Exit status: 0 throughput within 3 %%, or within 10 %% where the simulation has processors 80 %% busy or more,"
                        + " and all latencies within 10 %%; 1 not so, or it could not be measured; 2 called wrongly."})
public final class ValidateCommand implements Callable<Integer> {
    private static final int ROUNDS_MAX = 100;
    /** Simulated for so many times as long as the real run, so that what differs is not the simulation's chance. */
    private static final int LONGER = 20;
    /** But for no more transactions than this. */
    private static final long TRANSACTIONS_MAX = 200_000;
    private static final long SEED_STEP = 1000;

    @Mixin
    private final RealOptions options = new RealOptions();

    @Option(names = "--calibration", paramLabel = "FILE", description = "Calibration to validate (default: one is made"
            + " on the same server, by turns of a second with the real run, so that both see machine and database in the"
            + " same state).")
    private @Nullable String calibration;

    @Option(names = "--out", paramLabel = "FILE", defaultValue = CalibrateCommand.DEFAULT_FILE, description = "Where a"
            + " calibration that is made goes (default: ${DEFAULT-VALUE}).")
    private Path out = Path.of(CalibrateCommand.DEFAULT_FILE);

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "3", description = "So many times --seconds the real run is"
            + " made; the throughput of each is told (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(names = "--html", paramLabel = "FILE", description = "Where to write distribution functions and Q-Q plots, as a"
            + " page.")
    private @Nullable Path html;

    @Override
    public Integer call() throws Exception {
        if (rounds < 1 || rounds > ROUNDS_MAX) {
            throw Failure.usage("--rounds must be 1 to " + ROUNDS_MAX + ", was " + rounds, "");
        }
        ModelConfig config = config(calibration == null ? "paper" : calibration);
        Files.createDirectories(options.directory());
        Screen screen = options.begin(options.directory());
        Outcomes real = new Outcomes();
        List<Double> byRound = new ArrayList<>();
        double processors = 0;
        Map<String, String> settings;
        try (RealServer server = options.server(options.scale(config.workload()), screen)) {
            RealRun.Seen seen = RealRun.run(server,
                    new RealRun.Plan(config.workload(),
                            calibration == null ? RealRun.Purpose.BOTH : RealRun.Purpose.RUN, options.warmup(), rounds,
                            options.seconds(), options.seed() + SEED_STEP,
                            calibration == null ? "profiling and running by turns" : "running"),
                    options.seed(), screen);
            for (RealRun.Round round : seen.rounds()) {
                round.transactions()
                        .forEach(one -> real.add(one.kind(), one.sinceNanos(), one.nowNanos(), one.cause()));
                real.looked(round.seconds());
                byRound.add(round.transactions().stream().filter(Observation::committed).count() * 60
                        / round.seconds());
                processors += round.processorShare() / rounds;
            }
            if (calibration == null) {
                CalibrationResult made = Calibrator.calibrate(seen, server, options, config.workload(), 1,
                        screen);
                Calibrator.write(made, out, screen);
                config = config(out.toAbsolutePath().toString());
            }
            settings = options.describe(server);
        }
        if (real.committed() < 2) {
            throw new Failure("only " + real.committed() + " transactions have committed in " + real.seconds() + " s",
                    "give more --seconds, more --clients or a smaller --thinking");
        }
        settings.put("calibration",
                calibration == null ? "made by turns with the real run, of other transactions" : calibration);
        settings.put("rounds", Integer.toString(rounds));
        Outcomes simulated = new Outcomes();
        RunResult result = simulate(config, simulated, screen);
        if (!result.safety().isEmpty()) {
            throw new Failure("the simulation is not safe: " + result.safety(), "this is a defect: report it");
        }
        Validation validation = new Validation(options.conditions().startedAt(), options.conditions().machine(),
                settings, real, simulated, byRound,
                processors, result.cpuShare());
        validation.lines(screen).forEach(screen::line);
        if (html != null) {
            BenchFiles.write(html, validation.html());
            screen.line("written: " + html.toAbsolutePath().normalize());
        }
        Path json = options.json();
        if (json != null) {
            BenchFiles.writeJson(json, validation.json());
            screen.line("written: " + json.toAbsolutePath().normalize());
        }
        return validation.misses().isEmpty() ? Program.OK : Program.FAILURE;
    }

    /** A database that is not replicated: no real code costs anything. */
    private ModelConfig config(String file) {
        ModelConfig read = options.config(Map.of("database.calibration", file));
        double warmUp = options.warmup();
        return new ModelConfig(read.topology(), read.calibration().withoutCode(), read.workload(), read.policy(),
                read.execution(), read.copies(),
                read.protocol(), read.order(), new ModelConfig.Length(warmUp, TRANSACTIONS_MAX,
                        warmUp + (double) LONGER * rounds * options.seconds(), 1),
                read.faults(), read.charge());
    }

    private RunResult simulate(ModelConfig config, Outcomes simulated, Screen screen) {
        ModelRun run = new ModelRun(config, options.seed() + SEED_STEP, new TraceFile(0), List.of());
        run.onEnd(simulated::add);
        double seconds = config.length().secondsMax() - config.length().warmUpSeconds();
        long begun = System.nanoTime();
        run.onProgress(counted -> screen.live(List.of(ProgressBar.text("simulation, " + counted + " transactions",
                Math.max((simulated.last() / 1e9 - config.length().warmUpSeconds()) / seconds,
                        (double) counted / TRANSACTIONS_MAX),
                1, (System.nanoTime() - begun) / 1e9))));
        RunResult result = run.run();
        screen.live(List.of());
        simulated.looked(result.seconds());
        return result;
    }
}
