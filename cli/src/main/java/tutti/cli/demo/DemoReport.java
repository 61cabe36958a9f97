package tutti.cli.demo;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.stream.Collectors;
import tutti.check.CheckResult;
import tutti.command.Screen;
import tutti.report.Machine;
import tutti.report.RunReport;
import tutti.workload.tpcc.TpccResult;
import tutti.workload.tpcc.TpccSecond;
import tutti.workload.tpcc.TpccSnapshot;

/** Turns what a demonstration found into a report, and into a summary for the terminal. */
final class DemoReport {
    private static final double MICROS_PER_MILLI = 1e3;
    private static final double PERCENT = 100;

    private DemoReport() {}

    /** What a run left behind. */
    record Findings(DemoPlan plan, String startedAt, TpccResult result, List<List<NodeWatch.Look>> looks,
            List<RunReport.Event> events, OptionalDouble recoverySeconds, List<CheckResult> checks) {}

    /** The report. */
    static RunReport of(Findings findings) {
        TpccSnapshot total = findings.result().total();
        List<RunReport.Check> checks = new ArrayList<>();
        checks.add(new RunReport.Check("terminals worked to the end", findings.result().failure().isEmpty(),
                findings.result().failure().orElse(String.format(Locale.ROOT,
                        "%,d transactions acknowledged, %d in doubt when their connection broke, %d given up",
                        total.committed(), total.inDoubt(), total.givenUp()))));
        findings.checks().forEach(check -> checks.add(check(check)));
        Map<String, String> machine = Machine.describe();
        findings.looks().stream().flatMap(List::stream).map(NodeWatch.Look::status).filter(status -> status != null)
                .findFirst().ifPresent(status -> {
                    machine.put("database", status.database());
                    machine.put("Tutti", status.version() + ", protocol " + status.protocol());
                });
        return new RunReport("Tutti demo: TPC-C on " + findings.plan().nodes() + " nodes", findings.startedAt(),
                checks.stream().allMatch(RunReport.Check::passed), findings.plan().settings(), machine,
                figures(findings), latencies(total), total.aborts(), checks, findings.events(), samples(findings));
    }

    private static RunReport.Check check(CheckResult check) {
        StringBuilder detail = new StringBuilder(
                String.format(Locale.ROOT, "%s, %.1f s", check.examined(), check.seconds()));
        check.violations().forEach(violation -> {
            detail.append('\n').append(violation.rule()).append(", ").append(violation.subject()).append(": ")
                    .append(violation.text());
            violation.rows().forEach(row -> detail.append("\n  ").append(row));
        });
        check.notes().forEach(note -> detail.append("\nnote: ").append(note));
        return new RunReport.Check(check.check(), check.passed(), detail.toString());
    }

    private static List<RunReport.Figure> figures(Findings findings) {
        TpccSnapshot total = findings.result().total();
        List<RunReport.Figure> figures = new ArrayList<>();
        figures.add(new RunReport.Figure("tpmc", "NewOrders per minute", Math.rint(total.tpmC()), "tpmC"));
        double seconds = Math.max(1e-9, total.elapsedSeconds());
        figures.add(new RunReport.Figure("transactions_per_second", "transactions of all types",
                Math.rint(total.committed() / seconds), "per s"));
        figures.add(new RunReport.Figure("committed", "transactions acknowledged", total.committed(), ""));
        figures.add(new RunReport.Figure("aborted_percent", "of all attempts aborted", PERCENT * total.abortRate(),
                "%"));
        findings.recoverySeconds().ifPresent(recovery -> figures.add(new RunReport.Figure("recovery_seconds",
                "from restart to caught up", recovery, "s")));
        return figures;
    }

    private static Map<String, RunReport.Latency> latencies(TpccSnapshot total) {
        Map<String, RunReport.Latency> latencies = new LinkedHashMap<>();
        total.latencies().forEach((type, latency) -> latencies.put(type.label(),
                new RunReport.Latency(latency.count(), latency.meanMicros() / MICROS_PER_MILLI,
                        latency.p50Micros() / MICROS_PER_MILLI, latency.p90Micros() / MICROS_PER_MILLI,
                        latency.p95Micros() / MICROS_PER_MILLI, latency.p99Micros() / MICROS_PER_MILLI,
                        latency.maxMicros() / MICROS_PER_MILLI)));
        return latencies;
    }

    /** The series has one entry per second and node; what was seen of the nodes belongs to the same seconds. */
    private static List<RunReport.Sample> samples(Findings findings) {
        int nodes = findings.plan().nodes();
        List<RunReport.Sample> samples = new ArrayList<>();
        for (int i = 0; i < findings.result().series().size(); i++) {
            TpccSecond second = findings.result().series().get(i);
            int tick = i / nodes;
            NodeWatch.Look look = tick < findings.looks().size()
                    ? findings.looks().get(tick).get(i % nodes)
                    : new NodeWatch.Look(null, null);
            boolean worked = second.committed() > 0;
            samples.add(new RunReport.Sample(second.atSeconds(), second.node(), second.up(), second.perSecond(),
                    second.newOrders() / second.seconds(), worked ? second.p50Micros() / MICROS_PER_MILLI : null,
                    worked ? second.p95Micros() / MICROS_PER_MILLI : null, second.aborts(),
                    look.status() == null ? null : (Long) look.status().positions().applied(), look.lagPositions()));
        }
        return samples;
    }

    /** The summary for people, line by line. */
    static List<String> summary(RunReport report, Screen screen) {
        List<String> lines = new ArrayList<>();
        lines.add("");
        lines.add(report.figures().stream().map(figure -> String.format(Locale.ROOT, "%s%s %s",
                screen.bold(String.format(Locale.ROOT, figure.value() == Math.rint(figure.value()) ? "%,.0f" : "%,.1f",
                        figure.value())),
                figure.unit().isEmpty() ? "" : " " + figure.unit(), figure.label()))
                .collect(Collectors.joining(" · ")));
        lines.add("");
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("latency, ms", "committed", "p50", "p90", "p95", "p99", "max"));
        report.latencies().forEach((type, latency) -> rows.add(List.of(type, String.valueOf(latency.count()),
                millis(latency.p50Millis()), millis(latency.p90Millis()), millis(latency.p95Millis()),
                millis(latency.p99Millis()), millis(latency.maxMillis()))));
        lines.addAll(Screen.table(rows));
        lines.add("");
        lines.add("aborted attempts by cause: " + (report.aborts().isEmpty()
                ? "none"
                : report.aborts().entrySet().stream().map(entry -> entry.getKey() + " " + entry.getValue())
                        .collect(Collectors.joining(", "))));
        lines.add("");
        for (RunReport.Check check : report.checks()) {
            lines.add((check.passed() ? screen.good("✓ ") : screen.bad("✗ ")) + check.name() + ": "
                    + check.detail().replace("\n", System.lineSeparator() + "    "));
        }
        return lines;
    }

    private static String millis(double millis) {
        return String.format(Locale.ROOT, "%.1f", millis);
    }
}
