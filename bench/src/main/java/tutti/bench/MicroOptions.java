package tutti.bench;

import java.util.List;
import java.util.Map;
import picocli.CommandLine.Option;
import tutti.bench.micro.Microbenchmark;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.report.MeasurementOptions;

/** What the commands have in common that run one JMH benchmark. */
final class MicroOptions extends MeasurementOptions {
    private static final double SECONDS_MIN = 0.1;
    private static final double SECONDS_MAX = 3600;
    private static final double MILLIS_PER_SECOND = 1000;

    @Option(names = "--forks", paramLabel = "N", defaultValue = "2", description = "JVMs, one after another, for each row (default: ${DEFAULT-VALUE}).")
    private int forks;

    @Option(names = "--warmup", paramLabel = "N", defaultValue = "3", description = "Iterations of a JVM that are not counted (default: ${DEFAULT-VALUE}).")
    private int warmups;

    @Option(names = "--iterations", paramLabel = "N", defaultValue = "5", description = "Iterations of a JVM that are counted (default: ${DEFAULT-VALUE}).")
    private int iterations;

    @Option(names = "--seconds", paramLabel = "N", defaultValue = "1", description = "Length of an iteration (default: ${DEFAULT-VALUE}).")
    private double seconds;

    /** What a run has found, and where to say so. */
    record Run(List<Microbenchmark.Found> found, Screen screen) {
        /** Says it as a table, the heading first. */
        void show(List<List<String>> rows) {
            Screen.table(rows).forEach(screen::line);
        }
    }

    /** Says on what it runs, and runs. */
    Run run(String name, Class<?> benchmark) throws Exception {
        if (forks < 1 || iterations < 1 || warmups < 0 || seconds < SECONDS_MIN || seconds > SECONDS_MAX) {
            throw Failure.usage("--forks and --iterations must be at least 1, --seconds 0.1 to 3600", "");
        }
        Screen screen = begin();
        List<Microbenchmark.Found> found = new Microbenchmark(benchmark, forks, warmups, iterations,
                (long) (seconds * MILLIS_PER_SECOND)).run();
        screen.line("");
        write(name, Map.of("found", found), screen);
        return new Run(found, screen);
    }
}
