package tutti.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Document;
import org.xml.sax.InputSource;
import tutti.command.Screen;
import tutti.report.Plot;
import tutti.workload.tpcc.TpccScale;

@Tag("long")
class HeapTest {
    private final StringWriter shown = new StringWriter();

    @TempDir
    private Path directory;

    @Test
    void looksAtWhatIsAliveOnANodesHeapWhileItWorks() throws Exception {
        List<String> command = List.of(System.getProperty("java.home") + "/bin/java", "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), "tutti.cluster.LoneNode");
        HeapRun.Found found;
        try (HeapRun run = new HeapRun(new Screen(new PrintWriter(shown), false),
                new ClusterContender(Contender.Kind.B, directory.resolve("cluster"), command), TpccScale.reduced(1))) {
            found = run.run(1, 4, 1, 3);
        }
        assertTrue(found.samples().size() >= 2, shown::toString);
        for (HeapRun.Sample sample : found.samples()) {
            assertEquals("node-0", sample.node());
            assertTrue(sample.liveMiB() > 0.5 && sample.liveMiB() < sample.residentMiB(), sample.toString());
        }
        assertTrue(found.samples().getLast().liveBytesByClass().getOrDefault("java.lang.String", 0L) > 0);
        HeapRun.Sample before = new HeapRun.Sample(0, "n", 1, 1, Map.of("a", 5L, "b", 9L));
        assertEquals(List.of(Map.entry("c", 7L), Map.entry("a", 1L)),
                new HeapRun.Sample(1, "n", 1, 1, Map.of("a", 6L, "b", 8L, "c", 7L)).growthSince(before));
        assertTrue(found.tpcc().total().committed() > 0);
    }

    @Test
    void aTrendIsTheSlopeWithItsUncertainty() {
        double[] at = IntStream.range(0, 30).mapToDouble(i -> 10 * i).toArray();
        Trend line = Trend.of(at, IntStream.range(0, 30).mapToDouble(i -> 5 + 2 * i).toArray());
        assertEquals(12, line.perMinute(), 1e-9);
        assertEquals(0, line.margin(), 1e-9);
        assertTrue(line.grows());
        Trend flat = Trend.of(at, IntStream.range(0, 30).mapToDouble(i -> 5 + i % 2).toArray());
        assertFalse(flat.grows(), flat.toString());
        assertTrue(flat.margin() > 0.05 && flat.margin() < 0.3, flat.toString());
    }

    @Test
    void aPlotCanBeAFileOfItsOwn() throws Exception {
        String svg = new Plot("Heap <live>", "MiB", Plot.Scale.LINEAR, false, 10,
                List.of(new Plot.Line("node-0", 0, false, new double[]{1, 5, 10}, new double[]{3, 4, 3})), List.of())
                .svg();
        Document parsed = DocumentBuilderFactory.newInstance().newDocumentBuilder()
                .parse(new InputSource(new StringReader(svg)));
        assertEquals("svg", parsed.getDocumentElement().getTagName());
        assertTrue(parsed.getDocumentElement().getTextContent().contains("Heap <live>"));
    }
}
