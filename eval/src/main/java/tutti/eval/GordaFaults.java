package tutti.eval;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import tutti.model.RequestKind;
import tutti.model.RunResult;
import tutti.report.Chart;

/** GORDA D5.1 section 3.5, faults: figures 3.8 to 3.10, tables 3.4 and 3.5. */
final class GordaFaults {
    private static final List<Integer> CLIENTS = List.of(270, 1710, 2970, 3960);
    private static final String FAULTS = "faults";
    private static final String NO_FAULTS = "no faults";
    static final String RANDOM = "[{kind: random-loss, rate: 0.05}]";
    private static final String WHOLE_HISTORY = "workload.whole-history";
    private static final String LOCKS = "database.locks";
    /** Messages of the order, data and positions, that a site receives for each client and second. */
    private static final double MESSAGES_PER_CLIENT = 0.15;
    /** Table 3.5, by column. */
    private static final Map<RequestKind, List<String>> PAPER = paper();
    private static final List<String> PAPER_ALL = List.of("6.72", "11.94", "7.96");

    private final Map<String, FigureRun> termination = new LinkedHashMap<>();
    private final Map<String, FigureRun> performability = new LinkedHashMap<>();
    private final FigureRun oneHistory;

    /** @param transactions of each run */
    GordaFaults(long transactions) {
        Map<String, String> length = Map.of("run.transactions", Long.toString(transactions));
        FigureRun three = new FigureRun("gorda-lan-3", length);
        termination.put(NO_FAULTS, three);
        termination.put("random loss 5%", three.with(FAULTS, RANDOM));
        termination.put("bursty loss 5%", three.with(FAULTS, bursty(1000)));
        FigureRun group = new FigureRun("gorda-lan", length).with("order.kind", "group");
        performability.put("DBSM-g", group.with("protocol.name", "dbsm"));
        performability.put("DBSM-SI", group.with("protocol.name", "si"));
        oneHistory = group.with("protocol.name", "dbsm").with(WHOLE_HISTORY, "true").clients(CLIENTS.getLast());
    }

    private static Map<RequestKind, List<String>> paper() {
        Map<RequestKind, List<String>> paper = new LinkedHashMap<>();
        paper.put(RequestKind.DELIVERY, List.of("1.41", "9.84", "4.46"));
        paper.put(RequestKind.NEW_ORDER, List.of("1.46", "3.38", "1.63"));
        paper.put(RequestKind.PAYMENT, List.of("12.78", "22.54", "14.15"));
        paper.put(RequestKind.ORDER_STATUS, List.of("2.43", "2.93", "1.82"));
        paper.put(RequestKind.STOCK_LEVEL, List.of("0.00", "0.00", "0.00"));
        return paper;
    }

    /** Bursts of five messages on average, one in twenty messages: at the rate at which a site receives them. */
    static String bursty(int clients) {
        long perMessage = (long) (1_000_000 / (MESSAGES_PER_CLIENT * clients));
        return String.format(Locale.ROOT,
                "[{kind: bursty-loss, lost: uniform 0s %dus, received: uniform 0s %dus}]", 2 * 5 * perMessage,
                2 * 95 * perMessage);
    }

    List<Figure> figures() {
        List<Figure> figures = new ArrayList<>();
        List<FigureRun> needs = List.copyOf(termination.values());
        figures.add(new Figure("3.8", needs, this::certification));
        figures.add(new Figure("table 3.4",
                Stream.concat(needs.stream(), needs.stream().map(GordaFaults::measured)).toList(), this::codeTable));
        figures.add(abortTable("table 3.5", "gorda-table-3.5", "as nodes name rows", Map.of()));
        figures.add(abortTable("table 3.5", "gorda-table-3.5-history", "History as one row",
                Map.of(WHOLE_HISTORY, "true")));
        figures.add(abortTable("table 3.5", "gorda-table-3.5-locking", "two-phase locking, readers in the lock table",
                Map.of(LOCKS, "locking")));
        figures.add(abortTable("table 3.5", "gorda-table-3.5-both", "both", Map.of(WHOLE_HISTORY, "true", LOCKS,
                "locking")));
        figures.add(new Figure("table 3.5", List.of(oneHistory),
                sheet -> sheet.compare("table 3.5", "History as one row, 9 sites, 3960 clients, aborts %",
                        "figure 3.10 has below 10", sheet.text(oneHistory, GordaFigures::aborts, 2))));
        performability(figures);
        return figures;
    }

    private void certification(FigurePages sheet) {
        List<Chart.Curve> curves = new ArrayList<>();
        termination.forEach((name, setting) -> curves.add(Findings.ecdf(name, sheet.first(setting).certification())));
        sheet.chart("gorda-3.8",
                new Chart("Certification latency, 3 sites, 1000 clients", "milliseconds", "share", true,
                        false, false, curves));
        List<RunResult> calm = sheet.results(termination.getOrDefault(NO_FAULTS, oneHistory));
        termination.forEach((name, setting) -> {
            if (!name.equals(NO_FAULTS)) {
                Estimate delayed = bySeed(calm, sheet.results(setting), (usual, faulty) -> 100 - 100
                        * faulty.certification().shareWithin(usual.certification().percentileMillis(0.99)));
                sheet.compare("3.8", "transactions delayed by " + name + ", %",
                        name.startsWith("random") ? "30 to 40" : "fewer", delayed.text(1));
            }
        });
    }

    private interface Comparison {
        double of(RunResult calm, RunResult faulty);
    }

    /** Compares the run with faults and the one without of each seed. */
    private static Estimate bySeed(List<RunResult> calm, List<RunResult> faulty, Comparison comparison) {
        return Estimate.of(IntStream.range(0, calm.size()).mapToDouble(i -> comparison.of(calm.get(i), faulty.get(i)))
                .toArray());
    }

    /**
     * The same with the processor time that protocol, group communication and encoding take on this machine. Made after the
     * others, since code that has not been compiled takes twice as long.
     */
    private static FigureRun measured(FigureRun setting) {
        return setting.with("run.charge", "measured");
    }

    private void codeTable(FigurePages sheet) {
        List<String> paper = List.of("1.22", "1.90", "1.89");
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("processor time of real code, %", "paper", "modelled", "measured"));
        termination.forEach((name, setting) -> {
            String theirs = paper.get(rows.size() - 1);
            String here = sheet.text(setting, result -> 100 * result.codeShare(), 2);
            String measured = sheet.text(measured(setting), result -> 100 * result.codeShare(), 3);
            rows.add(List.of(name, theirs, here, measured));
            sheet.compare("table 3.4", name + ", %", theirs, "modelled " + here + ", measured " + measured);
        });
        sheet.heading("Table 3.4");
        sheet.table("gorda-table-3.4", rows);
    }

    private Figure abortTable(String id, String file, String what, Map<String, String> keys) {
        List<FigureRun> settings = termination.values().stream().map(setting -> setting.with(keys)).toList();
        return new Figure(id, settings, sheet -> {
            List<List<String>> rows = new ArrayList<>();
            rows.add(List.of("aborts %, 3 sites, 1000 clients, " + what, "no faults, paper", "here", "random 5%, paper",
                    "here", "bursty 5%, paper", "here"));
            PAPER.forEach((kind, theirs) -> rows
                    .add(row(sheet, kind.label(), theirs, settings, result -> 100 * result.of(kind).abortRate())));
            rows.add(row(sheet, "all", PAPER_ALL, settings, GordaFigures::aborts));
            List<String> names = List.copyOf(termination.keySet());
            for (int i = 0; i < names.size(); i++) {
                sheet.compare(id, what + ", " + names.get(i) + ", all, aborts %", PAPER_ALL.get(i),
                        sheet.text(settings.get(i), GordaFigures::aborts, 2));
            }
            sheet.heading("Table 3.5, " + what);
            sheet.table(file, rows);
        });
    }

    private static List<String> row(FigurePages sheet, String name, List<String> paper, List<FigureRun> settings,
            ToDoubleFunction<RunResult> value) {
        List<String> row = new ArrayList<>(List.of(name));
        for (int i = 0; i < paper.size(); i++) {
            row.add(paper.get(i));
            row.add(sheet.text(settings.get(i), value, 2));
        }
        return row;
    }

    private void performability(List<Figure> figures) {
        Map<String, List<FigureRun>> curves = new LinkedHashMap<>();
        performability.forEach((name, setting) -> {
            curves.put(name, CLIENTS.stream().map(setting::clients).toList());
            curves.put(name + " bursty",
                    CLIENTS.stream().map(count -> setting.clients(count).with(FAULTS, bursty(count))).toList());
            curves.put(name + " random",
                    CLIENTS.stream().map(count -> setting.clients(count).with(FAULTS, RANDOM)).toList());
        });
        List<FigureRun> needs = curves.values().stream().flatMap(List::stream).toList();
        double[] at = CLIENTS.stream().mapToDouble(Integer::doubleValue).toArray();
        figures.add(new Figure("3.9", needs, sheet -> {
            List<Chart.Curve> drawn = new ArrayList<>();
            curves.forEach((name, settings) -> {
                if (!performability.containsKey(name)) {
                    List<FigureRun> faultless = curves.getOrDefault(name.split(" ", 2)[0], List.of());
                    List<Estimate> within = IntStream.range(0, at.length).mapToObj(
                            i -> bySeed(sheet.results(faultless.get(i)), sheet.results(settings.get(i)),
                                    GordaFaults::newOrdersWithin))
                            .toList();
                    drawn.add(FigurePages.curve(name, at, within));
                    sheet.compare("3.9", name + ", 270 and 3960 clients, P(L <= tau)",
                            name.endsWith("random") ? "0.4 and almost 0.05" : "0.6 and 0.1",
                            within.getFirst().text(2) + " and " + within.getLast().text(2));
                }
            });
            sheet.chart("gorda-3.9", new Chart("NewOrders within the faultless 90th percentile", "clients", "P(L ≤ τ)",
                    false, false, true, drawn));
        }));
        figures.add(new Figure("3.10", needs, sheet -> curves.forEach((name, settings) -> {
            if (!performability.containsKey(name)) {
                sheet.compare("3.10a", name + ", 3960 clients, aborts %",
                        name.startsWith("DBSM-SI") ? "below 2" : name.endsWith("bursty") ? "below 5" : "below 10",
                        sheet.text(settings.getLast(), GordaFigures::aborts, 2));
            }
        })));
        figures.add(overFaults("3.10a", "Aborts", "%", needs, curves, at, GordaFigures::aborts));
        figures.add(overFaults("3.10b", "Committed NewOrders", "per minute", needs, curves, at,
                result -> result.of(RequestKind.NEW_ORDER).committed() * 60 / result.seconds()));
    }

    private static double newOrdersWithin(RunResult calm, RunResult faulty) {
        double tau = calm.of(RequestKind.NEW_ORDER).latencies().percentileMillis(0.9);
        return faulty.of(RequestKind.NEW_ORDER).latencies().shareWithin(tau);
    }

    private static Figure overFaults(String id, String title, String up, List<FigureRun> needs,
            Map<String, List<FigureRun>> curves, double[] at, ToDoubleFunction<RunResult> value) {
        return new Figure(id, needs, sheet -> {
            List<Chart.Curve> drawn = new ArrayList<>();
            curves.forEach((name, settings) -> drawn.add(sheet.curve(name, at, settings, value)));
            sheet.chart("gorda-" + id, new Chart(title, "clients", up, false, false, true, drawn));
        });
    }
}
