package tutti.eval;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;
import tutti.model.RequestKind;
import tutti.model.RunResult;

/**
 * How far results depend on values that are not in the papers but were chosen: the result for which each was chosen, with half
 * of the value and with twice as much.
 */
final class ChosenConstants {
    private static final String CLIENTS = "workload.clients";
    private static final String LOADED = "3960";
    /** Transactions of databases in memory come fast. */
    private static final int MANY = 20;

    /**
     * A value that was chosen.
     *
     * @param name as scenarios and calibrations call it
     * @param values half, as it is, double
     * @param settings with these values
     * @param result what depends on it
     * @param of the result
     * @param decimals of the result
     */
    private record Constant(String name, List<String> values, List<FigureRun> settings, String result,
            ToDoubleFunction<RunResult> of, int decimals) {}

    private final List<Constant> constants = new ArrayList<>();

    /** @param transactions of each run */
    ChosenConstants(long transactions) {
        Map<String, String> length = Map.of("run.transactions", Long.toString(transactions));
        FigureRun akara = new FigureRun("akara-lan", length).with("protocol.name", "akara")
                .with("protocol.parameters.optimistic", "25").with("workload.classes", "written-tables");
        FigureRun three = new FigureRun("gorda-lan-3", length);
        FigureRun lan = new FigureRun("gorda-lan", length).with(CLIENTS, LOADED).with("protocol.name", "dbsm");
        FigureRun saturated = akara.with(CLIENTS, LOADED);
        add("apply-share", saturated, "database.with.apply-share", List.of("0.04", "0.08", "0.16"),
                "AKARA-25, 3960 clients, tpm", RunResult::tpm, 0);
        add("code.packet", three, "database.with.code.packet", List.of("13500ns", "27us", "54us"),
                "table 3.4, no faults, %", result -> 100 * result.codeShare(), 2);
        List<String> delays = List.of("25ms", "50ms", "100ms");
        add("order.missing-delay", three.with("faults", GordaFaults.RANDOM), "order.missing-delay", delays,
                "certification under random loss, ms", result -> result.certification().meanMillis(), 1);
        add("order.missing-delay", three.with("faults", GordaFaults.bursty(1000)), "order.missing-delay", delays,
                "certification under bursts, ms", result -> result.certification().meanMillis(), 1);
        add("rows-per-table", lan, "protocol.parameters.rows-per-table", List.of("25", "50", "100"),
                "DBSM-G, 3960 clients, aborts of Delivery, %",
                result -> 100 * result.of(RequestKind.DELIVERY).abortRate(), 1);
        FigureRun upkeep = akara.with(CLIENTS, "3240").with("workload.mix.neworder", "43")
                .with("workload.mix.maintenance", "1").with("workload.maintenance.active", "true");
        add("maintenance.rows", upkeep.with("run.transactions", Long.toString(transactions / 5 + 1)),
                "workload.maintenance.rows", List.of("25000", "50000", "100000"), "AKARA-25 with Active-Tran, tpm",
                RunResult::tpm, 0);
        add("cpu.maintenance", upkeep.with("workload.maintenance.structure", "true"),
                "database.with.cpu.maintenance", List.of("constant 50ms", "constant 100ms", "constant 200ms"),
                "AKARA-25 with Light-Tran, tpm", RunResult::tpm, 0);
        List<String> access = List.of("61625ns", "123250ns", "246500ns");
        add("storage.access", lan, "database.with.storage.access", access, "DBSM-g, 3960 clients, ms",
                GordaFigures::latency, 1);
        add("storage.access", saturated, "database.with.storage.access", access, "AKARA-25, 3960 clients, tpm",
                RunResult::tpm, 0);
        List<FigureRun> paces = Stream.of(0.5, 1.0, 2.0).map(factor -> thinking(akara.with(CLIENTS, "3240"), factor))
                .toList();
        List<String> shares = List.of("half", "TPC-C's means", "double");
        constants.add(new Constant("thinking", shares, paces, "AKARA-25, 3240 clients, tpm", RunResult::tpm, 0));
        constants.add(new Constant("thinking", shares, paces, "AKARA-25, 3240 clients, ms", GordaFigures::latency, 0));
        FigureRun machines = new FigureRun("macroddb", Map.of("run.transactions", Long.toString(MANY * transactions)));
        add("apply-share of h2-memory", machines, "database.with.apply-share",
                List.of("0.1", "0.2", "0.4"), "eight machines, ms", GordaFigures::latency, 2);
    }

    private static FigureRun thinking(FigureRun setting, double factor) {
        FigureRun paced = setting;
        for (Map.Entry<String, Integer> mean : Map.of("neworder", 12, "payment", 12, "orderstatus", 10, "delivery", 5,
                "stocklevel", 5).entrySet()) {
            paced = paced.with("workload.thinking." + mean.getKey(),
                    "exponential " + Math.round(mean.getValue() * factor * 1000) + "ms");
        }
        return paced;
    }

    private void add(String name, FigureRun base, String key, List<String> values, String result,
            ToDoubleFunction<RunResult> of, int decimals) {
        constants.add(new Constant(name, values, values.stream().map(value -> base.with(key, value)).toList(), result,
                of, decimals));
    }

    List<Figure> figures() {
        List<FigureRun> needs = constants.stream().flatMap(constant -> constant.settings.stream()).toList();
        return List.of(new Figure("constants", needs, sheet -> {
            List<List<String>> rows = new ArrayList<>();
            rows.add(List.of("value", "half, chosen, double", "result", "half", "chosen", "double"));
            for (Constant constant : constants) {
                List<String> row = new ArrayList<>(
                        List.of(constant.name, String.join("; ", constant.values), constant.result));
                constant.settings.forEach(setting -> row.add(sheet.text(setting, constant.of, constant.decimals)));
                rows.add(row);
            }
            sheet.heading("What was chosen, halved and doubled");
            sheet.table("constants", rows);
            rows.stream().skip(1).forEach(row -> sheet.compare("constants", row.get(0) + ": " + row.get(2), "not said",
                    String.join(" | ", row.subList(3, 6))));
        }));
    }
}
