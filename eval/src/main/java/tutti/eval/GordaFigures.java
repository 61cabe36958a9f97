package tutti.eval;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;
import tutti.model.RequestKind;
import tutti.model.RunResult;
import tutti.report.Chart;
import tutti.core.protocol.Stage;

/** GORDA D5.1 chapter 3: figures 3.3 to 3.10, tables 3.4 and 3.5. */
final class GordaFigures {
    private static final List<Integer> CLIENTS = List.of(270, 990, 1710, 2430, 3240, 3960);
    private static final List<Integer> WIDE_CLIENTS = List.of(600, 1800, 3000, 4200, 6000, 7800);
    private static final List<Integer> FAULTY_CLIENTS = List.of(270, 1710, 2970, 3960);
    private static final int LOADED = 3960;
    private static final String PROTOCOL = "protocol.name";
    private static final String CLASSES = "workload.classes";
    private static final String ROWS = "protocol.parameters.rows-per-table";
    private static final String FAULTS = "faults";
    private static final String RANDOM = "[{kind: random-loss, rate: 0.05}]";
    /** Messages of the order, data and positions, that a site receives for each client and second. */
    private static final double MESSAGES_PER_CLIENT = 0.15;

    private final Map<String, FigureRun> coarse = new LinkedHashMap<>();
    private final Map<String, FigureRun> fine = new LinkedHashMap<>();
    private final Map<String, FigureRun> snapshot = new LinkedHashMap<>();
    private final Map<String, FigureRun> wide = new LinkedHashMap<>();
    private final Map<String, FigureRun> termination = new LinkedHashMap<>();
    private final Map<String, FigureRun> faulty = new LinkedHashMap<>();
    private final FigureRun lan;

    /** @param transactions of each run */
    GordaFigures(long transactions) {
        Map<String, String> length = Map.of("run.transactions", Long.toString(transactions));
        lan = new FigureRun("gorda-lan", length);
        coarse.put("DBSM-G", lan.with(PROTOCOL, "dbsm").with(ROWS, "50"));
        coarse.put("CONS-G", lan.with(PROTOCOL, "nodo"));
        fine.put("DBSM-g", lan.with(PROTOCOL, "dbsm"));
        fine.put("PGR", lan.with(PROTOCOL, "postgres-r").with("protocol.parameters.isolation", "serializable"));
        fine.put("CONS-g", lan.with(PROTOCOL, "nodo").with(CLASSES, "warehouses"));
        snapshot.put("DBSM-SI", lan.with(PROTOCOL, "si"));
        snapshot.put("CONS-SI", lan.with(PROTOCOL, "nodo").with(CLASSES, "written-tables"));
        wide.put("DBSM CLUSTER", new FigureRun("gorda-cluster", length));
        wide.put("DBSM", new FigureRun("gorda-wan", length));
        wide.put("WICE", new FigureRun("gorda-wan", length).with(PROTOCOL, "wice").with("order.members",
                "first-cluster"));
        FigureRun three = new FigureRun("gorda-lan-3", length);
        termination.put("no faults", three);
        termination.put("random loss 5%", three.with(FAULTS, RANDOM));
        termination.put("bursty loss 5%", three.with(FAULTS, bursty(1000)));
        FigureRun group = lan.with("order.kind", "group");
        faulty.put("DBSM-g", group.with(PROTOCOL, "dbsm"));
        faulty.put("DBSM-SI", group.with(PROTOCOL, "si"));
    }

    /** Bursts of five messages on average, one in twenty messages: at the rate at which a site receives them. */
    private static String bursty(int clients) {
        long perMessage = (long) (1_000_000 / (MESSAGES_PER_CLIENT * clients));
        return String.format(Locale.ROOT,
                "[{kind: bursty-loss, lost: uniform 0s %dus, received: uniform 0s %dus}]", 2 * 5 * perMessage,
                2 * 95 * perMessage);
    }

    private static FigureRun of(Map<String, FigureRun> curves, String name) {
        FigureRun found = curves.get(name);
        if (found == null) {
            throw new IllegalArgumentException("no curve " + name);
        }
        return found;
    }

    private static double latency(RunResult result) {
        return result.total().latencies().meanMillis();
    }

    private static double aborts(RunResult result) {
        return 100 * result.total().abortRate();
    }

    private static double kiloBytes(RunResult result) {
        return result.traffic().localBytes() / 1000.0 / result.speed().simulatedSeconds();
    }

    List<Figure> figures() {
        List<Figure> figures = new ArrayList<>();
        study(figures, "3.3", coarse);
        figures.add(abortsByKind());
        figures.add(profile());
        study(figures, "3.5", fine);
        figures.add(Figure.overClients("3.5d", "gorda-3.5d", "Network", "KB/s", CLIENTS, fine,
                GordaFigures::kiloBytes));
        figures.add(new Figure("3.5", fine.values().stream().map(one -> one.clients(LOADED)).toList(),
                sheet -> sheet.compare("3.5b", "DBSM-g, PGR and CONS-g, 3960 clients, ms", "minimal differences",
                        String.join(", ", fine.values().stream()
                                .map(one -> Figure.text(latency(sheet.result(one.clients(LOADED))), 1)).toList()))));
        study(figures, "3.6", snapshot);
        figures.add(new Figure("3.6",
                List.of(of(snapshot, "DBSM-SI").clients(LOADED), of(snapshot, "CONS-SI").clients(LOADED),
                        of(fine, "DBSM-g").clients(LOADED), of(coarse, "CONS-G").clients(LOADED)),
                this::compareLocal));
        wide(figures);
        termination(figures);
        performability(figures);
        return figures;
    }

    private static void study(List<Figure> figures, String id, Map<String, FigureRun> curves) {
        figures.add(Figure.overClients(id + "a", "gorda-" + id + "a", "Throughput", "tpm", CLIENTS, curves,
                RunResult::tpm));
        figures.add(Figure.overClients(id + "b", "gorda-" + id + "b", "Latency", "ms", CLIENTS, curves,
                GordaFigures::latency));
        figures.add(Figure.overClients(id + "c", "gorda-" + id + "c", "Aborts", "%", CLIENTS, curves,
                GordaFigures::aborts));
    }

    private Figure abortsByKind() {
        FigureRun dbsm = of(coarse, "DBSM-G");
        List<FigureRun> needs = CLIENTS.stream().map(dbsm::clients).toList();
        return new Figure("3.3d", needs, sheet -> {
            List<Chart.Curve> curves = new ArrayList<>();
            for (RequestKind kind : RequestKind.DRAWN) {
                if (kind != RequestKind.MAINTENANCE) {
                    curves.add(new Chart.Curve(kind.label(), false,
                            CLIENTS.stream().mapToDouble(Integer::doubleValue).toArray(), needs.stream()
                                    .mapToDouble(one -> 100 * sheet.result(one).of(kind).abortRate()).toArray()));
                }
            }
            sheet.chart("gorda-3.3d",
                    new Chart("Aborts of DBSM-G by transaction", "clients", "%", false, false, true, curves));
            RunResult loaded = sheet.result(dbsm.clients(LOADED));
            sheet.compare("3.3a", "DBSM-G and CONS-G, 3960 clients, tpm", "it scales much better",
                    Figure.text(loaded.tpm(), 0) + " and "
                            + Figure.text(sheet.result(of(coarse, "CONS-G").clients(LOADED)).tpm(), 0));
            sheet.compare("3.3c", "DBSM-G, aborts %", "4", Figure.text(aborts(loaded), 2));
            sheet.compare("3.3d", "DBSM-G, Delivery, aborts %", "nearly all",
                    Figure.text(100 * loaded.of(RequestKind.DELIVERY).abortRate(), 1));
            sheet.compare("3.3d", "DBSM-G, Delivery among all aborts", "all",
                    Figure.text(
                            100.0 * loaded.of(RequestKind.DELIVERY).aborted() / Math.max(1, loaded.total().aborted()),
                            0)
                            + " %");
        });
    }

    /** Figure 3.4: latency as a client sees it, in parts. */
    private Figure profile() {
        List<String> names = List.of("DBSM-G", "CONS-G");
        return new Figure("3.4", names.stream().map(name -> of(coarse, name).clients(270)).toList(), sheet -> {
            List<List<String>> rows = new ArrayList<>();
            List<String> heading = new ArrayList<>(List.of("mean ms, 270 clients"));
            for (String name : names) {
                for (RequestKind kind : List.of(RequestKind.NEW_ORDER, RequestKind.PAYMENT, RequestKind.DELIVERY)) {
                    heading.add(name + " " + kind.label());
                }
            }
            rows.add(heading);
            for (Stage stage : Stage.values()) {
                List<String> row = new ArrayList<>(List.of(stage.description()));
                for (String name : names) {
                    for (RequestKind kind : List.of(RequestKind.NEW_ORDER, RequestKind.PAYMENT, RequestKind.DELIVERY)) {
                        row.add(Figure.text(sheet.result(of(coarse, name).clients(270)).of(kind).stageMillis()[stage
                                .ordinal()], 2));
                    }
                }
                rows.add(row);
            }
            sheet.heading("Figure 3.4: where time goes with 270 clients");
            sheet.table("gorda-3.4", rows);
        });
    }

    private void compareLocal(FigurePages sheet) {
        sheet.compare("3.6c", "DBSM-SI against DBSM-g, 3960 clients, aborts %", "less",
                Figure.text(aborts(sheet.result(of(snapshot, "DBSM-SI").clients(LOADED))), 2) + " against "
                        + Figure.text(aborts(sheet.result(of(fine, "DBSM-g").clients(LOADED))), 2));
        sheet.compare("3.6b", "CONS-SI against CONS-G, 3960 clients, ms", "the same",
                Figure.text(latency(sheet.result(of(snapshot, "CONS-SI").clients(LOADED))), 0) + " against "
                        + Figure.text(latency(sheet.result(of(coarse, "CONS-G").clients(LOADED))), 0));
    }

    // ------------------------------------------------------------------------------------------ figure 3.7

    private void wide(List<Figure> figures) {
        perCluster(figures, "a", "d", "Throughput", "tpm", RunResult::tpm,
                cluster -> result -> result.tpm(cluster));
        perCluster(figures, "b", "e", "Latency", "ms", GordaFigures::latency,
                cluster -> result -> result.total(cluster).latencies().meanMillis());
        perCluster(figures, "c", "f", "Aborts", "%", GordaFigures::aborts,
                cluster -> result -> 100 * result.total(cluster).abortRate());
        figures.add(
                new Figure("3.7", List.of(of(wide, "WICE").clients(3000), of(wide, "DBSM").clients(3000),
                        of(wide, "DBSM CLUSTER").clients(3000), of(wide, "DBSM CLUSTER").clients(6000),
                        of(wide, "DBSM CLUSTER").clients(7800)), sheet -> {
                            RunResult wice = sheet.result(of(wide, "WICE").clients(3000));
                            RunResult dbsm = sheet.result(of(wide, "DBSM").clients(3000));
                            sheet.compare("3.7a", "DBSM CLUSTER, 7800 against 6000 clients, tpm", "peaks with 6000",
                                    Figure.text(sheet.result(of(wide, "DBSM CLUSTER").clients(7800)).tpm(), 0)
                                            + " against "
                                            + Figure.text(sheet.result(of(wide, "DBSM CLUSTER").clients(6000)).tpm(),
                                                    0));
                            sheet.compare("3.7b", "DBSM CLUSTER, 3000, 6000 and 7800 clients, ms", "queueing from 6000",
                                    String.join(", ", Stream.of(3000, 6000, 7800).map(count -> Figure
                                            .text(latency(sheet.result(of(wide, "DBSM CLUSTER").clients(count))), 0))
                                            .toList()));
                            sheet.compare("3.7b", "WICE, primary cluster, 3000 clients, Payment, ms",
                                    "very close to 400",
                                    Figure.text(wice.kinds().getOrDefault("a", Map.of()).entrySet().stream()
                                            .filter(kind -> kind.getKey() == RequestKind.PAYMENT)
                                            .mapToDouble(kind -> kind.getValue().latencies().meanMillis()).sum(), 0));
                            sheet.compare("3.7c", "WICE, primary cluster, 3000 clients, aborts %", "negligible",
                                    Figure.text(100 * wice.total("a").abortRate(), 2));
                            sheet.compare("3.7f", "WICE, other cluster, 3000 clients, aborts %", "less than DBSM's",
                                    Figure.text(100 * wice.total("b").abortRate(), 2) + " against "
                                            + Figure.text(100 * dbsm.total("b").abortRate(), 2));
                        }));
    }

    private interface OfCluster {
        ToDoubleFunction<RunResult> value(String cluster);
    }

    /** A figure for each cluster; the baseline has one cluster, of which each is half. */
    private void perCluster(List<Figure> figures, String primary, String other, String title, String up,
            ToDoubleFunction<RunResult> baseline, OfCluster value) {
        double share = up.equals("tpm") ? 0.5 : 1;
        for (String cluster : List.of("a", "b")) {
            String id = "3.7" + (cluster.equals("a") ? primary : other);
            List<FigureRun> needs = new ArrayList<>();
            wide.values().forEach(setting -> WIDE_CLIENTS.forEach(count -> needs.add(setting.clients(count))));
            figures.add(new Figure(id, needs, sheet -> {
                List<Chart.Curve> curves = new ArrayList<>();
                wide.forEach((name, setting) -> {
                    ToDoubleFunction<RunResult> shown = setting.scenario().equals("gorda-cluster")
                            ? result -> share * baseline.applyAsDouble(result)
                            : value.value(cluster);
                    curves.add(new Chart.Curve(name, false,
                            WIDE_CLIENTS.stream().mapToDouble(Integer::doubleValue).toArray(),
                            WIDE_CLIENTS.stream()
                                    .mapToDouble(count -> shown.applyAsDouble(sheet.result(setting.clients(count))))
                                    .toArray()));
                });
                sheet.chart("gorda-" + id,
                        new Chart(title + (cluster.equals("a") ? ", primary cluster" : ", other cluster"),
                                "clients of both clusters", up, false, false, true, curves));
            }));
        }
    }

    // ------------------------------------------------------------------------------------------ section 3.5

    private void termination(List<Figure> figures) {
        List<FigureRun> needs = List.copyOf(termination.values());
        figures.add(new Figure("3.8", needs, sheet -> {
            List<Chart.Curve> curves = new ArrayList<>();
            termination.forEach((name, setting) -> curves
                    .add(Findings.ecdf(name, sheet.result(setting).certification())));
            sheet.chart("gorda-3.8", new Chart("Certification latency, 3 sites, 1000 clients", "milliseconds", "share",
                    true, false, false, curves));
            double usual = sheet.result(of(termination, "no faults")).certification().percentileMillis(0.99);
            for (String name : List.of("random loss 5%", "bursty loss 5%")) {
                sheet.compare("3.8", "transactions delayed by " + name,
                        name.startsWith("random") ? "30 to 40 %" : "fewer",
                        Figure.text(100 - 100 * sheet.result(of(termination, name)).certification().shareWithin(usual),
                                1)
                                + " %");
            }
        }));
        figures.add(new Figure("table 3.4", needs, sheet -> {
            Map<String, String> paper = Map.of("no faults", "1.22", "random loss 5%", "1.90", "bursty loss 5%", "1.89");
            List<List<String>> rows = new ArrayList<>();
            rows.add(List.of("processor time of real code, %", "paper", "here"));
            termination.forEach((name, setting) -> {
                String here = Figure.text(100 * sheet.result(setting).codeShare(), 2);
                rows.add(List.of(name, paper.getOrDefault(name, ""), here));
                sheet.compare("table 3.4", name + ", %", paper.getOrDefault(name, ""), here);
            });
            sheet.heading("Table 3.4");
            sheet.table("gorda-table-3.4", rows);
        }));
        figures.add(new Figure("table 3.5", needs, this::abortTable));
    }

    private void abortTable(FigurePages sheet) {
        Map<RequestKind, List<String>> paper = new LinkedHashMap<>();
        paper.put(RequestKind.DELIVERY, List.of("1.41", "9.84", "4.46"));
        paper.put(RequestKind.NEW_ORDER, List.of("1.46", "3.38", "1.63"));
        paper.put(RequestKind.PAYMENT, List.of("12.78", "22.54", "14.15"));
        paper.put(RequestKind.ORDER_STATUS, List.of("2.43", "2.93", "1.82"));
        paper.put(RequestKind.STOCK_LEVEL, List.of("0.00", "0.00", "0.00"));
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("aborts %, 3 sites, 1000 clients", "no faults, paper", "here", "random 5%, paper", "here",
                "bursty 5%, paper", "here"));
        List<RunResult> results = termination.values().stream().map(sheet::result).toList();
        paper.forEach((kind, theirs) -> rows.add(row(kind.label(), theirs,
                results.stream().map(result -> 100 * result.of(kind).abortRate()).toList())));
        List<String> all = List.of("6.72", "11.94", "7.96");
        List<Double> ours = results.stream().map(GordaFigures::aborts).toList();
        rows.add(row("all", all, ours));
        List<String> names = List.copyOf(termination.keySet());
        for (int i = 0; i < names.size(); i++) {
            sheet.compare("table 3.5", names.get(i) + ", all, aborts %", all.get(i), Figure.text(ours.get(i), 2));
        }
        sheet.heading("Table 3.5");
        sheet.table("gorda-table-3.5", rows);
    }

    private static List<String> row(String name, List<String> paper, List<Double> here) {
        List<String> row = new ArrayList<>(List.of(name));
        for (int i = 0; i < paper.size(); i++) {
            row.add(paper.get(i));
            row.add(Figure.text(here.get(i), 2));
        }
        return row;
    }

    private void performability(List<Figure> figures) {
        Map<String, List<FigureRun>> curves = new LinkedHashMap<>();
        faulty.forEach((name, setting) -> {
            curves.put(name, FAULTY_CLIENTS.stream().map(setting::clients).toList());
            curves.put(name + " bursty",
                    FAULTY_CLIENTS.stream().map(count -> setting.clients(count).with(FAULTS, bursty(count))).toList());
            curves.put(name + " random",
                    FAULTY_CLIENTS.stream().map(count -> setting.clients(count).with(FAULTS, RANDOM)).toList());
        });
        List<FigureRun> needs = curves.values().stream().flatMap(List::stream).toList();
        double[] at = FAULTY_CLIENTS.stream().mapToDouble(Integer::doubleValue).toArray();
        figures.add(new Figure("3.9", needs, sheet -> {
            List<Chart.Curve> drawn = new ArrayList<>();
            curves.forEach((name, settings) -> {
                if (!faulty.containsKey(name)) {
                    List<FigureRun> faultless = curves.getOrDefault(name.split(" ", 2)[0], List.of());
                    double[] within = new double[at.length];
                    for (int i = 0; i < at.length; i++) {
                        double tau = sheet.result(faultless.get(i)).of(RequestKind.NEW_ORDER).latencies()
                                .percentileMillis(0.9);
                        within[i] = sheet.result(settings.get(i)).of(RequestKind.NEW_ORDER).latencies()
                                .shareWithin(tau);
                    }
                    drawn.add(new Chart.Curve(name, false, at, within));
                    sheet.compare("3.9", name + ", 270 and 3960 clients, P(L <= tau)",
                            name.endsWith("random") ? "0.4 and almost 0.05" : "0.6 and 0.1",
                            Figure.text(within[0], 2) + " and " + Figure.text(within[at.length - 1], 2));
                }
            });
            sheet.chart("gorda-3.9", new Chart("NewOrders within the faultless 90th percentile", "clients", "P(L ≤ τ)",
                    false, false, true, drawn));
        }));
        figures.add(new Figure("3.10", needs, sheet -> curves.forEach((name, settings) -> {
            if (!faulty.containsKey(name)) {
                sheet.compare("3.10a", name + ", 3960 clients, aborts %",
                        name.startsWith("DBSM-SI") ? "below 2" : name.endsWith("bursty") ? "below 5" : "below 10",
                        Figure.text(aborts(sheet.result(settings.getLast())), 2));
            }
        })));
        figures.add(overFaults("3.10a", "Aborts", "%", needs, curves, at, GordaFigures::aborts));
        figures.add(overFaults("3.10b", "Committed NewOrders", "per minute", needs, curves, at,
                result -> result.of(RequestKind.NEW_ORDER).committed() * 60 / result.seconds()));
    }

    private static Figure overFaults(String id, String title, String up, List<FigureRun> needs,
            Map<String, List<FigureRun>> curves, double[] at, ToDoubleFunction<RunResult> value) {
        return new Figure(id, needs, sheet -> {
            List<Chart.Curve> drawn = new ArrayList<>();
            curves.forEach((name, settings) -> drawn.add(new Chart.Curve(name, false, at,
                    settings.stream().mapToDouble(setting -> value.applyAsDouble(sheet.result(setting))).toArray())));
            sheet.chart("gorda-" + id, new Chart(title, "clients", up, false, false, true, drawn));
        });
    }
}
