package tutti.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import tutti.bench.micro.CaptureBenchmark;
import tutti.bench.micro.Microbenchmark;

/** Measures what it costs to know what a transaction has changed, for each way to find out and each engine. */
@Command(name = "capture", description = "H2 and HSQLDB: what it costs to know what a transaction of four one-row statements"
        + " has changed, from the engine's notes, by triggers and by analysis of the statements, beside a bare connection."
        + " Runs JMH in JVMs of its own.")
final class CaptureCommand implements Callable<Integer> {
    @Mixin
    private MicroOptions options = new MicroOptions();

    @Override
    public Integer call() throws Exception {
        MicroOptions.Run run = options.run("capture", CaptureBenchmark.class);
        run.show(rows(run.found()));
        return 0;
    }

    /** A table. */
    static List<List<String>> rows(List<Microbenchmark.Found> all) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("engine", "capture", "us per transaction: min", "median", "max", "CPU us", "more than none"));
        for (Microbenchmark.Found found : all) {
            String engine = found.parameters().getOrDefault("engine", "");
            double none = all.stream()
                    .filter(each -> engine.equals(each.parameters().get("engine"))
                            && CaptureBenchmark.NONE.equals(each.parameters().get("capture")))
                    .mapToDouble(Microbenchmark.Found::median).findFirst().orElse(found.median());
            rows.add(List.of(engine, found.parameters().getOrDefault("capture", ""), micros(found.min()),
                    micros(found.median()), micros(found.max()), micros(found.cpuMicros()),
                    String.format(Locale.ROOT, "%+.1f %%", (found.median() / none - 1) * 100)));
        }
        return rows;
    }

    private static String micros(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }
}
