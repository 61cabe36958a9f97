package tutti.eval;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import java.util.stream.LongStream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.model.ModelRun;
import tutti.model.RequestKind;
import tutti.model.RunResult;
import tutti.model.TraceFile;
import tutti.model.scenario.ScenarioReader;
import tutti.yaml.UnusableFileException;

/**
 * Compares a real cluster of three nodes with what the model makes of one node, and, if that was measured, of what a node takes that follows
 * (docs/decisions/0216).
 */
@Command(name = "predict", description = "Predict a cluster of three nodes from one node, and compare: the file is of tutti bench"
        + " overhead --contenders b,c,d --json, with --machine-cpus (saturated machines) or --terminals 1 (machines with little to do)."
        + " The model, scenario scaling, is given how much one node does (b), and from (c) the processor time of a node that follows, of which"
        + " the order takes a part. Without (c) it takes what the scenario has. Throughput and latencies of three nodes (d) are predictions."
        + " Without --machine-cpus the three share this machine's processors.", footer = {"",
                "Example: tutti sim predict reports/overhead.json"})
public final class PredictCommand implements Callable<Integer> {
    private static final int SEEDS = 3;
    private static final int NODES = 3;
    private static final String CLUSTERS = "topology.clusters";
    /** Throughput grows almost in proportion with the speed. */
    private static final int STEPS = 5;
    private static final int TRANSACTIONS = 4000;
    private static final double PERCENT = 100;

    @Parameters(paramLabel = "FILE", description = "Numbers of bench overhead.")
    private Path file = Path.of("overhead.json");

    @Option(names = "--set", paramLabel = "KEY=VALUE", description = "A key of the scenario, for three nodes and for one, such"
            + " as topology.local.latency=\"constant 280us\".")
    private Map<String, String> overrides = new LinkedHashMap<>();

    @Spec
    private @Nullable CommandSpec spec;

    /**
     * What was measured of some nodes.
     *
     * @param medians of each kind, in milliseconds
     * @param cpuMillis of nodes and servers for a transaction
     * @param orderMillis of it, of the nodes' order
     */
    private record Measured(double perSecond, Map<RequestKind, Double> medians, double cpuMillis,
            double orderMillis) {}

    /**
     * Processor time that one more node takes for a transaction which writes, in milliseconds.
     *
     * @param orderMillis of its order
     * @param applyMillis of everything else
     * @param aloneMillis what the order of a node takes that is alone
     */
    private record Following(double orderMillis, double applyMillis, double aloneMillis) {
        /** From three nodes of which one executes, and from one alone. */
        static Following of(Measured one, Measured three, double writes) {
            double alone = one.orderMillis / writes;
            double order = three.orderMillis / NODES / writes;
            // The node that executes orders, too, alone and with others.
            double all = ((three.cpuMillis - one.cpuMillis) / writes - (order - alone)) / (NODES - 1);
            if (!(all > order) || !(order >= 0)) {
                throw Failure.usage(
                        String.format(Locale.ROOT, "a node that follows takes %.2f ms, its order %.2f of them:"
                                + " that cannot be", all, order),
                        "measure (b), (c) and (d) for longer, on a quiet machine");
            }
            return new Following(order, all - order, alone);
        }

        /** @param nodes of one, the order takes what it takes there */
        Map<String, String> keys(int nodes, double factor) {
            // All that a node takes is in these two.
            return Map.of("database.with.code", "{message: 0s, nanos-per-byte: 0, event: 0s, order: "
                    + micros((nodes == 1 ? aloneMillis : orderMillis) * factor) + "}", "database.with.rows",
                    "{apply: 0s, apply-transaction: " + micros(applyMillis * factor) + "}");
        }

        private static String micros(double millis) {
            return Math.round(millis * 1000) + "us";
        }
    }

    @Override
    public Integer call() {
        if (spec == null) {
            throw new IllegalStateException("the command line was not parsed");
        }
        JsonNode read = read();
        JsonNode plan = read.path("plan");
        boolean ownMachines = plan.path("machineCpus").asDouble(0) > 0;
        Map<String, String> keys = keys(plan);
        Measured one = measured(read, "B");
        Measured three = measured(read, "D");
        Following following = has(read, "C")
                ? Following.of(one, measured(read, "C"), 1 - plan.path("readPercent").asInt(0) / PERCENT)
                : null;
        double speed = 1;
        double factor = 1;
        List<RunResult> alone = List.of();
        for (int step = 0; step < STEPS; step++) {
            if (following != null) {
                keys.putAll(following.keys(1, factor * speed));
            }
            alone = runs(keys, 1, speed);
            if (step < STEPS - 1) {
                speed *= one.perSecond / perSecond(alone).mean();
                // A modelled processor that is slower all the time stands for a share of a real one: each takes longer by the same factor.
                factor = ownMachines ? busyMillis(alone, keys) / one.cpuMillis : 1;
            }
        }
        if (following != null) {
            keys.putAll(following.keys(NODES, factor * speed));
        }
        List<RunResult> cluster = runs(shared(keys, ownMachines), NODES, speed);
        Screen screen = Screen.standard(spec.commandLine().getOut());
        screen.line(String.format(Locale.ROOT, "processors of speed %.3f do as much on one node", speed));
        if (following != null) {
            screen.line(String.format(Locale.ROOT,
                    "a node that follows takes %.2f ms of a processor for a transaction that writes,"
                            + " and %.2f for its order",
                    following.applyMillis, following.orderMillis));
        }
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("", "one node, real", "simulated", "three nodes, real", "predicted", "error"));
        rows.add(row("transactions/s", one.perSecond, perSecond(alone), three.perSecond, perSecond(cluster), 0));
        for (RequestKind kind : one.medians.keySet()) {
            ToDoubleFunction<RunResult> median = result -> result.of(kind).latencies().percentileMillis(0.5);
            rows.add(row(kind.label() + ", median ms", one.medians.getOrDefault(kind, Double.NaN),
                    Estimate.of(alone, median), three.medians.getOrDefault(kind, Double.NaN),
                    Estimate.of(cluster, median), 1));
        }
        Screen.table(rows).forEach(screen::line);
        return Program.OK;
    }

    private static List<String> row(String what, double one, Estimate alone, double three, Estimate predicted,
            int decimals) {
        String format = "%." + decimals + "f";
        return List.of(what, String.format(Locale.ROOT, format, one), alone.text(decimals),
                String.format(Locale.ROOT, format, three), predicted.text(decimals),
                String.format(Locale.ROOT, "%+.0f %%", PERCENT * (predicted.mean() / three - 1)));
    }

    private static Map<String, String> shared(Map<String, String> keys, boolean ownMachines) {
        Map<String, String> all = new TreeMap<>(keys);
        if (!ownMachines) {
            all.putIfAbsent("topology.machines", "1");
        }
        return all;
    }

    /** What modelled processors are busy for a transaction, in milliseconds. */
    private static double busyMillis(List<RunResult> alone, Map<String, String> keys) {
        int cores = Integer.parseInt(keys.getOrDefault("topology.cores", "1"));
        return Estimate.of(alone, result -> cores * result.cpuShare() * 60_000 / result.tpm()).mean();
    }

    private static boolean has(JsonNode read, String contender) {
        return StreamSupport.stream(read.path("measurements").spliterator(), false)
                .anyMatch(each -> each.path("contender").asString("").equals(contender));
    }

    private static Estimate perSecond(List<RunResult> results) {
        return Estimate.of(results, result -> result.tpm() / 60);
    }

    private JsonNode read() {
        try {
            return JsonMapper.shared().readTree(file.toFile());
        } catch (JacksonException wrong) {
            throw Failure.usage(file + " cannot be read: " + wrong.getMessage(), "");
        }
    }

    private Map<String, String> keys(JsonNode plan) {
        int terminals = plan.path("terminals").asInt(0);
        double processors = plan.path("machineCpus").asDouble(0);
        if (processors <= 0 && terminals != 1) {
            throw Failure.usage(
                    file + " is of no bench overhead whose nodes had processors of their own, or one terminal",
                    "measure with --machine-cpus, or with --terminals 1");
        }
        int writes = 100 - plan.path("readPercent").asInt(0);
        Map<String, String> keys = new TreeMap<>(
                ScalingFigures.at(new FigureRun("scaling", Map.of()), 1, writes).keys());
        keys.put("workload.clients", Integer.toString(terminals));
        keys.put("workload.warehouses", plan.path("warehouses").asString("1"));
        keys.put("topology.cores",
                processors > 0 ? "1" : Integer.toString(Runtime.getRuntime().availableProcessors()));
        keys.put("protocol.name", plan.path("protocol").asString("si"));
        keys.put("run.transactions", Integer.toString(TRANSACTIONS));
        keys.put("run.warm-up", "1s");
        keys.putAll(overrides);
        try {
            Map<String, String> ofThree = new TreeMap<>(keys);
            ofThree.put(CLUSTERS, sites(NODES));
            ScenarioReader.read("scaling", ofThree);
        } catch (UnusableFileException wrong) {
            throw Failure.usage("--set: " + wrong.getMessage(), "");
        }
        return keys;
    }

    private Measured measured(JsonNode read, String contender) {
        List<JsonNode> of = StreamSupport.stream(read.path("measurements").spliterator(), false)
                .filter(each -> each.path("contender").asString("").equals(contender)).toList();
        if (of.isEmpty()) {
            throw Failure.usage(file + " has no measurement of contender " + contender,
                    "measure with --contenders b,c,d");
        }
        Map<RequestKind, Double> medians = new TreeMap<>();
        for (RequestKind kind : RequestKind.DRAWN) {
            of.getFirst().path("latencies").propertyStream()
                    .filter(each -> each.getKey().equalsIgnoreCase(kind.label()))
                    .forEach(each -> medians.put(kind, mean(of, node -> node.path("latencies").path(each.getKey())
                            .path("p50Millis").asDouble(Double.NaN))));
        }
        return new Measured(mean(of, node -> node.path("transactionsPerSecond").asDouble(Double.NaN)), medians,
                mean(of, node -> node.path("serverCpuMillis").asDouble(Double.NaN)),
                mean(of, node -> node.path("orderCpuMillis").asDouble(0)));
    }

    private static double mean(List<JsonNode> of, ToDoubleFunction<JsonNode> value) {
        return of.stream().mapToDouble(value).average().orElse(Double.NaN);
    }

    private static List<RunResult> runs(Map<String, String> keys, int nodes, double speed) {
        Map<String, String> all = new TreeMap<>(keys);
        all.put(CLUSTERS, sites(nodes));
        if (nodes == 1) {
            all.remove("topology.machines");
        }
        all.put("topology.speed", String.format(Locale.ROOT, "%.5f", speed));
        return LongStream.rangeClosed(1, SEEDS).mapToObj(seed -> run(all, seed)).toList();
    }

    private static String sites(int nodes) {
        return "[{name: node, sites: " + nodes + "}]";
    }

    private static RunResult run(Map<String, String> keys, long seed) {
        try {
            return new ModelRun(ScenarioReader.read("scaling", keys).config(), seed, new TraceFile(0), List.of()).run();
        } catch (UnusableFileException impossible) {
            throw new IllegalStateException("a shipped scenario is wrong", impossible);
        }
    }
}
