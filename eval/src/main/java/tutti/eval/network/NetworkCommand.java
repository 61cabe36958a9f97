package tutti.eval.network;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.report.BenchFiles;
import tutti.report.Chart;
import tutti.report.MeasurementConditions;
import tutti.report.Page;

/** Runs programs with sockets in both worlds. */
@Command(name = "network", description = "Measure UDP and the group communication on this machine's loopback interface, run the"
        + " same programs in simulated time, charged what they take, and compare bandwidth, round trips and processor time by the"
        + " size of messages (D5.1, figure 2.10).", footer = {"", "Example: tutti sim network --out reports/network",
                "Exit status: 0 measured, whatever the errors; 1 it could not be measured; 2 called wrongly."})
public final class NetworkCommand implements Callable<Integer> {
    private static final int ROUNDS_MAX = 100;
    private static final double SECONDS_MAX = 60;
    private static final int MEMBERS_MAX = 16;
    private static final int BYTES_MIN = Long.BYTES;

    @Option(names = "--sizes", paramLabel = "N", split = ",", defaultValue = "64,256,1000,4000,16000", description = "Bytes of a"
            + " message, ascending (default: ${DEFAULT-VALUE}).")
    private int[] sizes = {64};

    @Option(names = "--members", paramLabel = "N", defaultValue = "3", description = "Of the group (default: ${DEFAULT-VALUE}).")
    private int members;

    @Option(names = "--seconds", paramLabel = "S", defaultValue = "0.4", description = "Length of each measurement, after half of"
            + " that which does not count (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "5", description = "How often everything is repeated, sockets are"
            + " measured anew and both worlds follow in turns, after a round that does not count (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(names = "--out", paramLabel = "DIR", description = "Where charts (SVG, CSV), a page and all numbers (JSON) go.")
    private @Nullable Path out;

    @Option(names = "--png", description = "Write charts as PNG files, too.")
    private boolean png;

    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        if (spec == null) {
            throw new IllegalStateException("the command line was not parsed");
        }
        check();
        Screen screen = Screen.standard(spec.commandLine().getOut());
        MeasurementConditions ground = MeasurementConditions.look(Path.of(System.getProperty("java.io.tmpdir")));
        ground.lines().forEach(screen::line);
        List<SocketCosts> costs = new ArrayList<>();
        long nanos = Math.round(seconds * 1e9);
        Benchmark benchmark = new Benchmark(members, nanos / 2, nanos);
        Stations real = new RealStations();
        NetworkComparison comparison = new NetworkComparison(sizes);
        for (int round = 0; round <= rounds; round++) {
            costs.add(SocketCosts.measure());
            Stations simulated = new SimulatedStations(costs.getLast(), Runtime.getRuntime().availableProcessors());
            for (int size = 0; size < sizes.length; size++) {
                screen.live(
                        List.of(String.format(Locale.ROOT, "round %d of %d, %d bytes", round, rounds, sizes[size])));
                double[] here = benchmark.measure(real, sizes[size]);
                double[] there = benchmark.measure(simulated, sizes[size]);
                if (round > 0) {
                    comparison.add(size, false, here);
                    comparison.add(size, true, there);
                }
            }
        }
        screen.live(List.of());
        costs.removeFirst();
        costs.forEach(one -> screen.line("a socket: " + one.describe()));
        Screen.table(comparison.table()).forEach(screen::line);
        if (out != null) {
            write(out, comparison, costs, ground);
            screen.line("written: " + out.toAbsolutePath().normalize().resolve("index.html"));
        }
        return Program.OK;
    }

    private void check() {
        boolean wrong = sizes.length == 0;
        for (int i = 0; i < sizes.length; i++) {
            wrong |= sizes[i] < BYTES_MIN || sizes[i] > GroupProgram.PAYLOAD_BYTES_MAX
                    || (i > 0 && sizes[i] <= sizes[i - 1]);
        }
        if (wrong) {
            throw Failure.usage(
                    "--sizes must be " + BYTES_MIN + " to " + GroupProgram.PAYLOAD_BYTES_MAX + ", ascending", "");
        }
        if (members < 2 || members > MEMBERS_MAX || rounds < 1 || rounds > ROUNDS_MAX || !(seconds >= 0.01)
                || seconds > SECONDS_MAX) {
            throw Failure.usage("--members must be 2 to " + MEMBERS_MAX + ", --rounds 1 to " + ROUNDS_MAX
                    + ", --seconds 0.01 to " + SECONDS_MAX, "");
        }
    }

    private void write(Path directory, NetworkComparison comparison, List<SocketCosts> costs,
            MeasurementConditions ground)
            throws Exception {
        Files.createDirectories(directory);
        Page page = new Page("Real and simulated network", ground.startedAt() + ", by tutti sim network");
        page.table(comparison.table());
        for (Benchmark.Quantity quantity : Benchmark.Quantity.values()) {
            Chart chart = comparison.chart(quantity);
            String file = "network-" + quantity.name().toLowerCase(Locale.ROOT).replace('_', '-');
            BenchFiles.write(directory.resolve(file + ".svg"), chart.svg());
            BenchFiles.write(directory.resolve(file + ".csv"), chart.csv());
            if (png) {
                Files.write(directory.resolve(file + ".png"), chart.png());
            }
            page.chart(chart);
        }
        BenchFiles.write(directory.resolve("index.html"), page.html());
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("startedAt", ground.startedAt());
        json.put("machine", ground.machine());
        json.put("members", members);
        json.put("seconds", seconds);
        json.put("sockets", costs.stream().map(SocketCosts::describe).toList());
        json.put("values", comparison.json());
        BenchFiles.writeJson(directory.resolve("network.json"), json);
    }
}
