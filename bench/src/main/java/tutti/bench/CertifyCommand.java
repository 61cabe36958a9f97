package tutti.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tutti.bench.micro.CertificationBenchmark;
import tutti.bench.micro.CertificationMeasurement;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.report.MeasurementOptions;

/** Measures certification: keys per second on one core, bytes per live key. */
@Command(name = "certify", description = "Certification: keys certified and noted per second on one core, transactions of"
        + " ten keys each, and bytes per live key. Runs JMH in JVMs of its own, which take up to 3 GiB of memory.")
final class CertifyCommand implements Callable<Integer> {
    private static final double AIM_PER_SECOND = 5e6;
    private static final double AIM_BYTES = 40;
    private static final double MICROS_PER_MILLI = 1e3;

    @Option(names = "--keys", paramLabel = "N", split = ",", defaultValue = "100000,1000000,10000000", description = "Numbers of live keys to try (default: ${DEFAULT-VALUE}).")
    private List<Integer> keys = List.of();

    @Option(names = "--forks", paramLabel = "N", defaultValue = "3", description = "JVMs, one after another, for each number of keys (default: ${DEFAULT-VALUE}).")
    private int forks;

    @Option(names = "--warmup", paramLabel = "N", defaultValue = "3", description = "Iterations of a JVM that are not counted (default: ${DEFAULT-VALUE}).")
    private int warmups;

    @Option(names = "--iterations", paramLabel = "N", defaultValue = "5", description = "Iterations of a JVM that are counted (default: ${DEFAULT-VALUE}).")
    private int iterations;

    @Option(names = "--seconds", paramLabel = "N", defaultValue = "2", description = "Length of an iteration (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Option(names = "--details", description = "Show what JMH prints.")
    private boolean details;

    @Mixin
    private MeasurementOptions measuring = new MeasurementOptions();

    @Override
    public Integer call() throws Exception {
        require(forks >= 1 && iterations >= 1 && warmups >= 0, "--forks and --iterations must be at least 1");
        require(seconds >= 0.1 && seconds <= 3600, "--seconds must be 0.1 to 3600, was " + seconds);
        require(keys.stream().allMatch(n -> n >= 100 && n <= 15_000_000 && n % 10 == 0),
                "--keys must be multiples of ten, 100 to 15000000, was " + keys);
        Screen screen = measuring.begin();
        screen.line(String.format(Locale.ROOT, "about %.0f s", keys.size() * forks * (warmups + iterations) * seconds));
        List<CertificationMeasurement.Found> found = new CertificationMeasurement(forks, warmups, iterations,
                (long) (seconds * 1000), keys).run(details);
        screen.line("");
        Screen.table(rows(found)).forEach(screen::line);
        screen.line("");
        double slowest = found.stream().mapToDouble(CertificationMeasurement.Found::medianPerSecond).min().orElse(0);
        double largest = found.stream().mapToDouble(CertificationMeasurement.Found::bytesPerLiveKey).max().orElse(0);
        screen.line(verdict(screen, slowest >= AIM_PER_SECOND, String.format(Locale.ROOT,
                "at least %.0f million keys per second: %.1f million", AIM_PER_SECOND / 1e6, slowest / 1e6)));
        screen.line(verdict(screen, largest <= AIM_BYTES, String.format(Locale.ROOT,
                "at most %.0f bytes per live key: %.1f", AIM_BYTES, largest)));
        measuring.write("certify",
                Map.of("keysPerTransaction", CertificationBenchmark.KEYS_PER_TRANSACTION, "found", found), screen);
        return 0;
    }

    private static List<List<String>> rows(List<CertificationMeasurement.Found> found) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("live keys", "million keys/s: min", "median", "max", "per CPU second", "bytes/live key",
                "longest pause ms",
                "iterations"));
        for (CertificationMeasurement.Found row : found) {
            rows.add(List.of(String.format(Locale.ROOT, "%,d", row.liveKeys()), millions(row.minPerSecond()),
                    millions(row.medianPerSecond()), millions(row.maxPerSecond()), millions(row.perCpuSecond()),
                    String.format(Locale.ROOT, "%.1f", row.bytesPerLiveKey()),
                    String.format(Locale.ROOT, "%.1f", row.longestMicros() / MICROS_PER_MILLI),
                    String.valueOf(row.iterations())));
        }
        return rows;
    }

    private static String millions(double value) {
        return String.format(Locale.ROOT, "%.2f", value / 1e6);
    }

    private static String verdict(Screen screen, boolean met, String what) {
        return (met ? screen.good("aim met:    ") : screen.bad("aim missed: ")) + what;
    }

    private static void require(boolean condition, String what) {
        if (!condition) {
            throw Failure.usage(what, "");
        }
    }
}
