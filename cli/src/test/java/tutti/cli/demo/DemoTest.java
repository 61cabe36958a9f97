package tutti.cli.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tutti.check.CheckResult;
import tutti.cluster.ClusterSpec;
import tutti.cluster.LoneNode;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.report.RunReport;
import tutti.workload.tpcc.TpccDatabase;
import tutti.workload.tpcc.TpccForm;
import tutti.workload.tpcc.TpccLedger;
import tutti.workload.tpcc.TpccOptions.Placement;
import tutti.workload.tpcc.TpccOptions;
import tutti.workload.tpcc.TpccPopulation;
import tutti.workload.tpcc.TpccResult;
import tutti.workload.tpcc.TpccScale;
import tutti.workload.tpcc.TpccSecond;
import tutti.workload.tpcc.TpccSnapshot;

class DemoTest {
    private final StringWriter shown = new StringWriter();
    private final Screen screen = new Screen(new PrintWriter(shown), false);

    @TempDir
    private Path directory;

    @Test
    void aDemonstrationLoadsRunsChecksAndReports() throws Exception {
        DemoPlan plan = new DemoPlan(1, 1, true, 2, Placement.ROUND_ROBIN, 3, 5, false, TpccForm.INTERACTIVE);
        List<String> command = List.of(System.getProperty("java.home") + "/bin/java", "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1", "-cp",
                System.getProperty("java.class.path"), LoneNode.class.getName());
        ClusterSpec wanted = new ClusterSpec(directory.resolve("cluster"), 1, 0, "si", "tutti", "secret", Map.of(),
                command);
        Path html = directory.resolve("reports/demo.html");
        Path json = directory.resolve("demo.json");

        boolean passed = new Demo(plan, screen).run(wanted, html, json);

        assertTrue(passed, shown::toString);
        assertTrue(Files.readString(html).contains("✓ every check passed"));
        JsonNode numbers = JsonMapper.shared().readTree(Files.readString(json));
        assertTrue(numbers.get("passed").asBoolean());
        assertTrue(numbers.get("latencies").get("NewOrder").get("count").asLong() > 0, numbers::toString);
        assertTrue(numbers.get("samples").size() >= 3, numbers::toString);
        assertTrue(numbers.get("checks").size() >= 3, numbers::toString);
        assertTrue(shown.toString().contains("trans./s"), shown::toString);
        assertTrue(shown.toString().contains("✓ terminals worked to the end"), shown::toString);
    }

    @Test
    void oneViolationFailsTheWhole() {
        CheckResult good = new CheckResult("a", "something", List.of(), List.of(), 1);
        CheckResult bad = new CheckResult("b", "something",
                List.of(new CheckResult.Violation("rule", "table", "differs",
                        1, List.of(Map.of("id", "7")))),
                List.of(), 1);
        assertTrue(report(List.of(good)).passed());
        RunReport failed = report(List.of(good, bad));
        assertFalse(failed.passed());
        assertTrue(String.join("\n", DemoReport.summary(failed, screen)).contains("✗ b: something, 1.0 s"));
        assertTrue(failed.checks().get(2).detail().contains("rule, table: differs\n  {id=7}"));
    }

    private static RunReport report(List<CheckResult> checks) {
        DemoPlan plan = new DemoPlan(3, 1, true, 2, Placement.ROUND_ROBIN, 10, 5, true, TpccForm.INTERACTIVE);
        TpccSecond second = new TpccSecond(1, 1, "node-0", true, 1, 10, 5, 2000, 9000, Map.of("victim", 2L));
        TpccSnapshot total = new TpccSnapshot(1, 10, 5, 0, 0, 0, Map.of("victim", 2L), Map.of(), List.of());
        TpccResult result = new TpccResult(
                TpccOptions.of(List.of(TpccDatabase.of("node-0", "jdbc:postgresql:x")),
                        new TpccPopulation(TpccScale.reduced(1), 1), 2, Duration.ofSeconds(1), 1),
                total, List.of(second), new TpccLedger(new TpccLedger.Baseline(Map.of()), 1, 1),
                Optional.empty());
        return DemoReport.of(new DemoReport.Findings(plan, "now", result, List.of(), List.of(), OptionalDouble.of(2),
                checks));
    }

    @Test
    void theSeedDecidesWhichNodeIsKilled() {
        OptionalInt first = plan(3, 30, 7, true).victim();
        assertEquals(first, plan(3, 30, 7, true).victim());
        assertEquals(OptionalInt.empty(), plan(3, 30, 7, false).victim());
        assertTrue(LongStream.range(0, 50).mapToObj(seed -> plan(3, 30, seed, true).victim()).distinct()
                .count() == 3, "every node's turn comes");
    }

    @Test
    void whatCannotWorkIsRefused() {
        assertTrue(assertThrows(Failure.class, () -> plan(2, 30, 1, true)).getMessage().contains("no majority left"));
        assertTrue(assertThrows(Failure.class, () -> plan(3, 2, 1, true)).getMessage().contains("--no-kill"));
        assertEquals(2, plan(2, 2, 1, false).nodes());
    }

    private static DemoPlan plan(int nodes, int seconds, long seed, boolean kill) {
        return new DemoPlan(nodes, 1, false, 1, Placement.ROUND_ROBIN, seconds, seed, kill, TpccForm.INTERACTIVE);
    }
}
