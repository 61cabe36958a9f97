package tutti.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tutti.bench.Contender.Kind;
import tutti.command.Screen;
import tutti.report.MeasurementConditions;
import tutti.workload.tpcc.TpccForm;

@Tag("long")
class OverheadTest {
    private final StringWriter shown = new StringWriter();
    private final Screen screen = new Screen(new PrintWriter(shown), false);

    @TempDir
    private Path directory;

    /** The cluster is one node that is a bare PostgreSQL behind a pipe. */
    @Test
    void contendersTakeTurnsAndAreMeasuredAlike() throws Exception {
        OverheadPlan plan = new OverheadPlan(List.of(Kind.E, Kind.A, Kind.B), 1, true, 2, 2, 2, 1, 7,
                TpccForm.INTERACTIVE, 50, "si", 0);
        List<String> command = List.of(System.getProperty("java.home") + "/bin/java", "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), "tutti.cluster.LoneNode");
        Path json = directory.resolve("overhead.json");
        OverheadResult result;
        try (Overhead overhead = new Overhead(plan, screen, MeasurementConditions.look(directory),
                directory.resolve("data"), command,
                json)) {
            result = overhead.run();
        }

        assertEquals(List.of(Kind.A, Kind.B, Kind.E, Kind.A, Kind.B, Kind.E),
                result.measurements().stream().map(OverheadResult.Measurement::contender).toList(), shown.toString());
        for (OverheadResult.Measurement one : result.measurements()) {
            assertTrue(one.committed() > 0 && one.tpmC() > 0, one.toString());
            assertTrue(one.cpuOf("postgres") > 0, one.toString());
            assertEquals(one.contender() == Kind.B, one.cpuOf("java") > 0, one.toString());
            assertTrue(one.clientCpuMillis() > 0, one.toString());
        }
        for (OverheadResult.Summary row : result.summaries()) {
            OverheadResult.Spread ratio = Objects.requireNonNull(row.ratio());
            assertTrue(ratio.min() <= ratio.median() && ratio.median() <= ratio.max(), row.toString());
        }
        List<String> lines = OverheadTable.lines(result, screen);
        assertTrue(lines.get(1).startsWith("(a) PostgreSQL") && lines.get(1).contains("1.00"), lines.toString());
        assertTrue(lines.getLast().contains("(b) at least 0.75 of (a)"), lines.toString());
        JsonNode numbers = JsonMapper.shared().readTree(Files.readString(json));
        assertEquals(6, numbers.get("measurements").size());
        assertEquals("overhead", numbers.get("benchmark").asString());
    }

    @Test
    void ratiosAreThoseOfTheSameRound() {
        OverheadResult.Summary row = OverheadResult.Summary.of(Kind.C,
                List.of(one(Kind.A, 1, 1000), one(Kind.C, 1, 500), one(Kind.E, 1, 250), one(Kind.A, 2, 500),
                        one(Kind.C, 2, 400), one(Kind.E, 2, 500), one(Kind.A, 3, 100), one(Kind.C, 3, 60)));
        assertEquals(new OverheadResult.Spread(0.5, 0.6, 0.8), row.ratio());
        assertEquals(new OverheadResult.Spread(0.8, 1.4, 2), row.ratioToStandbys());
        assertEquals(new OverheadResult.Spread(60, 400, 500), row.tpmC());
    }

    private static OverheadResult.Measurement one(Kind kind, int round, double tpmC) {
        return new OverheadResult.Measurement(kind, round, tpmC, tpmC, 1, 0, Map.of(), Map.of(), 0,
                Map.of(), 0, 0, 0, 0, 0);
    }
}
