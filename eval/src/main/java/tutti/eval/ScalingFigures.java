package tutti.eval;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import tutti.model.RunResult;
import tutti.report.Chart;

/**
 * At which share of writes, and which number of nodes, does each protocol stop to scale? Throughput of saturated nodes over their
 * number, for several shares of TPC-C's transactions that change something, and where a further node is no longer worth it.
 */
final class ScalingFigures {
    /** TPC-C's own share is the last one. */
    private static final int[] SHARES = {1, 5, 20, 50, 92};
    private static final int[] NODES = {1, 2, 3, 4, 6, 8, 12};
    private static final int CLIENTS_OF_A_NODE = 8;
    /** A node that is added has to be worth this share of the first one. */
    private static final double WORTH_IT = 0.2;
    private static final List<String> SMALLER = List.of("10", "100", "1000");

    /** For owners of request logs beside what is next to them. */
    private static final int[] MANY = {1, 3, 6, 12, 25, 50};

    private final Map<String, FigureRun> protocols = new LinkedHashMap<>();
    private final Map<String, FigureRun> owners = new LinkedHashMap<>();

    /** @param transactions of each run */
    ScalingFigures(long transactions) {
        FigureRun base = new FigureRun("scaling", Map.of("run.transactions", Long.toString(transactions)));
        for (String plain : List.of("si", "dbsm", "postgres-r", "2pc", "passive", "active")) {
            protocols.put(plain, base.with("protocol.name", plain));
        }
        for (String byClass : List.of("nodo", "akara")) {
            FigureRun run = base.with("protocol.name", byClass);
            protocols.put(byClass + " (tables)", run.with("workload.classes", "tables"));
            protocols.put(byClass + " (warehouses)", run.with("workload.classes", "warehouses"));
        }
        FigureRun hybrid = base.with("protocol.name", "hybrid");
        owners.put("hybrid (warehouses)", hybrid.with("workload.classes", "warehouses"));
        owners.put("hybrid (tables)", hybrid.with("workload.classes", "tables"));
        for (String beside : List.of("nodo (warehouses)", "si")) {
            owners.put(beside, Objects.requireNonNull(protocols.get(beside)));
        }
    }

    /** The same with so many nodes, and so many transactions of a hundred that change something; kinds keep their shares among themselves. */
    static FigureRun at(FigureRun run, int nodes, int writes) {
        double order = Math.rint(writes * 44e6 / 92) / 1e6;
        return run.with(Map.of("topology.clusters", "[{name: node, sites: " + nodes + "}]", "workload.clients",
                Integer.toString(nodes * CLIENTS_OF_A_NODE), "workload.mix.neworder", percent(order),
                "workload.mix.payment", percent(order), "workload.mix.delivery", percent(writes - 2 * order),
                "workload.mix.orderstatus", percent((100 - writes) / 2.0), "workload.mix.stocklevel",
                percent((100 - writes) / 2.0)));
    }

    private static String percent(double value) {
        return String.format(Locale.ROOT, "%.6f", value);
    }

    private static List<FigureRun> overNodes(FigureRun run, int writes) {
        return Arrays.stream(NODES).mapToObj(nodes -> at(run, nodes, writes)).toList();
    }

    /**
     * After how many nodes it stops to scale: from there to the next number that was tried, a node adds less than a fifth of
     * what one node does alone.
     *
     * @param nodes ascending, the first is 1
     * @param throughput of each
     * @return one of {@code nodes}; not a number if it scales beyond the last
     */
    static double stopsAfter(int[] nodes, double[] throughput) {
        for (int i = 1; i < nodes.length; i++) {
            double each = (throughput[i] - throughput[i - 1]) / (nodes[i] - nodes[i - 1]);
            if (each < WORTH_IT * throughput[0]) {
                return nodes[i - 1];
            }
        }
        return Double.NaN;
    }

    private static double stopsAfter(FigurePages sheet, FigureRun run, int writes) {
        return stopsAfter(NODES, overNodes(run, writes).stream()
                .mapToDouble(one -> sheet.estimate(one, RunResult::tpm).mean()).toArray());
    }

    private static String text(double stops) {
        return Double.isNaN(stops) ? "more than " + NODES[NODES.length - 1] : Integer.toString((int) stops);
    }

    List<Figure> figures() {
        List<Figure> figures = new ArrayList<>();
        for (int share : SHARES) {
            figures.add(throughput(share));
        }
        figures.add(stops());
        figures.add(warehouses());
        figures.add(owners());
        return figures;
    }

    private List<FigureRun> needs(int... shares) {
        return protocols.values().stream().flatMap(run -> Arrays.stream(shares).boxed()
                .flatMap(share -> overNodes(run, share).stream())).toList();
    }

    private Figure throughput(int share) {
        return new Figure(share + " %", needs(share), sheet -> {
            double[] at = Arrays.stream(NODES).asDoubleStream().toArray();
            List<Chart.Curve> drawn = new ArrayList<>();
            protocols.forEach((name, run) -> {
                Chart.Curve curve = sheet.curve(name, at, overNodes(run, share), RunResult::tpm);
                drawn.add(new Chart.Curve(name, name.endsWith("(tables)"), at, curve.values(), curve.halfWidths(),
                        stopsAfter(NODES, curve.values())));
            });
            sheet.chart("scaling-" + share, new Chart(share + " % of transactions write; a stroke: it stops to scale",
                    "nodes", "tpm", false, false, true, drawn));
        });
    }

    /** What owners of request logs do, to as many replicas as the SQLware thesis speaks of. */
    private Figure owners() {
        int share = SHARES[SHARES.length - 1];
        return new Figure("owners", owners.values().stream()
                .flatMap(run -> Arrays.stream(MANY).mapToObj(nodes -> at(run, nodes, share))).toList(), sheet -> {
                    double[] at = Arrays.stream(MANY).asDoubleStream().toArray();
                    List<Chart.Curve> drawn = new ArrayList<>();
                    List<List<String>> rows = new ArrayList<>();
                    rows.add(new ArrayList<>(List.of("protocol; nodes:")));
                    Arrays.stream(MANY).forEach(nodes -> rows.getFirst().add(Integer.toString(nodes)));
                    rows.getFirst().add("mean ms with 50");
                    owners.forEach((name, run) -> {
                        List<FigureRun> points = Arrays.stream(MANY).mapToObj(nodes -> at(run, nodes, share)).toList();
                        Chart.Curve curve = sheet.curve(name, at, points, RunResult::tpm);
                        drawn.add(new Chart.Curve(name, name.endsWith("(tables)"), at, curve.values(),
                                curve.halfWidths()));
                        List<String> row = new ArrayList<>(List.of(name));
                        points.forEach(one -> row.add(sheet.text(one, RunResult::tpm, 0)));
                        row.add(sheet.text(points.getLast(), result -> result.total().latencies().meanMillis(), 1));
                        rows.add(row);
                    });
                    sheet.chart("scaling-owners", new Chart(share + " % of transactions write", "nodes", "tpm", false,
                            false, true, drawn));
                    sheet.heading("Owners of request logs, " + share + " % of transactions write");
                    sheet.table("scaling-owners", rows);
                });
    }

    private Figure stops() {
        return new Figure("stops", needs(SHARES), sheet -> {
            List<List<String>> stops = new ArrayList<>();
            List<List<String>> values = new ArrayList<>();
            List<String> heading = new ArrayList<>(List.of("protocol"));
            Arrays.stream(SHARES).forEach(share -> heading.add(share + " %"));
            stops.add(heading);
            values.add(new ArrayList<>(List.of("protocol and share; nodes:")));
            Arrays.stream(NODES).forEach(nodes -> values.getFirst().add(Integer.toString(nodes)));
            protocols.forEach((name, run) -> {
                List<String> row = new ArrayList<>(List.of(name));
                for (int share : SHARES) {
                    row.add(text(stopsAfter(sheet, run, share)));
                    values.add(row(sheet, name + " " + share + " %", run, share));
                }
                stops.add(row);
                sheet.compare("stops", name, "not said", String.join(" | ", row.subList(1, row.size())));
            });
            sheet.heading("After how many nodes it stops to scale, by the share of writes");
            sheet.table("scaling-stops", stops);
            sheet.heading("Transactions a minute");
            sheet.table("scaling", values);
        });
    }

    private static List<String> row(FigurePages sheet, String name, FigureRun run, int share) {
        List<String> row = new ArrayList<>(List.of(name));
        overNodes(run, share).forEach(one -> row.add(sheet.text(one, RunResult::tpm, 0)));
        return row;
    }

    /** How much of it is conflicts: the fewer warehouses, the more transactions meet. */
    private Figure warehouses() {
        Map<String, FigureRun> settings = new LinkedHashMap<>();
        for (String name : List.of("si", "2pc", "nodo (warehouses)")) {
            FigureRun run = Figure.only(protocols, name).get(name);
            if (run != null) {
                SMALLER.forEach(count -> settings.put(name + " on " + count, run.with("workload.warehouses", count)));
            }
        }
        int share = SHARES[SHARES.length - 1];
        return new Figure("warehouses",
                settings.values().stream().flatMap(run -> overNodes(run, share).stream()).toList(),
                sheet -> {
                    List<List<String>> rows = new ArrayList<>();
                    rows.add(new ArrayList<>(List.of("protocol and warehouses; nodes:")));
                    Arrays.stream(NODES).forEach(nodes -> rows.getFirst().add(Integer.toString(nodes)));
                    rows.getFirst().add("aborted with 12, %");
                    rows.getFirst().add("stops after");
                    settings.forEach((name, run) -> {
                        List<String> row = row(sheet, name, run, share);
                        row.add(sheet.text(at(run, NODES[NODES.length - 1], share),
                                result -> 100 * result.total().abortRate(), 1));
                        row.add(text(stopsAfter(sheet, run, share)));
                        rows.add(row);
                    });
                    sheet.heading("By the number of warehouses, " + share + " % of transactions write");
                    sheet.table("scaling-warehouses", rows);
                });
    }
}
