package tutti.cli.calibrate;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.Locale;
import java.util.Map;
import tutti.cli.Screen;
import tutti.cli.bench.BenchFiles;
import tutti.cli.bench.Ground;
import tutti.sim.model.WorkloadModel;

/** Makes a calibration: profiles, and measures disk and network. */
final class Calibrator {
    private Calibrator() {}

    /**
     * Measures a server.
     *
     * @param percentile 0 to 1, of latencies, above which transactions are left out
     */
    static CalibrationResult calibrate(RealServer server, RealOptions options, WorkloadModel workload,
            double percentile, Ground ground, Screen screen) throws IOException, SQLException, InterruptedException {
        RealRun.Seen seen = RealRun.run(server, new RealRun.Plan(workload, options.warmup(), options.seconds(),
                options.seed(), true, "profiling one transaction at a time"), options.seed(), screen);
        Profile profile = Profile.of(seen.transactions(), percentile);
        screen.line(String.format(Locale.ROOT, "profiled %d transactions in %.0f s", seen.transactions().size(),
                seen.seconds()));
        NetworkProbe network = NetworkProbe.measure(server);
        LogProbe log;
        try (RealClient client = new RealClient(0, workload, server.database(), server.scale(), options.seed() + 1,
                options.seed(), System.currentTimeMillis() << 14 | 0x2000)) {
            log = LogProbe.measure(server, client);
        }
        Map<String, String> settings = options.describe(server);
        if (percentile < 1) {
            settings.put("left out",
                    String.format(Locale.ROOT, "transactions above the %.0fth percentile of their kind",
                            100 * percentile));
        }
        return new CalibrationResult(ground.startedAt(), ground.machine(), settings, seen.transactions().size(),
                profile,
                log, network);
    }

    /** Writes the calibration file. */
    static void write(CalibrationResult result, Path file, Screen screen) {
        BenchFiles.write(file, new CalibrationText(result).yaml());
        screen.line("written: " + file.toAbsolutePath().normalize());
    }
}
