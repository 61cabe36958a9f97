package tutti.eval;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
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
    private static final int LOADED = 3960;
    private static final String PROTOCOL = "protocol.name";
    private static final String CLASSES = "workload.classes";
    private static final String ROWS = "protocol.parameters.rows-per-table";
    private static final String RESUBMIT = "workload.resubmit";
    private static final List<Integer> GROUP_CLIENTS = List.of(600, 1800, 3000);

    private final Map<String, FigureRun> coarse = new LinkedHashMap<>();
    private final Map<String, FigureRun> fine = new LinkedHashMap<>();
    private final Map<String, FigureRun> snapshot = new LinkedHashMap<>();
    private final Map<String, FigureRun> wide = new LinkedHashMap<>();
    private final Map<String, FigureRun> wideGroup = new LinkedHashMap<>();
    private final long transactions;

    /** @param transactions of each run */
    GordaFigures(long transactions) {
        Map<String, String> length = Map.of("run.transactions", Long.toString(transactions));
        this.transactions = transactions;
        FigureRun lan = new FigureRun("gorda-lan", length);
        coarse.put("DBSM-G", lan.with(PROTOCOL, "dbsm").with(ROWS, "50"));
        coarse.put("CONS-G", lan.with(PROTOCOL, "nodo"));
        fine.put("DBSM-g", lan.with(PROTOCOL, "dbsm"));
        fine.put("PGR", lan.with(PROTOCOL, "postgres-r").with("protocol.parameters.isolation", "serializable"));
        fine.put("CONS-g", lan.with(PROTOCOL, "nodo").with(CLASSES, "warehouses"));
        snapshot.put("DBSM-SI", lan.with(PROTOCOL, "si"));
        snapshot.put("CONS-SI", lan.with(PROTOCOL, "nodo").with(CLASSES, "written-tables"));
        // "Aborted transactions have to be resubmitted by the application, thus further loading the system."
        FigureRun wan = new FigureRun("gorda-wan", length).with(RESUBMIT, "true");
        wide.put("DBSM CLUSTER", new FigureRun("gorda-cluster", length).with(RESUBMIT, "true"));
        wide.put("DBSM", wan);
        FigureRun wice = wan.with(PROTOCOL, "wice").with("order.members", "first-cluster");
        wide.put("WICE", wice);
        wideGroup.put("DBSM", wan.with("order.kind", "group"));
        wideGroup.put("WICE", wice.with("order.kind", "group"));
    }

    private static FigureRun of(Map<String, FigureRun> curves, String name) {
        FigureRun found = curves.get(name);
        if (found == null) {
            throw new IllegalArgumentException("no curve " + name);
        }
        return found;
    }

    static double latency(RunResult result) {
        return result.total().latencies().meanMillis();
    }

    static double aborts(RunResult result) {
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
        figures.add(queueing());
        study(figures, "3.5", fine);
        figures.add(Figure.overClients("3.5d", "gorda-3.5d", "Network", "KB/s", CLIENTS, fine,
                GordaFigures::kiloBytes));
        figures.add(new Figure("3.5", fine.values().stream().map(one -> one.clients(LOADED)).toList(),
                this::compareFine));
        study(figures, "3.6", snapshot);
        figures.add(new Figure("3.6",
                List.of(of(snapshot, "DBSM-SI").clients(LOADED), of(snapshot, "CONS-SI").clients(LOADED),
                        of(fine, "DBSM-g").clients(LOADED), of(coarse, "CONS-G").clients(LOADED)),
                this::compareLocal));
        wide(figures);
        figures.add(wideGroup());
        figures.addAll(new GordaFaults(transactions).figures());
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

    private void compareFine(FigurePages sheet) {
        String what = "DBSM-g, PGR and CONS-g, 3960 clients, ";
        sheet.compare("3.5a", what + "tpm", "approximate", loaded(sheet, fine, RunResult::tpm, 0));
        sheet.compare("3.5b", what + "ms", "minimal differences", loaded(sheet, fine, GordaFigures::latency, 1));
        sheet.compare("3.5c", what + "aborts %", "minimal differences", loaded(sheet, fine, GordaFigures::aborts, 2));
        sheet.compare("3.5d", what + "KB/s", "very close, DBSM-g no more than PGR",
                loaded(sheet, fine, GordaFigures::kiloBytes, 0));
    }

    private static String loaded(FigurePages sheet, Map<String, FigureRun> curves, ToDoubleFunction<RunResult> value,
            int decimals) {
        return String.join(", ",
                curves.values().stream().map(one -> sheet.text(one.clients(LOADED), value, decimals)).toList());
    }

    /** What the text says of figures 3.3(b) and 3.4: a conservative protocol's latency is queueing, and grows fast. */
    private Figure queueing() {
        FigureRun dbsm = of(coarse, "DBSM-G");
        FigureRun cons = of(coarse, "CONS-G");
        List<Integer> few = CLIENTS.subList(0, 3);
        return new Figure("3.4", Stream.concat(few.stream().map(cons::clients),
                Stream.of(dbsm.clients(270), dbsm.clients(LOADED), cons.clients(LOADED))).toList(), sheet -> {
                    sheet.compare("3.3b", "DBSM-G and CONS-G, 3960 clients, ms", "CONS-G's queueing is very large",
                            sheet.text(dbsm.clients(LOADED), GordaFigures::latency, 1) + " and "
                                    + sheet.text(cons.clients(LOADED), GordaFigures::latency, 0));
                    sheet.compare("3.4", "DBSM-G and CONS-G, 270 clients, NewOrder before execution, ms",
                            "queueing is what differs",
                            sheet.text(dbsm.clients(270), GordaFigures::queueing, 1) + " and "
                                    + sheet.text(cons.clients(270), GordaFigures::queueing, 1));
                    sheet.compare("3.4", "CONS-G, 270, 990 and 1710 clients, ms", "grows very rapidly with clients",
                            String.join(", ", few.stream()
                                    .map(count -> sheet.text(cons.clients(count), GordaFigures::latency, 0))
                                    .toList()));
                });
    }

    private static double queueing(RunResult result) {
        return result.of(RequestKind.NEW_ORDER).stageMillis()[Stage.ORDERING.ordinal()];
    }

    private Figure abortsByKind() {
        FigureRun dbsm = of(coarse, "DBSM-G");
        List<FigureRun> needs = CLIENTS.stream().map(dbsm::clients).toList();
        List<FigureRun> all = Stream.concat(needs.stream(), Stream.of(of(coarse, "CONS-G").clients(LOADED))).toList();
        return new Figure("3.3d", all, sheet -> {
            List<Chart.Curve> curves = new ArrayList<>();
            for (RequestKind kind : RequestKind.DRAWN) {
                if (kind != RequestKind.MAINTENANCE) {
                    curves.add(sheet.curve(kind.label(), CLIENTS.stream().mapToDouble(Integer::doubleValue).toArray(),
                            needs, result -> 100 * result.of(kind).abortRate()));
                }
            }
            sheet.chart("gorda-3.3d",
                    new Chart("Aborts of DBSM-G by transaction", "clients", "%", false, false, true, curves));
            FigureRun loaded = dbsm.clients(LOADED);
            sheet.compare("3.3a", "DBSM-G and CONS-G, 3960 clients, tpm", "it scales much better",
                    sheet.text(loaded, RunResult::tpm, 0) + " and "
                            + sheet.text(of(coarse, "CONS-G").clients(LOADED), RunResult::tpm, 0));
            sheet.compare("3.3c", "DBSM-G, aborts %", "4", sheet.text(loaded, GordaFigures::aborts, 2));
            sheet.compare("3.3d", "DBSM-G, Delivery, aborts %", "nearly all",
                    sheet.text(loaded, result -> 100 * result.of(RequestKind.DELIVERY).abortRate(), 1));
            sheet.compare("3.3d", "DBSM-G, Delivery among all aborts, %", "all", sheet.text(loaded,
                    result -> 100.0 * result.of(RequestKind.DELIVERY).aborted()
                            / Math.max(1, result.total().aborted()),
                    0));
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
                        row.add(sheet.text(of(coarse, name).clients(270),
                                result -> result.of(kind).stageMillis()[stage.ordinal()], 2));
                    }
                }
                rows.add(row);
            }
            sheet.heading("Figure 3.4: where time goes with 270 clients");
            sheet.table("gorda-3.4", rows);
        });
    }

    private void compareLocal(FigurePages sheet) {
        sheet.compare("3.6a", "DBSM-SI against DBSM-g, and CONS-SI against CONS-G, 3960 clients, tpm",
                "no worse; nothing gained",
                sheet.text(of(snapshot, "DBSM-SI").clients(LOADED), RunResult::tpm, 0) + " against "
                        + sheet.text(of(fine, "DBSM-g").clients(LOADED), RunResult::tpm, 0) + "; "
                        + sheet.text(of(snapshot, "CONS-SI").clients(LOADED), RunResult::tpm, 0) + " against "
                        + sheet.text(of(coarse, "CONS-G").clients(LOADED), RunResult::tpm, 0));
        sheet.compare("3.6c", "DBSM-SI against DBSM-g, 3960 clients, aborts %", "less",
                sheet.text(of(snapshot, "DBSM-SI").clients(LOADED), GordaFigures::aborts, 2) + " against "
                        + sheet.text(of(fine, "DBSM-g").clients(LOADED), GordaFigures::aborts, 2));
        sheet.compare("3.6b", "CONS-SI against CONS-G, 3960 clients, ms", "the same",
                sheet.text(of(snapshot, "CONS-SI").clients(LOADED), GordaFigures::latency, 0) + " against "
                        + sheet.text(of(coarse, "CONS-G").clients(LOADED), GordaFigures::latency, 0));
    }

    // ------------------------------------------------------------------------------------------ figure 3.7

    private void wide(List<Figure> figures) {
        perCluster(figures, "a", "d", "Throughput", "tpm", RunResult::tpm,
                cluster -> result -> result.tpm(cluster));
        perCluster(figures, "b", "e", "Latency", "ms", GordaFigures::latency,
                cluster -> result -> result.total(cluster).latencies().meanMillis());
        perCluster(figures, "c", "f", "Aborts", "%", GordaFigures::aborts,
                cluster -> result -> 100 * result.total(cluster).abortRate());
        figures.add(new Figure("3.7", wide.values().stream()
                .flatMap(setting -> WIDE_CLIENTS.stream().map(setting::clients)).toList(), sheet -> {
                    FigureRun wice = of(wide, "WICE").clients(3000);
                    FigureRun cluster = of(wide, "DBSM CLUSTER");
                    sheet.compare("3.7a", "DBSM CLUSTER, 7800 against 6000 clients, tpm", "peaks with 6000",
                            sheet.text(cluster.clients(7800), RunResult::tpm, 0) + " against "
                                    + sheet.text(cluster.clients(6000), RunResult::tpm, 0));
                    sheet.compare("3.7b", "DBSM CLUSTER, 3000, 6000 and 7800 clients, ms", "queueing from 6000",
                            String.join(", ",
                                    Stream.of(3000, 6000, 7800).map(count -> sheet
                                            .text(cluster.clients(count), GordaFigures::latency, 0)).toList()));
                    sheet.compare("3.7b", "WICE, primary cluster, 3000 clients, Payment, ms",
                            "very close to 400", sheet.text(wice, GordaFigures::paymentOfPrimary, 0));
                    sheet.compare("3.7c", "WICE, primary cluster, 3000 clients, aborts %", "negligible",
                            sheet.text(wice, result -> 100 * result.total("a").abortRate(), 2));
                    FigureRun dbsm = of(wide, "DBSM");
                    sheet.compare("3.7d", "DBSM, other cluster, 600, 4200 and 7800 clients, tpm", "close to linear",
                            ofOther(sheet, dbsm, result -> result.tpm("b"), 0));
                    sheet.compare("3.7e", "DBSM, other cluster, 600, 4200 and 7800 clients, ms", "linearly increasing",
                            ofOther(sheet, dbsm, result -> result.total("b").latencies().meanMillis(), 0));
                    WIDE_CLIENTS.forEach(count -> otherCluster(sheet, "a modelled sequencer", wide, count));
                }));
    }

    private static String ofOther(FigurePages sheet, FigureRun setting, ToDoubleFunction<RunResult> value,
            int decimals) {
        return String.join(", ", Stream.of(600, 4200, 7800)
                .map(count -> sheet.text(setting.clients(count), value, decimals)).toList());
    }

    private void otherCluster(FigurePages sheet, String order, Map<String, FigureRun> protocols, int clients) {
        ToDoubleFunction<RunResult> aborts = result -> 100 * result.total("b").abortRate();
        sheet.compare("3.7f", "WICE, other cluster, " + clients + " clients, " + order + ", aborts %",
                "less than DBSM's", sheet.text(of(protocols, "WICE").clients(clients), aborts, 2) + " against "
                        + sheet.text(of(protocols, "DBSM").clients(clients), aborts, 2));
    }

    /** Figure 3.7 where real group communication orders, of all sites under DBSM and of the first cluster under WICE. */
    private Figure wideGroup() {
        List<FigureRun> needs = wideGroup.values().stream()
                .flatMap(setting -> GROUP_CLIENTS.stream().map(setting::clients)).toList();
        return new Figure("3.7 group", needs, sheet -> {
            List<List<String>> rows = new ArrayList<>();
            rows.add(
                    List.of("real group communication", "clients", "primary cluster ms", "aborts %", "other cluster ms",
                            "aborts %"));
            wideGroup.forEach((name, setting) -> GROUP_CLIENTS.forEach(count -> {
                List<String> row = new ArrayList<>(List.of(name, Integer.toString(count)));
                for (String cluster : List.of("a", "b")) {
                    row.add(sheet.text(setting.clients(count),
                            result -> result.total(cluster).latencies().meanMillis(), 0));
                    row.add(sheet.text(setting.clients(count), result -> 100 * result.total(cluster).abortRate(), 2));
                }
                rows.add(row);
            }));
            sheet.heading("Figure 3.7 with real group communication");
            sheet.table("gorda-3.7-group", rows);
            GROUP_CLIENTS.forEach(count -> otherCluster(sheet, "real group communication", wideGroup, count));
        });
    }

    private static double paymentOfPrimary(RunResult result) {
        RunResult.Outcomes payment = result.kinds().getOrDefault("a", Map.of()).get(RequestKind.PAYMENT);
        return payment == null ? 0 : payment.latencies().meanMillis();
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
                    curves.add(sheet.curve(name, WIDE_CLIENTS.stream().mapToDouble(Integer::doubleValue).toArray(),
                            WIDE_CLIENTS.stream().map(setting::clients).toList(), shown));
                });
                sheet.chart("gorda-" + id,
                        new Chart(title + (cluster.equals("a") ? ", primary cluster" : ", other cluster"),
                                "clients of both clusters", up, false, false, true, curves));
            }));
        }
    }
}
