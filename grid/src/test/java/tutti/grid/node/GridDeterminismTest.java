package tutti.grid.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tutti.grid.CommitProtocol;
import tutti.grid.IsolationLevel;

/** The same seed gives the same run in any virtual machine: each goes through unordered sets in an order of its own. */
@Tag("long")
class GridDeterminismTest {
    private static final int OTHERS = 2;

    @Test
    void freshVirtualMachinesDoTheSame() throws IOException, InterruptedException {
        List<String> command = List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx512m",
                "-XX:+UseSerialGC", "-cp", System.getProperty("java.class.path"), GridDeterminismTest.class.getName());
        List<Process> others = new ArrayList<>();
        for (int i = 0; i < OTHERS; i++) {
            others.add(new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start());
        }
        String here = fingerprints();
        for (Process other : others) {
            String its = new String(other.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertEquals(0, other.waitFor(), its);
            assertEquals(here, its);
        }
    }

    private static String fingerprints() {
        return run(4, GridSimulationTest.founding(4, IsolationLevel.READ_COMMITTED, true))
                + run(7, GridSimulationTest.setting(7, CommitProtocol.TOM_3, IsolationLevel.SERIALIZABLE, true));
    }

    private static String run(long seed, GridRun.Setting setting) {
        GridRun.Outcome outcome = new GridRun(seed, setting).run();
        return outcome.fingerprint() + ", " + outcome.committed() + " committed, " + outcome.failures() + '\n';
    }

    /** Says what the runs were. */
    public static void main(String[] arguments) {
        System.out.print(fingerprints());
    }
}
