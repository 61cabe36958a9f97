package tutti.cli.demo;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tutti.cli.NodeCommand;
import tutti.cluster.ClusterSpec;
import tutti.command.Screen;
import tutti.workload.tpcc.TpccForm;
import tutti.workload.tpcc.TpccOptions.Placement;

/** The demonstration with real nodes, in short: processes, their databases, the durable order, a kill and a recovery. */
@Tag("long")
class DemoClusterTest {
    private final StringWriter shown = new StringWriter();

    @TempDir
    private Path directory;

    @ParameterizedTest
    @ValueSource(strings = {"postgres", "h2", "hsqldb"})
    // longer than the demo waits, so that it says what the node has logged
    @Timeout(500)
    void threeNodesStayIdenticalThoughOneIsKilledAndComesBack(String engine) throws Exception {
        DemoPlan plan = new DemoPlan(3, 2, true, 3, Placement.ROUND_ROBIN, 9, 7, true, TpccForm.INTERACTIVE);
        ClusterSpec wanted = new ClusterSpec(directory.resolve("cluster"), 3, 0, "si", "postgres", "secret",
                Map.of(ClusterSpec.ENGINE, engine), NodeCommand.line());
        Path json = directory.resolve("demo.json");

        boolean passed = new Demo(plan, new Screen(new PrintWriter(shown), false))
                .run(wanted, directory.resolve("demo.html"), json);

        assertTrue(passed, shown::toString);
        JsonNode numbers = JsonMapper.shared().readTree(Files.readString(json));
        assertTrue(numbers.get("latencies").get("NewOrder").get("count").asLong() > 0, numbers::toString);
        assertTrue(shown.toString().contains("has caught up"), shown::toString);
        assertTrue(shown.toString().contains("replica comparison of node-0, node-1, node-2"), shown::toString);
    }
}
