package tutti.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.xml.sax.InputSource;

class HtmlReportTest {
    private static final int SECONDS = 30;

    /** A run like a demo's: a node is down from second 12 to 18 and behind until 24. */
    static RunReport example(boolean passed) {
        SplittableRandom random = new SplittableRandom(7);
        List<RunReport.Sample> samples = new ArrayList<>();
        for (int second = 1; second <= SECONDS; second++) {
            for (int node = 0; node < 3; node++) {
                boolean up = node != 1 || second <= 12 || second > 24;
                boolean answers = node != 1 || second <= 12 || second > 18;
                double rate = up ? 180 + random.nextDouble(60) : 0;
                double p50 = 8 + random.nextDouble(4) + (second == 13 ? 300 : 0);
                Map<String, Long> aborts = up
                        ? Map.of("certification", random.nextLong(9), "first-updater", random.nextLong(20))
                        : Map.of();
                long lag = node == 1 && second > 18 && second <= 24 ? (24 - second) * 450L : random.nextLong(12);
                samples.add(new RunReport.Sample(second, "node-" + node, up, rate, rate * 0.45, up ? p50 : null,
                        up ? p50 * 3 : null, aborts, answers ? second * 600L : null, answers ? lag : null));
            }
        }
        return new RunReport("TPC-C on three nodes <demo>", "2026-01-01T12:00:00Z", passed,
                Map.of("seed", "42"), Map.of("Java", "25"),
                List.of(new RunReport.Figure("tpmC", "NewOrders per minute", 16_204, "tpmC"),
                        new RunReport.Figure("latency_p95_ms", "95th percentile of all", 32.41, "ms"),
                        new RunReport.Figure("recovery_s", "from restart to caught up", 6.2, "s"),
                        new RunReport.Figure("abort_rate", "of all attempts aborted", 3.07, "%")),
                Map.of("NewOrder", new RunReport.Latency(8100, 12.5, 9.1, 20, 32.4, 80, 640)),
                Map.of("certification", 300L, "first-updater", 700L),
                List.of(new RunReport.Check("every table is the same on every node", passed,
                        "9 tables, 1,203,551 rows"),
                        new RunReport.Check("no acknowledged transaction is missing", true, "18,001 entries")),
                List.of(new RunReport.Event(12.3, RunReport.EventKind.DOWN, "node-1 killed"),
                        new RunReport.Event(18.1, RunReport.EventKind.RESTARTED, "node-1 restarted"),
                        new RunReport.Event(24.3, RunReport.EventKind.CAUGHT_UP, "node-1 caught up")),
                samples);
    }

    @Test
    void thePageStandsAlone() throws Exception {
        String page = HtmlReport.write(example(true));
        String written = System.getProperty("tutti.write-report");
        if (written != null) {
            Files.writeString(Path.of(written), page);
        }
        assertFalse(page.contains("http://") || page.contains("https://"), "nothing is fetched");
        assertFalse(page.contains("<script"), "nothing is run");
        assertTrue(page.contains("prefers-color-scheme:dark"));
        assertTrue(page.contains("TPC-C on three nodes &lt;demo&gt;"), "texts are escaped");
    }

    @Test
    void everyPlotIsWellFormedAndMarksEveryEvent() throws Exception {
        Matcher figures = Pattern.compile("<figure>.*?</figure>", Pattern.DOTALL)
                .matcher(HtmlReport.write(example(true)));
        int plots = 0;
        while (figures.find()) {
            plots++;
            String figure = figures.group();
            DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(figure)));
            for (String label : List.of("node-1 killed", "node-1 restarted", "node-1 caught up")) {
                assertTrue(figure.contains(label), label);
            }
            assertFalse(figure.contains("NaN"), "a missing value is a gap");
        }
        assertEquals(4, plots);
    }

    @Test
    void aMissingValueIsAGapInALineAndNothingInAStack() {
        Plot plot = new Plot("t", "u", Plot.Scale.LINEAR, false, 4, List.of(new Plot.Line("a", 0, false,
                new double[]{1, 2, 3, 4}, new double[]{1, Double.NaN, 3, 4})), List.of());
        Matcher path = Pattern.compile("class=\"line c0\" d=\"(M[^\"]+)\"><title>").matcher(plot.html());
        assertTrue(path.find());
        assertEquals(2, path.group(1).chars().filter(c -> c == 'M').count(), path.group(1));
    }

    @Test
    void theVerdictIsShown() {
        assertTrue(HtmlReport.write(example(true)).contains("✓ every check passed"));
        assertTrue(HtmlReport.write(example(false)).contains("✗ 1 of 2 checks failed"));
    }

    @Test
    void numbersReadWell() {
        assertEquals("16,204", Axis.number(16_204));
        assertEquals("32.4", Axis.number(32.41));
        assertEquals("0.05", Axis.number(0.05).substring(0, 4));
        assertEquals(5, Axis.niceStep(3.1));
        assertEquals(200, Axis.niceStep(110));
        assertEquals(1, Axis.niceStep(0.9));
    }

    @Test
    void anEmptyRunHasNoPlots() {
        RunReport empty = new RunReport("t", "now", false, Map.of(), Map.of(), List.of(), Map.of(), Map.of(), List.of(),
                List.of(), List.of());
        assertFalse(HtmlReport.write(empty).contains("<figure>"));
    }
}
