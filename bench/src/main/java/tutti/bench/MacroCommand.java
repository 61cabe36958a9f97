package tutti.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.command.Trees;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.Trait;
import tutti.engine.Engines;
import tutti.engine.jdbc.CaptureMode;
import tutti.engine.jdbc.InProcessEngine;
import tutti.report.BenchFiles;
import tutti.report.MeasurementOptions;
import tutti.workload.tpcc.TpccPopulation;
import tutti.workload.tpcc.TpccScale;

/** The evaluation of the MacroDDB thesis (chapter 5), in one virtual machine. */
@Command(name = "macro", description = "The evaluation of MacroDDB: TPC-C in mixes of reading and writing over the bare"
        + " engine, MacroDB, MacroDDB and MacroDDB-Flat, all in this virtual machine: throughput, aborts, memory, and what"
        + " capture and communication cost.")
final class MacroCommand implements Callable<Integer> {
    /** The thesis' population (section 5.2). */
    private static final TpccScale SCALE = new TpccScale(2, 10_000, 10, 300, 90);
    private static final TpccScale REDUCED = new TpccScale(1, 100, 2, 10, 3);
    private static final long SOURCES_PER_RUN = 1000;
    private static final double WARM_SECONDS = 5;
    private static final double WARM_SECONDS_REDUCED = 0.2;
    private static final MacroSystem.Kind STANDALONE = new MacroSystem.Kind("standalone", 0, 0);

    @Option(names = "--engine", paramLabel = "NAME", defaultValue = "h2", description = "h2 or hsqldb (default: ${DEFAULT-VALUE}).")
    private String engine;

    @Option(names = "--mixes", paramLabel = "R/W", split = ",", defaultValue = "8/92,50/50,80/20,100/0", description = "Percent reading/writing (default: ${DEFAULT-VALUE}).")
    private List<String> mixes;

    @Option(names = "--macrodb", paramLabel = "N", split = ",", defaultValue = "1,2,3,4,5,6", description = "Replicas of MacroDBs without nodes (default: ${DEFAULT-VALUE}).")
    private List<Integer> macroDb;

    @Option(names = "--nodes", paramLabel = "N", split = ",", defaultValue = "1,2,4,8", description = "Nodes of MacroDDBs (default: ${DEFAULT-VALUE}).")
    private List<Integer> nodes;

    @Option(names = "--flat", paramLabel = "N", split = ",", defaultValue = "1,4", description = "Machines of MacroDDB-Flats, with two masters each (default: ${DEFAULT-VALUE}).")
    private List<Integer> flat;

    @Option(names = "--replicas", paramLabel = "N", defaultValue = "3", description = "Databases in each node of a MacroDDB (default: ${DEFAULT-VALUE}).")
    private int replicas;

    @Option(names = "--protocols", paramLabel = "NAME", split = ",", defaultValue = MacroSystem.Kind.CERTIFICATION, description = "Of nodes, each measured (default: ${DEFAULT-VALUE}).")
    private List<String> protocols;

    @Option(names = "--components", paramLabel = "N", split = ",", description = "Nodes of MacroDDBs on the distribution of Macro-components (default: none).")
    private List<Integer> components = List.of();

    @Option(names = "--captures", paramLabel = "HOW", split = ",", defaultValue = "notes", description = "How write sets are found, each measured: from the engines' notes, by triggers, or from statements as the thesis does: notes, triggers, statements (default: ${DEFAULT-VALUE}).")
    private List<String> captures;

    @Option(names = "--clients", paramLabel = "N", split = ",", defaultValue = "1,2", description = "Clients, or clients of each node (default: ${DEFAULT-VALUE}).")
    private List<Integer> clients;

    @Option(names = "--seconds", paramLabel = "N", defaultValue = "0.6", description = "Of each measurement (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Option(names = "--warmup", paramLabel = "N", defaultValue = "0.2", description = "Seconds before it (default: ${DEFAULT-VALUE}).")
    private double warmup;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "1", description = "How often all of them take turns; medians are shown (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(names = "--turns", paramLabel = "N", defaultValue = "60", description = "Of each system in the measurement of the overhead; 0 leaves it out (default: ${DEFAULT-VALUE}).")
    private int turns;

    @Option(names = "--reduced", description = "Load a few rows and hardly warm up, for a quick look; figures then say nothing.")
    private boolean reduced;

    @Option(names = "--heap", paramLabel = "SIZE", defaultValue = "4g", description = "Memory of the JVM that all of it runs in (default: ${DEFAULT-VALUE}).")
    private String heap;

    @Option(names = "--here", hidden = true, description = "In this JVM, whatever its memory.")
    private boolean here;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Of population and inputs (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(names = "--svg", paramLabel = "FILE", defaultValue = "reports/macro.svg", description = "Where to draw throughput (default: ${DEFAULT-VALUE}).")
    private Path svg;

    @Mixin
    private MeasurementOptions measuring = new MeasurementOptions();

    @Spec
    private CommandSpec spec;

    /**
     * One measurement.
     *
     * @param readWriteRatio reading over writing transactions that committed
     * @param standstillMillis the longest time in which no transaction ended
     * @param collectionMillis how long the virtual machine stood still to collect garbage
     */
    record Measured(String system, int nodes, int replicas, String protocol, CaptureMode capture, String mix,
            int clients, double perMinute,
            double abortPercent, double readWriteRatio, double standstillMillis, long collectionMillis) {
        /** The system. */
        MacroSystem.Kind kind() {
            return new MacroSystem.Kind(system, nodes, replicas, protocol, capture);
        }
    }

    private InProcessEngine database() {
        return Engines.INSTALLED.find(engine, InProcessEngine.class)
                .orElseThrow(() -> Failure.usage("there is no engine " + engine + " in this virtual machine",
                        "choose of " + String.join(", ", Engines.INSTALLED.names(InProcessEngine.class))));
    }

    @Override
    public Integer call() throws IOException, SQLException, InterruptedException {
        InProcessEngine database = database();
        for (String protocol : protocols) {
            List<String> measurable = Protocols.STANDARD.names().stream()
                    .filter(name -> !Protocols.STANDARD.choose(name).has(Trait.WHOLE_ONLY)).toList();
            if (!measurable.contains(protocol)) {
                throw Failure.usage("no nodes can be measured with the protocol " + protocol, "choose of "
                        + String.join(", ", measurable) + ", under which transactions of several statements may write");
            }
        }
        List<CaptureMode> _ = captureModes();
        List<MacroMix> wanted = new ArrayList<>();
        for (String label : mixes) {
            wanted.add(List.of(MacroMix.values()).stream().filter(mix -> mix.label().equals(label)).findFirst()
                    .orElseThrow(() -> Failure.usage("there is no mix " + label,
                            "choose of 8/92, 50/50, 80/20, 100/0")));
        }
        if (!here) {
            List<String> arguments = new ArrayList<>(spec.root().commandLine().getParseResult().originalArgs());
            arguments.add("--here");
            return MacroJvm.run(heap, arguments);
        }
        Path directory = Files.createTempDirectory("tutti-macro-");
        Screen screen = measuring.begin(directory);
        List<Measured> all = new ArrayList<>();
        List<MacroOverhead.Cost> costs = new ArrayList<>();
        List<Long> memory = List.of();
        try {
            memory = MacroSystem.memory(database, population(),
                    macroDb.stream().max(Integer::compare).orElse(1));
            MacroTable.memory(memory).forEach(screen::line);
            warmUp(directory, screen);
            if (turns > 0) {
                measureOverhead(wanted, directory, screen, costs);
            }
            for (int round = 0; round < rounds; round++) {
                for (MacroSystem.Kind kind : kinds()) {
                    measure(kind, wanted, directory.resolve("round" + round), screen, all);
                }
            }
        } finally {
            Trees.delete(directory);
        }
        List<Measured> medians = MacroTable.medians(all);
        screen.line("");
        Screen.table(MacroTable.rows(medians)).forEach(screen::line);
        screen.line("");
        costs.forEach(cost -> MacroTable.overhead(cost, overheadKinds()).forEach(screen::line));
        MacroTable.memory(memory).forEach(screen::line);
        MacroTable.findings(medians).forEach(screen::line);
        BenchFiles.write(svg, MacroTable.svg(medians));
        screen.line("plot: " + svg.toAbsolutePath().normalize());
        measuring.write("macro", Map.of("engine", engine, "population", population().scale().toString(),
                "memoryBytes", memory, "overhead", costs, "measurements", all), screen);
        return 0;
    }

    private TpccPopulation population() {
        return new TpccPopulation(reduced ? REDUCED : SCALE, seed);
    }

    /** Everything is compiled before anything is measured, so that what comes first is not the slowest for that. */
    private void warmUp(Path directory, Screen screen) throws IOException, SQLException, InterruptedException {
        TpccPopulation population = population();
        screen.line("warming up");
        for (MacroSystem.Kind kind : List.of(STANDALONE, new MacroSystem.Kind("MacroDDB", 2, 2))) {
            try (MacroSystem system = MacroSystem.start(database(), kind, population,
                    directory.resolve("warm"))) {
                new MacroRun(system, population, MacroMix.HALF, kind.machines(), seed, SOURCES_PER_RUN)
                        .work(reduced ? WARM_SECONDS_REDUCED : WARM_SECONDS);
            }
        }
    }

    private List<MacroSystem.Kind> overheadKinds() {
        List<MacroSystem.Kind> kinds = new ArrayList<>();
        kinds.add(STANDALONE);
        for (CaptureMode capture : captureModes()) {
            for (int count : replicas == 1 ? List.of(1) : List.of(1, replicas)) {
                kinds.add(new MacroSystem.Kind("MacroDB", 0, count).with(capture));
                kinds.add(new MacroSystem.Kind("MacroDDB", 1, count).with(capture));
                if (!components.isEmpty()) {
                    kinds.add(new MacroSystem.Kind(MacroSystem.Kind.COMPONENTS, 1, count).with(capture));
                }
            }
        }
        return kinds;
    }

    private void measureOverhead(List<MacroMix> wanted, Path directory, Screen screen,
            List<MacroOverhead.Cost> costs) throws IOException, SQLException, InterruptedException {
        try (MacroOverhead overhead = new MacroOverhead(database(), overheadKinds(),
                population(), directory)) {
            for (MacroMix mix : wanted) {
                MacroOverhead.Cost cost = overhead.measure(mix, turns, seed);
                costs.add(cost);
                MacroTable.overhead(cost, overheadKinds()).forEach(screen::line);
            }
        }
    }

    private List<MacroSystem.Kind> kinds() {
        List<MacroSystem.Kind> kinds = new ArrayList<>();
        kinds.add(STANDALONE);
        for (CaptureMode capture : captureModes()) {
            macroDb.forEach(count -> kinds.add(new MacroSystem.Kind("MacroDB", 0, count).with(capture)));
            for (String protocol : protocols) {
                nodes.forEach(count -> kinds.add(new MacroSystem.Kind("MacroDDB", count, replicas, protocol, capture)));
                flat.forEach(count -> kinds.add(
                        new MacroSystem.Kind("MacroDDB-Flat", 2 * count, 1, protocol, capture)));
            }
            components.forEach(count -> kinds.add(
                    new MacroSystem.Kind(MacroSystem.Kind.COMPONENTS, count, replicas).with(capture)));
        }
        return kinds;
    }

    private List<CaptureMode> captureModes() {
        return captures.stream().map(name -> Arrays.stream(CaptureMode.values())
                .filter(mode -> mode.name().toLowerCase(Locale.ROOT).equals(name)).findFirst()
                .orElseThrow(() -> Failure.usage("write sets cannot be found from " + name,
                        "choose of notes, triggers, statements")))
                .toList();
    }

    private void measure(MacroSystem.Kind kind, List<MacroMix> wanted, Path directory, Screen screen,
            List<Measured> all) throws IOException, SQLException, InterruptedException {
        TpccPopulation population = population();
        try (MacroSystem system = MacroSystem.start(database(), kind, population, directory)) {
            // What former systems have left must not be collected in a measurement: that takes seconds.
            System.gc();
            long source = SOURCES_PER_RUN;
            for (int each : clients) {
                int count = each * kind.machines();
                for (MacroMix mix : wanted) {
                    new MacroRun(system, population, mix, count, seed, source += SOURCES_PER_RUN).work(warmup);
                    MacroRun.Result result = new MacroRun(system, population, mix, count, seed + 1,
                            source += SOURCES_PER_RUN).work(seconds);
                    Measured measured = new Measured(kind.label(), kind.nodes(), kind.replicas(), kind.protocol(),
                            kind.capture(), mix.label(), count,
                            result.perMinute(), result.abortPercent(), result.readWriteRatio(),
                            result.standstillMillis(), result.collectionMillis());
                    all.add(measured);
                    screen.line(String.format(Locale.ROOT,
                            "%-22s %-6s %2d clients %,10.0f tpm, aborted %4.1f %%, stood still %3.0f ms, collections %3d ms",
                            kind.display(), mix.label(), count, measured.perMinute, measured.abortPercent,
                            measured.standstillMillis, measured.collectionMillis));
                }
            }
        }
    }
}
