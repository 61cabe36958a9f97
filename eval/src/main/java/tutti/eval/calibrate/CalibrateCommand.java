package tutti.eval.calibrate;

import java.nio.file.Files;
import java.nio.file.Path;
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
import tutti.report.BenchFiles;

/** Measures a real PostgreSQL, for the performance model. */
@Command(name = "calibrate", description = "Start a real PostgreSQL with TPC-C, measure what its transactions cost, one at a"
        + " time (processor time of server and client, wait for the log, network), fit distributions, and write a"
        + " calibration for the performance model: name its file as database.calibration in a scenario of"
        + " `tutti sim run`. docs/evaluation.md says how it is measured.", footer = {"",
                "Example: tutti calibrate --html reports/calibration.html",
                "Exit status: 0 done, 1 it could not be measured, 2 called wrongly."})
public final class CalibrateCommand implements Callable<Integer> {
    static final String DEFAULT_FILE = "reports/calibration.yaml";

    @Mixin
    private final RealOptions options = new RealOptions();

    @Option(names = "--out", paramLabel = "FILE", defaultValue = DEFAULT_FILE, description = "Where the calibration goes"
            + " (default: ${DEFAULT-VALUE}).")
    private Path out = Path.of(DEFAULT_FILE);

    @Option(names = "--percentile", paramLabel = "P", defaultValue = "100", description = "Leave out transactions that took"
            + " longer than this percentage of their kind; D5.1 does with 90 (default: ${DEFAULT-VALUE}, none).")
    private double percentile;

    @Option(names = "--html", paramLabel = "FILE", description = "Where to write histograms and Q-Q plots, as a page.")
    private @Nullable Path html;

    @Override
    public Integer call() throws Exception {
        if (!(percentile > 0 && percentile <= 100)) {
            throw Failure.usage("--percentile must be above 0 and at most 100, was " + percentile, "");
        }
        ModelConfig config = options.config(Map.of());
        Files.createDirectories(options.directory());
        Screen screen = options.begin(options.directory());
        CalibrationResult result;
        try (RealServer server = options.server(options.scale(config.workload()), screen)) {
            RealRun.Seen profiled = RealRun.run(server,
                    new RealRun.Plan(config.workload(), RealRun.Purpose.PROFILE, options.warmup(), 1, options.seconds(),
                            options.seed(), "profiling one transaction at a time"),
                    options.seed(), screen);
            result = Calibrator.calibrate(profiled, server, options, config.workload(), percentile / 100, screen);
        }
        CalibrationText text = new CalibrationText(result);
        text.lines().forEach(screen::line);
        Calibrator.write(result, out, screen);
        if (html != null) {
            BenchFiles.write(html, CalibrationPage.html(result));
            screen.line("written: " + html.toAbsolutePath().normalize());
        }
        Path json = options.json();
        if (json != null) {
            BenchFiles.writeJson(json, text.json());
            screen.line("written: " + json.toAbsolutePath().normalize());
        }
        return Program.OK;
    }
}
