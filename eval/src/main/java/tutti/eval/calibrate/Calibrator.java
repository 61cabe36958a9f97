package tutti.eval.calibrate;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.Locale;
import java.util.Map;
import tutti.command.Screen;
import tutti.model.WorkloadModel;
import tutti.report.BenchFiles;

/** Makes a calibration: profiles, and measures disk and network. */
final class Calibrator {
    private Calibrator() {}

    /**
     * Makes a calibration of transactions that were profiled alone and together, and measures disk and network besides.
     *
     * @param percentile 0 to 1, of latencies, above which transactions are left out
     */
    static CalibrationResult calibrate(RealRun.Seen seen, RealServer server, RealOptions options,
            WorkloadModel workload, double percentile, Screen screen)
            throws IOException, SQLException, InterruptedException {
        Profile profile = Profile.of(seen.alone(), percentile);
        screen.line("profiled " + seen.alone().size() + " transactions alone, " + seen.together().size() + " together");
        NetworkProbe network = NetworkProbe.measure(server);
        LogProbe log;
        LosingProbe losing;
        try (RealClient client = new RealClient(0, workload, server.database(), server.scale(), options.seed() + 1,
                options.seed(), System.currentTimeMillis() << 14 | 0x2000)) {
            log = LogProbe.measure(server, client);
            losing = LosingProbe.measure(server, client).with(seen.together());
        }
        Map<String, String> settings = options.describe(server);
        if (percentile < 1) {
            settings.put("left out",
                    String.format(Locale.ROOT, "transactions above the %.0fth percentile of their kind",
                            100 * percentile));
        }
        return new CalibrationResult(options.conditions().startedAt(), options.conditions().machine(), settings,
                seen.alone().size(),
                profile,
                losing, log, network, WakingProbe.measure());
    }

    /** Writes the calibration file. */
    static void write(CalibrationResult result, Path file, Screen screen) {
        BenchFiles.write(file, new CalibrationText(result).yaml());
        screen.line("written: " + file.toAbsolutePath().normalize());
    }
}
