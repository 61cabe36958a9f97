package tutti.eval;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;
import tutti.command.Screen;
import tutti.model.RequestKind;
import tutti.model.Latencies;
import tutti.model.RunResult;
import tutti.report.Chart;
import tutti.report.Machine;
import tutti.report.Page;
import tutti.report.Plot;
import tutti.core.protocol.ProtocolDescriptor;
import tutti.core.protocol.Stage;

/** What the runs of a scenario have shown: as lines, as JSON, as a page. */
final class Findings {
    private static final int COLOURS = 8;
    private static final int ECDF_STEPS = 200;

    private final String title;
    private final List<Point> points;

    Findings(String title, List<Point> points) {
        this.title = title;
        this.points = points;
    }

    private record Column(String name, int decimals, ToDoubleFunction<RunResult> value) {}

    private static final List<Column> COLUMNS = List.of(new Column("tpm", 0, RunResult::tpm),
            new Column("mean ms", 2, result -> result.total().latencies().meanMillis()),
            new Column("p50 ms", 2, result -> result.total().latencies().percentileMillis(0.5)),
            new Column("p95 ms", 2, result -> result.total().latencies().percentileMillis(0.95)),
            new Column("aborts %", 2, result -> 100 * result.total().abortRate()),
            new Column("repeated %", 2, result -> 100 * result.total().repeatRate()),
            new Column("cpu %", 1, result -> 100 * result.cpuShare()),
            new Column("real code %", 2, result -> 100 * result.codeShare()),
            new Column("storage %", 1, result -> 100 * result.storageShare()),
            new Column("network KB/s", 0, Findings::kiloBytes));

    private static double kiloBytes(RunResult result) {
        return (double) (result.traffic().localBytes() + result.traffic().wideBytes()) / 1000
                / result.speed().simulatedSeconds();
    }

    /** Whether all replicas have committed the same sequence in all runs. */
    boolean isSafe() {
        return all().allMatch(result -> result.safety().isEmpty());
    }

    private Stream<RunResult> all() {
        return points.stream().flatMap(point -> point.results().stream());
    }

    // ------------------------------------------------------------------------------------------ lines

    List<String> lines(Screen screen) {
        List<String> lines = new ArrayList<>();
        lines.add(screen.bold(title));
        lines.addAll(Screen.table(table()));
        if (points.size() == 1) {
            RunResult first = points.getFirst().results().getFirst();
            lines.add("");
            lines.addAll(Screen.table(kinds(first)));
            first.total().aborts().forEach((cause, count) -> lines.add("aborted, " + cause + ": " + count));
            lines.add("");
            lines.addAll(Screen.table(stages(first, protocol())));
        }
        lines.add("");
        all().filter(result -> !result.safety().isEmpty()).findFirst().ifPresentOrElse(
                result -> lines.add(screen.bad("NOT SAFE: ") + result.safety()),
                () -> lines.add(screen.good("safe: ") + "all replicas committed the same sequence"));
        lines.add(screen.dim(speed()));
        if (points.size() == 1 && points.getFirst().results().size() == 1) {
            lines.add(screen.dim(points.getFirst().results().getFirst().fingerprint()));
        }
        return lines;
    }

    private List<List<String>> table() {
        List<List<String>> rows = new ArrayList<>();
        List<String> heading = new ArrayList<>();
        if (points.size() > 1) {
            points.getFirst().values().keySet().forEach(key -> heading.add(key.substring(key.lastIndexOf('.') + 1)));
        }
        COLUMNS.forEach(column -> heading.add(column.name));
        rows.add(heading);
        for (Point point : points) {
            List<String> row = new ArrayList<>(point.values().values());
            COLUMNS.forEach(column -> row.add(Estimate.of(point.results(), column.value).text(column.decimals)));
            rows.add(row);
        }
        return rows;
    }

    private static List<List<String>> kinds(RunResult result) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("transaction", "committed", "tpm", "mean ms", "p95 ms", "p99 ms", "aborts %"));
        for (RequestKind kind : RequestKind.values()) {
            RunResult.Outcomes one = result.of(kind);
            if (one.committed() + one.aborted() > 0) {
                rows.add(List.of(kind.label(), Long.toString(one.committed()),
                        text(one.committed() * 60 / result.seconds(), 1), text(one.latencies().meanMillis(), 2),
                        text(one.latencies().percentileMillis(0.95), 2),
                        text(one.latencies().percentileMillis(0.99), 2),
                        text(100 * one.abortRate(), 2)));
            }
        }
        return rows;
    }

    /** A stage in words, and which queues of the papers' figures it is made of, if they name any. */
    private static String words(Stage stage, ProtocolDescriptor protocol) {
        String queues = protocol.queues().get(stage);
        return queues == null ? stage.description() : stage.description() + " (" + queues + ")";
    }

    private ProtocolDescriptor protocol() {
        return points.getFirst().scenario().config().protocol().descriptor();
    }

    private static List<List<String>> stages(RunResult result, ProtocolDescriptor protocol) {
        List<List<String>> rows = new ArrayList<>();
        List<RequestKind> kinds = Arrays.stream(RequestKind.values()).filter(kind -> result.of(kind).committed() > 0)
                .toList();
        List<String> heading = new ArrayList<>(List.of("mean ms"));
        kinds.forEach(kind -> heading.add(kind.label()));
        rows.add(heading);
        for (Stage stage : Stage.values()) {
            List<String> row = new ArrayList<>(List.of(words(stage, protocol)));
            kinds.forEach(kind -> row.add(text(result.of(kind).stageMillis()[stage.ordinal()], 2)));
            rows.add(row);
        }
        return rows;
    }

    private String speed() {
        long events = all().mapToLong(result -> result.speed().events()).sum();
        double simulated = all().mapToDouble(result -> result.speed().simulatedSeconds()).sum();
        double real = all().mapToDouble(result -> result.speed().realSeconds()).sum();
        return String.format(Locale.ROOT, "%d runs: %.1f million events in %.1f s, %.0f events/s, %.1f simulated"
                + " seconds per real second of one thread", all().count(), events / 1e6, real, events / real,
                simulated / real);
    }

    private static String text(double value, int decimals) {
        return String.format(Locale.ROOT, "%." + decimals + "f", value);
    }

    // ------------------------------------------------------------------------------------------ JSON

    String json() {
        List<Map<String, Object>> runs = new ArrayList<>();
        for (Point point : points) {
            for (RunResult result : point.results()) {
                runs.add(run(point, result));
            }
        }
        return JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build()
                .writeValueAsString(Map.of("title", title, "runs", runs));
    }

    private static Map<String, Object> run(Point point, RunResult result) {
        Map<String, Object> one = new LinkedHashMap<>();
        one.put("point", point.values());
        one.put("fingerprint", result.fingerprint());
        one.put("safe", result.safety().isEmpty());
        one.put("seconds", result.seconds());
        COLUMNS.forEach(column -> one.put(column.name, column.value.applyAsDouble(result)));
        Map<String, Object> kinds = new LinkedHashMap<>();
        for (RequestKind kind : RequestKind.values()) {
            RunResult.Outcomes outcomes = result.of(kind);
            Map<String, Object> numbers = new LinkedHashMap<>();
            numbers.put("committed", outcomes.committed());
            numbers.put("aborts", outcomes.aborts());
            numbers.put("meanMillis", outcomes.latencies().meanMillis());
            for (double share : new double[]{0.5, 0.9, 0.95, 0.99}) {
                numbers.put("p" + Math.round(100 * share) + "Millis", outcomes.latencies().percentileMillis(share));
            }
            Map<String, Double> stages = new LinkedHashMap<>();
            for (Stage stage : Stage.values()) {
                stages.put(stage.description(), outcomes.stageMillis()[stage.ordinal()]);
            }
            numbers.put("stageMillis", stages);
            kinds.put(kind.label(), numbers);
        }
        one.put("transactions", kinds);
        one.put("samples", result.samples());
        one.put("traffic", result.traffic());
        one.put("speed", result.speed());
        return one;
    }

    // ------------------------------------------------------------------------------------------ HTML

    String html() {
        Page page = new Page(title, "Simulated by tutti sim run; " + speed());
        page.verdict(isSafe(), isSafe() ? "all replicas committed the same sequence" : "replicas differ");
        page.heading("Results").table(table());
        if (points.size() > 1) {
            sweep(page);
        } else {
            single(page, points.getFirst().results().getFirst(),
                    protocol());
        }
        page.heading("Machine").table(Stream.concat(Stream.of(List.of("", "")),
                Machine.describe().entrySet().stream().map(entry -> List.of(entry.getKey(), entry.getValue())))
                .toList());
        return page.html();
    }

    /** Along the first key of the sweep whose values are numbers; one curve for each combination of the others. */
    private void sweep(Page page) {
        List<String> keys = List.copyOf(points.getFirst().values().keySet());
        String along = keys.stream().filter(key -> points.stream().allMatch(point -> isNumber(point.values().get(key))))
                .findFirst().orElse("");
        if (!along.isEmpty()) {
            along(page, along);
        }
        distributions(page, along);
        aborts(page);
    }

    private void along(Page page, String along) {
        page.heading("Plots").beginGrid();
        for (Column column : COLUMNS) {
            Map<String, List<Point>> curves = new LinkedHashMap<>();
            for (Point point : points) {
                Map<String, String> others = new LinkedHashMap<>(point.values());
                others.remove(along);
                curves.computeIfAbsent(others.isEmpty() ? column.name : String.join(", ", others.values()),
                        _ -> new ArrayList<>()).add(point);
            }
            List<Chart.Curve> drawn = new ArrayList<>();
            curves.forEach((name, of) -> drawn.add(new Chart.Curve(name, false,
                    of.stream().mapToDouble(point -> Double.parseDouble(point.values().getOrDefault(along, "0")))
                            .toArray(),
                    of.stream().mapToDouble(point -> Estimate.of(point.results(), column.value).mean()).toArray())));
            page.chart(new Chart(column.name, along, column.name, false, false, true, drawn));
        }
        page.endGrid();
    }

    /**
     * Of all transactions of a point's first run; a chart for each value along which plots go, with a curve for each
     * combination of the others, or one chart if there are no others.
     */
    private void distributions(Page page, String along) {
        Map<String, List<Chart.Curve>> charts = new LinkedHashMap<>();
        for (Point point : points) {
            Map<String, String> others = new LinkedHashMap<>(point.values());
            String value = others.remove(along);
            boolean alone = others.isEmpty();
            if (first(point).total().committed() > 0) {
                charts.computeIfAbsent(value == null || alone
                        ? "Share of transactions that were as fast"
                        : "Share of transactions that were as fast, " + along + " " + value, _ -> new ArrayList<>())
                        .add(ecdf(String.join(", ", alone ? point.values().values() : others.values()),
                                first(point).total().latencies()));
            }
        }
        page.heading("Latency").beginGrid();
        charts.forEach((title, curves) -> page.chart(latencies(title, curves)));
        page.endGrid();
    }

    private static RunResult first(Point point) {
        return point.results().getFirst();
    }

    private static Chart latencies(String title, List<Chart.Curve> curves) {
        return new Chart(title, "milliseconds", "share", true, false, false, curves);
    }

    /** In percent of the transactions that ended. */
    private void aborts(Page page) {
        TreeSet<String> causes = new TreeSet<>();
        all().forEach(result -> causes.addAll(result.total().aborts().keySet()));
        if (causes.isEmpty()) {
            return;
        }
        List<List<String>> rows = new ArrayList<>();
        List<String> heading = new ArrayList<>(points.getFirst().values().keySet().stream()
                .map(key -> key.substring(key.lastIndexOf('.') + 1)).toList());
        heading.addAll(causes);
        rows.add(heading);
        for (Point point : points) {
            List<String> row = new ArrayList<>(point.values().values());
            for (String cause : causes) {
                row.add(Estimate.of(point.results(), result -> {
                    RunResult.Outcomes total = result.total();
                    long ended = total.committed() + total.aborted();
                    return ended == 0 ? 0 : 100.0 * total.aborts().getOrDefault(cause, 0L) / ended;
                }).text(2));
            }
            rows.add(row);
        }
        page.heading("Aborts by cause, percent").table(rows);
    }

    private static boolean isNumber(@Nullable String text) {
        return text != null && text.matches("-?\\d+(\\.\\d+)?");
    }

    private static void single(Page page, RunResult result, ProtocolDescriptor protocol) {
        page.table(kinds(result)).heading("Where time goes, in milliseconds").table(stages(result, protocol));
        page.heading("Latency");
        List<Chart.Curve> curves = new ArrayList<>();
        for (RequestKind kind : RequestKind.values()) {
            if (result.of(kind).committed() > 0) {
                curves.add(ecdf(kind.label(), result.of(kind).latencies()));
            }
        }
        page.chart(latencies("Share of transactions that were as fast", curves));
        page.heading("Over time");
        double[] at = result.samples().stream().mapToDouble(RunResult.Sample::atSeconds).toArray();
        double end = at.length == 0 ? 1 : at[at.length - 1];
        page.plot(plot("Committed transactions", "transactions/s", end,
                List.of(line("committed", 0, at, result, RunResult.Sample::committedPerSecond))));
        TreeSet<String> causes = new TreeSet<>();
        result.samples().forEach(sample -> causes.addAll(sample.aborts().keySet()));
        List<Plot.Line> aborts = new ArrayList<>();
        for (String cause : causes) {
            aborts.add(line(cause, aborts.size() % COLOURS, at, result,
                    sample -> (double) sample.aborts().getOrDefault(cause, 0L)));
        }
        page.plot(plot("Aborts by cause", "aborts in a sample", end, aborts));
        List<Plot.Line> queues = new ArrayList<>();
        for (Stage stage : Stage.values()) {
            queues.add(line(words(stage, protocol), stage.ordinal(), at, result,
                    sample -> (double) sample.stages()[stage.ordinal()]));
        }
        page.plot(plot("Transactions by stage", "transactions", end, queues));
        page.plot(plot("Use of resources", "percent", end,
                List.of(line("processors", 0, at, result, sample -> 100 * sample.cpuShare()),
                        line("storage", 1, at, result, sample -> 100 * sample.storageShare()))));
        page.plot(plot("Jobs that wait for a processor", "jobs", end,
                List.of(line("jobs", 0, at, result, sample -> (double) sample.cpuQueue()))));
        page.plot(plot("Network", "KB/s", end,
                List.of(line("local networks", 0, at, result, sample -> sample.localBytesPerSecond() / 1000),
                        line("wide area", 1, at, result, sample -> sample.wideBytesPerSecond() / 1000))));
    }

    private static Plot plot(String title, String unit, double end, List<Plot.Line> lines) {
        return new Plot(title, unit, Plot.Scale.LINEAR, false, Math.max(end, 1e-9), lines, List.of());
    }

    private static Plot.Line line(String name, int colour, double[] at, RunResult result,
            ToDoubleFunction<RunResult.Sample> value) {
        return new Plot.Line(name, colour, false, at, result.samples().stream().mapToDouble(value).toArray());
    }

    /** The empirical distribution function, up to the 99.9th percentile. */
    static Chart.Curve ecdf(String name, Latencies latencies) {
        double[] at = new double[ECDF_STEPS];
        double[] share = new double[ECDF_STEPS];
        for (int i = 0; i < ECDF_STEPS; i++) {
            share[i] = i == ECDF_STEPS - 1 ? 0.999 : (double) (i + 1) / ECDF_STEPS;
            at[i] = latencies.percentileMillis(share[i]);
        }
        return new Chart.Curve(name, false, at, share);
    }
}
