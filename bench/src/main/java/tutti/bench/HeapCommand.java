package tutti.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tutti.cluster.NodeJvm;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.command.Trees;
import tutti.report.BenchFiles;
import tutti.report.MeasurementOptions;
import tutti.report.Plot;
import tutti.workload.tpcc.TpccScale;

/** Measures whether nodes grow under steady work. */
@Command(name = "heap", description = "Three nodes under steady TPC-C: what is alive on each node's heap after a full"
        + " collection, at a fixed rate, and whether it grows.")
final class HeapCommand implements Callable<Integer> {
    private static final int COLOURS = 8;
    private static final int GROWTHS = 8;
    /** Caches fill and code is compiled in the beginning: the trend is that of the rest. */
    private static final double WARM_AFTER = 0.25;

    @Option(names = "--seconds", paramLabel = "N", defaultValue = "300", description = "How long terminals work (default: ${DEFAULT-VALUE}).")
    private int seconds;

    @Option(names = "--interval", paramLabel = "N", defaultValue = "10", description = "Seconds between two looks (default: ${DEFAULT-VALUE}).")
    private int interval;

    @Mixin
    private TpccOptions tpcc = new TpccOptions();

    @Option(names = "--svg", paramLabel = "FILE", defaultValue = "reports/heap.svg", description = "Where to draw it (default: ${DEFAULT-VALUE}).")
    private Path svg;

    @Mixin
    private MeasurementOptions measuring = new MeasurementOptions();

    @Override
    public Integer call() throws Exception {
        require(tpcc.warehouses() >= 1 && tpcc.warehouses() <= 1000,
                "--warehouses must be 1 to 1000, was " + tpcc.warehouses());
        require(tpcc.terminals() >= 1 && tpcc.terminals() <= 400,
                "--terminals must be 1 to 400, was " + tpcc.terminals());
        require(interval >= 1 && seconds >= 6L * interval && seconds <= 86_400,
                "--seconds must be at least six times --interval, to see a trend, and at most 86400");
        Path data = Files.createTempDirectory("tutti-heap-");
        Screen screen = measuring.begin(data);
        AtomicBoolean keep = new AtomicBoolean();
        HeapRun.Found found;
        try (HeapRun run = new HeapRun(screen,
                new ClusterContender(Contender.Kind.D, data.resolve("cluster"), NodeJvm.command()),
                tpcc.reduced() ? TpccScale.reduced(tpcc.warehouses()) : TpccScale.standard(tpcc.warehouses()))) {
            Thread stop = Thread.ofPlatform().name("stop").unstarted(() -> stop(run, data, keep.get()));
            Runtime.getRuntime().addShutdownHook(stop);
            found = run.run(tpcc.terminals(), seconds, interval, tpcc.seed());
        } catch (Exception e) {
            keep.set(true);
            screen.line("data and logs are in " + data);
            throw e;
        }
        screen.line("");
        Map<String, Trend> trends = report(found, screen);
        measuring.write("heap", Map.of("scale", found.tpcc().options().population().scale().toString(),
                "terminals", tpcc.terminals(), "seconds", seconds, "tpmC", found.tpcc().total().tpmC(), "committed",
                found.tpcc().total().committed(), "trendsInMiBPerMinute", trends, "samples", found.samples()), screen);
        return 0;
    }

    private Map<String, Trend> report(HeapRun.Found found, Screen screen) {
        Map<String, Trend> trends = new LinkedHashMap<>();
        List<Plot.Line> lines = new ArrayList<>();
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("node", "live MiB: first", "least", "most", "last", "MiB per minute", "verdict"));
        double warm = WARM_AFTER * seconds;
        for (String node : found.samples().stream().map(HeapRun.Sample::node).distinct().toList()) {
            List<HeapRun.Sample> own = found.samples().stream().filter(sample -> sample.node().equals(node)).toList();
            double[] at = own.stream().mapToDouble(HeapRun.Sample::atSeconds).toArray();
            double[] live = own.stream().mapToDouble(HeapRun.Sample::liveMiB).toArray();
            lines.add(new Plot.Line(node, lines.size() % COLOURS, false, at, live));
            List<HeapRun.Sample> later = own.stream().filter(sample -> sample.atSeconds() >= warm).toList();
            if (later.size() < Trend.VALUES_MIN) {
                throw new Failure("there are only " + later.size() + " looks at " + node + " after " + warm
                        + " s, too few for a trend", "take more --seconds; looking takes long on a busy machine");
            }
            Trend trend = Trend.of(later.stream().mapToDouble(HeapRun.Sample::atSeconds).toArray(),
                    later.stream().mapToDouble(HeapRun.Sample::liveMiB).toArray());
            trends.put(node, trend);
            rows.add(List.of(node, mib(live[0]), mib(own.stream().mapToDouble(HeapRun.Sample::liveMiB).min().orElse(0)),
                    mib(own.stream().mapToDouble(HeapRun.Sample::liveMiB).max().orElse(0)),
                    mib(live[live.length - 1]),
                    String.format(Locale.ROOT, "%.3f ± %.3f", trend.perMinute(), trend.margin()),
                    trend.grows() ? screen.bad("grows") : screen.good("does not grow")));
        }
        Screen.table(rows).forEach(screen::line);
        screen.line(String.format(Locale.ROOT, "slope of the line closest to the samples after %.0f s, with its 95 %%"
                + " confidence interval; %,d transactions committed meanwhile", warm,
                found.tpcc().total().committed()));
        HeapRun.Sample last = found.samples().getLast();
        HeapRun.Sample first = found.samples().stream()
                .filter(sample -> sample.node().equals(last.node()) && sample.atSeconds() >= warm).findFirst()
                .orElse(last);
        screen.line("most grown since then at " + last.node() + ": " + String.join(", ",
                last.growthSince(first).stream().limit(GROWTHS).map(entry -> String.format(Locale.ROOT, "%s %,d KiB",
                        entry.getKey(), entry.getValue() >> 10)).toList()));
        BenchFiles.write(svg,
                new Plot("Live heap of each node after a full collection", "MiB", Plot.Scale.LINEAR, false,
                        seconds, lines, List.of()).svg());
        screen.line("plot: " + svg.toAbsolutePath().normalize());
        return trends;
    }

    private static String mib(double value) {
        return String.format(Locale.ROOT, "%.2f", value);
    }

    private static void require(boolean condition, String what) {
        if (!condition) {
            throw Failure.usage(what, "");
        }
    }

    private static void stop(HeapRun run, Path data, boolean keep) {
        try {
            run.close();
            if (!keep) {
                Trees.delete(data);
            }
        } catch (IOException e) {
            LoggerFactory.getLogger(HeapCommand.class).warn("Not everything in {} was removed: {}", data,
                    e.getMessage());
        }
    }
}
