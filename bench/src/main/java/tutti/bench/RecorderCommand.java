package tutti.bench;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import tutti.bench.micro.Microbenchmark;
import tutti.bench.micro.RecorderBenchmark;

/** Measures what the flight recorder costs a replica's event loop. */
@Command(name = "recorder", description = "The flight recorder: time that the protocol takes per transaction without and with it."
        + " Runs JMH in JVMs of its own.")
final class RecorderCommand implements Callable<Integer> {
    private static final double MICROS_PER_MILLI = 1e3;

    @Mixin
    private MicroOptions options = new MicroOptions();

    @Override
    public Integer call() throws Exception {
        MicroOptions.Run run = options.run("recorder", RecorderBenchmark.class);
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("live keys", "recorder", "us/transaction: min", "median", "max", "CPU us/transaction",
                "thousand events per CPU second"));
        run.found().stream()
                .sorted(Comparator.comparingInt((Microbenchmark.Found found) -> liveKeys(found).length())
                        .thenComparing(RecorderCommand::liveKeys).thenComparing(RecorderCommand::recorder))
                .forEach(found -> rows.add(List.of(liveKeys(found), recorder(found),
                        micros(found.min()), micros(found.median()), micros(found.max()),
                        micros(found.cpuMicros()),
                        String.format(Locale.ROOT, "%,.0f",
                                RecorderBenchmark.EVENTS_PER_TRANSACTION * MICROS_PER_MILLI / found.cpuMicros()))));
        run.show(rows);
        return 0;
    }

    private static String liveKeys(Microbenchmark.Found found) {
        return found.parameters().getOrDefault("liveKeys", "");
    }

    private static String recorder(Microbenchmark.Found found) {
        return "true".equals(found.parameters().get("recorded")) ? "on" : "off";
    }

    private static String micros(double value) {
        return String.format(Locale.ROOT, "%.2f", value);
    }
}
