package tutti.bench;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tutti.bench.micro.MacroComponentBenchmark;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.report.MeasurementOptions;

/** Measures what a call of a Macro-component costs beside the plain implementations. */
@Command(name = "component", description = "Macro-components of maps and of search indexes beside the plain"
        + " implementations: time of a call, and what it is more than with a plain HashMap. Runs JMH, each row and operation"
        + " in a JVM of its own.")
final class ComponentCommand implements Callable<Integer> {
    private static final double MILLIS_PER_SECOND = 1000;
    /** The starting of a JVM, roughly. */
    private static final double START_SECONDS = 1.5;

    @Option(names = "--iterations", paramLabel = "N", defaultValue = "3", description = "Iterations of a JVM that are counted; as many are not (default: ${DEFAULT-VALUE}).")
    private int iterations;

    @Option(names = "--seconds", paramLabel = "N", defaultValue = "0.3", description = "Length of an iteration (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Option(names = "--details", description = "Show what JMH prints.")
    private boolean details;

    @Mixin
    private MeasurementOptions measuring = new MeasurementOptions();

    @Override
    public Integer call() throws Exception {
        if (iterations < 2 || seconds < 0.01 || seconds > 3600) {
            throw Failure.usage("--iterations must be at least 2, --seconds 0.01 to 3600, were " + iterations + " and "
                    + seconds, "");
        }
        Screen screen = measuring.begin();
        screen.line(String.format(Locale.ROOT, "about %.0f s",
                MacroComponentBenchmark.RUNS * (2 * iterations * seconds + START_SECONDS)));
        List<MacroComponentBenchmark.Row> rows = MacroComponentBenchmark.measure(iterations,
                (long) (seconds * MILLIS_PER_SECOND), details);
        screen.line("");
        MacroComponentBenchmark.table(rows).lines().forEach(screen::line);
        measuring.write("component",
                Map.of("iterations", iterations, "secondsPerIteration", seconds, "rows", rows), screen);
        return 0;
    }
}
