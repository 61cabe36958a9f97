package tutti.report;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A run as one page of HTML that needs nothing else: no network, no scripts, no fonts. Made for light and dark, for paper
 * and for narrow windows.
 */
public final class HtmlReport {
    static final String STYLE = """
            :root{color-scheme:light dark;--ink:#1b1f24;--soft:#5d6670;--paper:#fff;--card:#f5f6f8;--edge:#dde1e6;
            --good:#12744a;--bad:#c1272d;--warn:#9a5b00;
            --c0:#3566c8;--c1:#d1661f;--c2:#1f8a70;--c3:#a0459b;--c4:#b58a00;--c5:#c43c5c;--c6:#4f8fb5;--c7:#6b7280}
            @media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#9aa4b0;--paper:#14171b;--card:#1d2126;
            --edge:#333a42;--good:#4cc38a;--bad:#ff7b76;--warn:#e0a340;
            --c0:#7ba4f4;--c1:#f09a5c;--c2:#4fc1a3;--c3:#d38ccf;--c4:#dcb83f;--c5:#f0839b;--c6:#8cc3e3;--c7:#a3acb8}}
            *{box-sizing:border-box}
            body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",
            sans-serif}
            main{max-width:940px;margin:0 auto;padding:2rem 1.2rem 4rem}
            h1{font-size:1.5rem;margin:0 0 .2rem}h2{font-size:1.05rem;margin:2.2rem 0 .6rem}
            p.sub{color:var(--soft);margin:0}
            .verdict{display:inline-block;margin:1rem 0 0;padding:.25rem .8rem;border-radius:1rem;font-weight:600;
            border:1.5px solid currentColor}
            .ok{color:var(--good)}.no{color:var(--bad)}
            .figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:.7rem;margin:1.2rem 0}
            .figure{background:var(--card);border-radius:.5rem;padding:.7rem .9rem}
            .figure b{display:block;font-size:1.45rem;font-weight:600;font-variant-numeric:tabular-nums;
            line-height:1.25}
            .figure span{color:var(--soft);font-size:.85rem}.figure small{font-size:.85rem;font-weight:400}
            figure{margin:0 0 1.6rem}figcaption{font-weight:600;margin-bottom:.2rem}
            figure>svg{width:100%;height:auto;display:block;overflow:visible}
            .legend{display:flex;flex-wrap:wrap;gap:.1rem 1rem;font-size:.85rem;color:var(--soft);margin-bottom:.3rem}
            .legend svg{margin-right:.4rem}
            .grid{stroke:var(--edge);stroke-width:1;fill:none}
            .tick,.unit{fill:var(--soft);font-size:11.5px}.end{text-anchor:end}.mid{text-anchor:middle}
            .line{fill:none;stroke:var(--c);stroke-width:1.9;stroke-linejoin:round;stroke-linecap:round}
            .dashed{stroke-dasharray:4 4;stroke-width:1.5}
            .area{fill:var(--c);fill-opacity:.82;stroke:var(--paper);stroke-width:.6}
            .event{stroke:var(--e);stroke-width:1.2;stroke-dasharray:2 3;fill:none}
            .event-label{fill:var(--e);font-size:11.5px;font-weight:600}
            .down{--e:var(--bad)}.restarted{--e:var(--warn)}.caught-up{--e:var(--good)}
            .c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}.c4{--c:var(--c4)}
            .c5{--c:var(--c5)}.c6{--c:var(--c6)}.c7{--c:var(--c7)}
            .scroll{overflow-x:auto}
            table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
            th,td{padding:.3rem .7rem .3rem 0;text-align:left;border-bottom:1px solid var(--edge);vertical-align:top}
            th{color:var(--soft);font-weight:500;font-size:.85rem}td.n,th.n{text-align:right}
            td:first-child,td.n{white-space:nowrap}td.n,th.n{padding:.3rem 0 .3rem .7rem}
            .two{display:grid;grid-template-columns:repeat(auto-fit,minmax(320px,1fr));gap:0 2rem}
            @media print{main{max-width:none;padding:0}figure,table{break-inside:avoid}}
            """;
    private static final int COLOURS = 8;

    private final RunReport report;
    private final StringBuilder html = new StringBuilder(64 << 10);
    private final List<String> nodes;
    private final double seconds;

    private HtmlReport(RunReport report) {
        this.report = report;
        nodes = report.samples().stream().map(RunReport.Sample::node).distinct().toList();
        seconds = Math.max(1,
                Math.max(report.samples().stream().mapToDouble(RunReport.Sample::atSeconds).max().orElse(1),
                        report.events().stream().mapToDouble(RunReport.Event::atSeconds).max().orElse(1)));
    }

    /** The whole page. */
    public static String write(RunReport report) {
        return new HtmlReport(report).page();
    }

    private String page() {
        html.append("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">")
                .append("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>")
                .append(SvgCanvas.escape(report.title())).append("</title><style>\n").append(STYLE)
                .append("</style></head><body><main>\n");
        head();
        plots();
        latencies();
        aborts();
        checks();
        html.append("<div class=\"two\">");
        pairs("Settings", report.settings());
        pairs("Machine", report.machine());
        html.append("</div></main></body></html>\n");
        return html.toString();
    }

    private void head() {
        html.append("<h1>").append(SvgCanvas.escape(report.title())).append("</h1><p class=\"sub\">")
                .append(SvgCanvas.escape(report.startedAt())).append("</p>");
        long failed = report.checks().stream().filter(check -> !check.passed()).count();
        String verdict = report.passed()
                ? "✓ every check passed"
                : failed == 0
                        ? "✗ the run did not end well"
                        : "✗ " + failed + " of " + report.checks().size()
                                + " checks failed";
        html.append("<p class=\"verdict ").append(report.passed() ? "ok" : "no").append("\">").append(verdict)
                .append("</p><div class=\"figures\">");
        for (RunReport.Figure figure : report.figures()) {
            html.append("<div class=\"figure\"><b>").append(Axis.number(figure.value())).append(" <small>")
                    .append(SvgCanvas.escape(figure.unit())).append("</small></b><span>")
                    .append(SvgCanvas.escape(figure.label())).append("</span></div>");
        }
        html.append("</div>\n");
    }

    private void plots() {
        if (report.samples().isEmpty()) {
            return;
        }
        html.append("<h2>Over time</h2>\n");
        plot("Transactions per second, node on node", "transactions/s", Plot.Scale.LINEAR, true,
                perNode("", false, RunReport.Sample::committedPerSecond));
        List<Plot.Line> latency = new ArrayList<>(perNode(" p95", false, RunReport.Sample::p95Millis));
        latency.addAll(perNode(" p50", true, RunReport.Sample::p50Millis));
        plot("Latency of committed transactions", "milliseconds, logarithmic", Plot.Scale.LOGARITHMIC, false, latency);
        plot("Aborted attempts per second, by cause", "aborts/s", Plot.Scale.LINEAR, true, abortLines());
        plot("Lag behind the most advanced node", "positions of the total order", Plot.Scale.LINEAR, false,
                perNode("", false, sample -> sample.lagPositions() == null ? null : (double) sample.lagPositions()));
    }

    private void plot(String title, String unit, Plot.Scale scale, boolean stacked, List<Plot.Line> lines) {
        html.append(new Plot(title, unit, scale, stacked, seconds, lines, report.events()).html());
    }

    private List<Plot.Line> perNode(String suffix, boolean dashed,
            Function<RunReport.Sample, @Nullable Double> value) {
        List<Plot.Line> lines = new ArrayList<>();
        for (int i = 0; i < nodes.size(); i++) {
            String node = nodes.get(i);
            List<RunReport.Sample> own = report.samples().stream().filter(sample -> sample.node().equals(node))
                    .toList();
            lines.add(new Plot.Line(node + suffix, i % COLOURS, dashed,
                    own.stream().mapToDouble(RunReport.Sample::atSeconds).toArray(),
                    own.stream().mapToDouble(sample -> {
                        Double found = value.apply(sample);
                        return found == null ? Double.NaN : found;
                    }).toArray()));
        }
        return lines;
    }

    private List<Plot.Line> abortLines() {
        TreeSet<String> causes = new TreeSet<>();
        report.samples().forEach(sample -> causes.addAll(sample.aborts().keySet()));
        double[] at = report.samples().stream().filter(sample -> sample.node().equals(nodes.getFirst()))
                .mapToDouble(RunReport.Sample::atSeconds).toArray();
        List<Plot.Line> lines = new ArrayList<>();
        for (String cause : causes) {
            double[] counts = new double[at.length];
            for (RunReport.Sample sample : report.samples()) {
                int second = Arrays.binarySearch(at, sample.atSeconds());
                if (second >= 0) {
                    counts[second] += sample.aborts().getOrDefault(cause, 0L);
                }
            }
            lines.add(new Plot.Line(cause, lines.size() % COLOURS, false, at, counts));
        }
        return lines;
    }

    private void latencies() {
        html.append("<h2>Latency by transaction type, in milliseconds</h2><div class=\"scroll\"><table><tr><th></th>");
        for (String heading : List.of("committed", "mean", "p50", "p90", "p95", "p99", "max")) {
            html.append("<th class=\"n\">").append(heading).append("</th>");
        }
        html.append("</tr>");
        report.latencies().forEach((type, latency) -> {
            html.append("<tr><td>").append(SvgCanvas.escape(type)).append("</td>");
            number((double) latency.count());
            for (double millis : new double[]{latency.meanMillis(), latency.p50Millis(), latency.p90Millis(),
                    latency.p95Millis(), latency.p99Millis(), latency.maxMillis()}) {
                number(millis);
            }
            html.append("</tr>");
        });
        html.append("</table></div>\n");
    }

    private void number(double value) {
        html.append("<td class=\"n\">").append(Axis.number(value)).append("</td>");
    }

    private void aborts() {
        html.append("<h2>Aborted attempts by cause</h2>");
        if (report.aborts().isEmpty()) {
            html.append("<p>None.</p>");
            return;
        }
        long all = report.aborts().values().stream().mapToLong(Long::longValue).sum();
        html.append("<table><tr><th>cause</th><th class=\"n\">attempts</th><th class=\"n\">share, %</th></tr>");
        report.aborts().forEach((cause, count) -> {
            html.append("<tr><td>").append(SvgCanvas.escape(cause)).append("</td>");
            number((double) count);
            number(Math.round(1000.0 * count / all) / 10.0);
            html.append("</tr>");
        });
        html.append("</table>\n");
    }

    private void checks() {
        html.append("<h2>Checks</h2><table><tr><th>verdict</th><th>what must hold</th><th>found</th></tr>");
        for (RunReport.Check check : report.checks()) {
            html.append("<tr><td class=\"").append(check.passed() ? "ok\">✓ holds" : "no\">✗ violated")
                    .append("</td><td>").append(SvgCanvas.escape(check.name())).append("</td><td>")
                    .append(SvgCanvas.escape(check.detail()).replace("\n", "<br>")).append("</td></tr>");
        }
        html.append("</table>\n");
    }

    private void pairs(String heading, Map<String, String> pairs) {
        html.append("<section><h2>").append(heading).append("</h2><table>");
        pairs.forEach((name, value) -> html.append("<tr><td>").append(SvgCanvas.escape(name)).append("</td><td>")
                .append(SvgCanvas.escape(value)).append("</td></tr>"));
        html.append("</table></section>");
    }
}
