package tutti.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import tutti.bench.micro.KernelBenchmark;
import tutti.bench.micro.Microbenchmark;

/** Measures the simulator's kernel: events per second on one core. */
@Command(name = "kernel", description = "The simulator's kernel: events per second on one core, with one and with 10,000 pending."
        + " Runs JMH in JVMs of its own.")
final class KernelCommand implements Callable<Integer> {
    private static final double AIM_FEW = 10;
    private static final double AIM_MANY = 10;
    private static final double MILLION = 1e6;

    @Mixin
    private MicroOptions options = new MicroOptions();

    @Override
    public Integer call() throws Exception {
        MicroOptions.Run run = options.run("kernel", KernelBenchmark.class);
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("pending events", "million events/s: min", "median", "max", "per CPU second", "aim"));
        for (Microbenchmark.Found found : run.found()) {
            String pending = found.parameters().getOrDefault("pending", "");
            double aim = pending.equals("1") ? AIM_FEW : AIM_MANY;
            String text = String.format(Locale.ROOT, "%.0f", aim);
            rows.add(List.of(pending, millions(found.min()), millions(found.median()), millions(found.max()),
                    millions(MILLION / found.cpuMicros()),
                    MILLION / found.cpuMicros() >= aim * MILLION ? run.screen().good(text) : run.screen().bad(text)));
        }
        run.show(rows);
        return 0;
    }

    private static String millions(double value) {
        return String.format(Locale.ROOT, "%.2f", value / MILLION);
    }
}
