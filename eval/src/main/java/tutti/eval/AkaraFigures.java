package tutti.eval;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;
import tutti.core.protocol.Stage;
import tutti.model.RequestKind;
import tutti.model.RunResult;

/** AKARA section 4.2: figures 7 to 9 and table 1. */
final class AkaraFigures {
    private static final List<Integer> CLIENTS = List.of(270, 990, 1710, 2430, 3240, 3960);
    private static final int LOADED = 3240;
    private static final int SATURATED = 3960;
    private static final String SCENARIO = "akara-lan";
    private static final String PROTOCOL = "protocol.name";
    private static final String CLASSES = "workload.classes";
    private static final String NEW_ORDERS = "workload.mix.neworder";
    private static final String MAINTENANCE = "workload.mix.maintenance";
    private static final String START = "workload.start";
    private static final String ACTIVE = "workload.maintenance.active";
    private static final String ROWS = "workload.maintenance.rows";
    private static final String TABLE = "table 1";

    private final Map<String, FigureRun> curves = new LinkedHashMap<>();
    private final Map<String, FigureRun> akara = new LinkedHashMap<>();
    private final FigureRun lockedDelivery;
    private final FigureRun base;

    /** @param transactions of each run */
    AkaraFigures(long transactions) {
        base = new FigureRun(SCENARIO, Map.of("run.transactions", Long.toString(transactions)));
        curves.put("DBSM", base.with(PROTOCOL, "si"));
        curves.put("PGR", base.with(PROTOCOL, "postgres-r"));
        curves.put("NODO", base.with(PROTOCOL, "nodo").with(CLASSES, "written-tables"));
        curves.put("AKARA-25", akara(25));
        lockedDelivery = base.with(PROTOCOL, "dbsm").with("workload.delivery-lock", "true");
        akara.put("AKARA-25", akara(25));
        akara.put("AKARA-45", akara(45));
        akara.put("AKARA-n", akara(10_000));
        FigureRun upkeep = akara(25).with(NEW_ORDERS, "43").with(MAINTENANCE, "1");
        akara.put("AKARA-25 with Light-Tran",
                upkeep.with(ACTIVE, "true").with("workload.maintenance.structure", "true"));
        FigureRun prices = upkeep.with(ROWS, "50000").with("run.transactions", Long.toString(transactions / 10 + 1));
        akara.put("AKARA-25 with Active-Tran", prices.with(ACTIVE, "true"));
        akara.put("AKARA-25 with Passive-Tran", prices);
    }

    private FigureRun akara(int optimistic) {
        return base.with(PROTOCOL, "akara").with("protocol.parameters.optimistic", Integer.toString(optimistic))
                .with(CLASSES, "written-tables");
    }

    List<Figure> figures() {
        Map<String, FigureRun> three = Figure.only(curves, "DBSM", "PGR", "NODO");
        List<Figure> figures = new ArrayList<>();
        figures.add(Figure.overClients("7a", "akara-7a", "Throughput", "tpm", CLIENTS, three, RunResult::tpm));
        figures.add(Figure.overClients("7b", "akara-7b", "Requests inside the database", "requests/s", CLIENTS, three,
                RunResult::requestsPerSecond));
        figures.add(Figure.overClients("7c", "akara-7c", "Latency", "ms", CLIENTS, three, AkaraFigures::latency));
        figures.add(Figure.overClients("7d", "akara-7d", "Transactions in Q2", "transactions", CLIENTS, three,
                AkaraFigures::inQ2));
        figures.add(new Figure("7", three.values().stream()
                .flatMap(setting -> Stream.of(CLIENTS.getFirst(), LOADED, SATURATED).map(setting::clients)).toList(),
                this::compareThroughput));
        figures.add(waiting());
        figures.add(Figure.overClients("8b", "akara-8b", "Aborts", "%", CLIENTS, three,
                AkaraFigures::aborts));
        figures.add(fairness());
        Map<String, FigureRun> last = Figure.only(curves, "DBSM", "NODO", "AKARA-25");
        figures.add(Figure.overClients("9a", "akara-9a", "Latency", "ms", CLIENTS, last, AkaraFigures::latency));
        figures.add(Figure.overClients("9b", "akara-9b", "Throughput", "tpm", CLIENTS, last, RunResult::tpm));
        figures.add(new Figure("9", List.of(curve("DBSM").clients(LOADED), curve("AKARA-25").clients(LOADED),
                curve("AKARA-25").clients(SATURATED)), this::compareAkara));
        figures.add(table());
        figures.add(limit());
        return figures;
    }

    /** Not in the paper: the limit with more clients, and with clients that do not all begin at once. */
    private Figure limit() {
        Map<String, FigureRun> rows = new LinkedHashMap<>();
        for (String name : List.of("AKARA-25", "AKARA-45", "AKARA-n")) {
            FigureRun setting = Figure.only(akara, name).getOrDefault(name, base);
            rows.put(name + ", 3240 clients, all at once", setting.clients(LOADED));
            rows.put(name + ", 3240 clients, who think first", setting.clients(LOADED).with(START, "thinking"));
            rows.put(name + ", 3960 clients, all at once", setting.clients(SATURATED));
            rows.put(name + ", 3960 clients, who think first", setting.clients(SATURATED).with(START, "thinking"));
        }
        return new Figure("limit", List.copyOf(rows.values()), sheet -> {
            List<List<String>> table = new ArrayList<>();
            table.add(List.of("the limit of AKARA", "latency ms", "tpm", "unsuccessful %", "tpm of the last minute"));
            rows.forEach((name, setting) -> {
                table.add(List.of(name, sheet.text(setting, AkaraFigures::latency, 0),
                        sheet.text(setting, RunResult::tpm, 0), sheet.text(setting, AkaraFigures::repeated, 1),
                        sheet.text(setting, AkaraFigures::atTheEnd, 0)));
            });
            sheet.heading("The limit of AKARA");
            sheet.table("akara-limit", table);
        });
    }

    private static double atTheEnd(RunResult result) {
        List<RunResult.Sample> samples = result.samples();
        return 60 * samples.subList(Math.max(0, samples.size() - 60), samples.size()).stream()
                .mapToDouble(RunResult.Sample::committedPerSecond).average().orElse(0);
    }

    private static double repeated(RunResult result) {
        return 100 * result.total().repeatRate();
    }

    private static double aborts(RunResult result) {
        return 100 * result.total().abortRate();
    }

    private static double latency(RunResult result) {
        return result.total().latencies().meanMillis();
    }

    /** Those that wait for execution in NODO; those that wait to be applied in the others. */
    private static double inQ2(RunResult result) {
        return result.samples().stream().filter(sample -> sample.atSeconds() > 30)
                .mapToInt(
                        sample -> sample.stages()[Stage.ORDERING.ordinal()] + sample.stages()[Stage.DECIDED.ordinal()])
                .average().orElse(0);
    }

    private FigureRun curve(String name) {
        return Figure.only(curves, name).getOrDefault(name, base);
    }

    private void compareThroughput(FigurePages sheet) {
        FigureRun nodo = curve("NODO").clients(LOADED);
        sheet.compare("7a", "DBSM, 3960 clients, tpm", "above 20,000",
                sheet.text(curve("DBSM").clients(SATURATED), RunResult::tpm, 0));
        sheet.compare("7a", "PGR, 3960 clients, tpm", "above 20,000",
                sheet.text(curve("PGR").clients(SATURATED), RunResult::tpm, 0));
        sheet.compare("7a", "NODO, 3240 clients, tpm", "about 4000", sheet.text(nodo, RunResult::tpm, 0));
        sheet.compare("7b", "DBSM and PGR, 270 and 3960 clients, requests/s in the database",
                "alike, and the more the higher the throughput",
                ofBoth(sheet, CLIENTS.getFirst(), RunResult::requestsPerSecond, 0) + "; "
                        + ofBoth(sheet, SATURATED, RunResult::requestsPerSecond, 0));
        sheet.compare("7b", "DBSM and PGR, 270 and 3960 clients, requests for each committed transaction", "not given",
                ofBoth(sheet, CLIENTS.getFirst(), AkaraFigures::requests, 0) + "; "
                        + ofBoth(sheet, SATURATED, AkaraFigures::requests, 0));
        sheet.compare("7c", "NODO, and DBSM and PGR, 3960 clients, ms", "NODO's is extremely high",
                sheet.text(curve("NODO").clients(SATURATED), AkaraFigures::latency, 0) + "; "
                        + ofBoth(sheet, SATURATED, AkaraFigures::latency, 1));
        sheet.compare("7d", "NODO, and DBSM and PGR, 3240 clients, transactions in Q2",
                "contention under NODO, very few under the others", sheet.text(nodo, AkaraFigures::inQ2, 0) + "; "
                        + ofBoth(sheet, LOADED, AkaraFigures::inQ2, 1));
        sheet.compare("8a", "NODO, 3240 clients, transactions in Q2", "2481", sheet.text(nodo, AkaraFigures::inQ2, 0));
        sheet.compare("8b", "DBSM, 3240 clients, aborts %", "below 1",
                sheet.text(curve("DBSM").clients(LOADED), AkaraFigures::aborts, 2));
        sheet.compare("8b", "PGR, 3240 clients, aborts %", "below 1",
                sheet.text(curve("PGR").clients(LOADED), AkaraFigures::aborts, 2));
    }

    private String ofBoth(FigurePages sheet, int clients, ToDoubleFunction<RunResult> value, int decimals) {
        return sheet.text(curve("DBSM").clients(clients), value, decimals) + " and "
                + sheet.text(curve("PGR").clients(clients), value, decimals);
    }

    private static double requests(RunResult result) {
        return 60 * result.requestsPerSecond() / result.tpm();
    }

    private Figure waiting() {
        List<String> names = List.of("DBSM", "PGR", "NODO");
        return new Figure("8a", names.stream().map(name -> curve(name).clients(LOADED)).toList(), sheet -> {
            List<List<String>> rows = new ArrayList<>();
            List<String> heading = new ArrayList<>(List.of("mean ms of update transactions"));
            heading.addAll(names);
            rows.add(heading);
            for (Stage stage : Stage.values()) {
                List<String> row = new ArrayList<>(List.of(stage.description()));
                names.forEach(name -> row.add(
                        sheet.text(curve(name).clients(LOADED), result -> stage(result, stage), 2)));
                rows.add(row);
            }
            sheet.heading("Figure 8(a): where time goes with 3240 clients");
            sheet.table("akara-8a", rows);
            sheet.compare("8a", "NODO, 3240 clients, wait in Q2, s", "about 40", sheet.text(
                    curve("NODO").clients(LOADED), result -> stage(result, Stage.ORDERING) / 1000, 1));
            sheet.compare("8a", "DBSM, 3240 clients, wait to be visible, ms", "1000 times less",
                    sheet.text(curve("DBSM").clients(LOADED), result -> stage(result, Stage.DECIDED), 1));
            sheet.compare("Q1", "DBSM, 3240 clients, from asking to commit to its place in the order, ms",
                    "optimistic to final delivery: below 1",
                    sheet.text(curve("DBSM").clients(LOADED), result -> stage(result, Stage.EXECUTED), 2));
        });
    }

    /** Mean over update transactions. */
    private static double stage(RunResult result, Stage stage) {
        double sum = 0;
        long count = 0;
        for (RequestKind kind : RequestKind.values()) {
            if (!kind.readOnly()) {
                RunResult.Outcomes one = result.of(kind);
                long all = one.committed() + one.aborted();
                sum += one.stageMillis()[stage.ordinal()] * all;
                count += all;
            }
        }
        return count == 0 ? 0 : sum / count;
    }

    private Figure fairness() {
        return new Figure("8c", List.of(lockedDelivery.clients(LOADED)), sheet -> {
            FigureRun setting = lockedDelivery.clients(LOADED);
            String all = sheet.text(setting, AkaraFigures::aborts, 2);
            List<List<String>> rows = new ArrayList<>();
            rows.add(List.of("DBSM with a table lock of Delivery, 3240 clients", "aborts %"));
            for (RequestKind kind : RequestKind.DRAWN) {
                if (kind != RequestKind.MAINTENANCE) {
                    rows.add(List.of(kind.label(),
                            sheet.text(setting, result -> 100 * result.of(kind).abortRate(), 2)));
                }
            }
            rows.add(List.of("all", all));
            sheet.heading("Figure 8(c): who is aborted");
            sheet.table("akara-8c", rows);
            sheet.compare("8c", "all, aborts %", "about 5", all);
            sheet.compare("8c", "Delivery, aborts %", "about 99",
                    sheet.text(setting, result -> 100 * result.of(RequestKind.DELIVERY).abortRate(), 2));
        });
    }

    private void compareAkara(FigurePages sheet) {
        sheet.compare("9a", "DBSM, 3240 clients, ms", "about 9",
                sheet.text(curve("DBSM").clients(LOADED), AkaraFigures::latency, 1));
        sheet.compare("9a", "AKARA-25, 3240 clients, ms", "about 178",
                sheet.text(curve("AKARA-25").clients(LOADED), AkaraFigures::latency, 0));
        sheet.compare("9b", "AKARA-25, 3960 clients, tpm", "18,605",
                sheet.text(curve("AKARA-25").clients(SATURATED), RunResult::tpm, 0));
    }

    private Figure table() {
        String[][] paper = {{"178", "16780", "2"}, {"480", "16474", "5"}, {"37255", "3954", "89"},
                {"8151", "9950", "21"}, {"109420", "1597", "21"}, {"295884", "625", "22"}};
        return new Figure(TABLE, akara.values().stream().map(setting -> setting.clients(LOADED)).toList(), sheet -> {
            List<List<String>> rows = new ArrayList<>();
            rows.add(List.of("3240 clients", "latency ms, paper", "here", "tpm, paper", "here", "unsuccessful %, paper",
                    "here"));
            int line = 0;
            for (Map.Entry<String, FigureRun> one : akara.entrySet()) {
                FigureRun setting = one.getValue().clients(LOADED);
                String[] theirs = paper[line++];
                List<String> ours = List.of(sheet.text(setting, AkaraFigures::latency, 0),
                        sheet.text(setting, RunResult::tpm, 0), sheet.text(setting, AkaraFigures::repeated, 1));
                rows.add(List.of(one.getKey(), theirs[0], ours.get(0), theirs[1], ours.get(1), theirs[2], ours.get(2)));
                sheet.compare(TABLE, one.getKey() + ", latency ms", theirs[0], ours.get(0));
                sheet.compare(TABLE, one.getKey() + ", tpm", theirs[1], ours.get(1));
                sheet.compare(TABLE, one.getKey() + ", unsuccessful %", theirs[2], ours.get(2));
            }
            sheet.heading("Table 1");
            sheet.table("akara-table-1", rows);
        });
    }
}
