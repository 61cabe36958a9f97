package tutti.cli.torture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tutti.cli.Tutti;

/** The command as a person calls it: with all faults that are possible here, for two minutes; and interrupted. */
@Tag("long")
class TortureTest {
    @TempDir
    private Path directory;

    private Process torture(String... arguments) throws IOException {
        List<String> line = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java", "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1", "-Xmx512m", "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow", "-cp", System.getProperty("java.class.path"),
                Tutti.class.getName(), "torture", "--data", directory.resolve("cluster").toString()));
        line.addAll(List.of(arguments));
        return new ProcessBuilder(line).redirectErrorStream(true)
                .redirectOutput(directory.resolve("said").toFile()).start();
    }

    private String said() throws IOException {
        return Files.readString(directory.resolve("said"));
    }

    @Test
    @Timeout(900)
    void twoMinutesOfAllFaultsLoseNothing() throws Exception {
        Path json = directory.resolve("torture.json");
        Process process = torture("--minutes", "2", "--seed", "1", "--json", json.toString());
        int status = process.waitFor();
        assertEquals(0, status, said());
        JsonNode report = JsonMapper.shared().readTree(Files.readString(json));
        Set<FaultKind> done = EnumSet.noneOf(FaultKind.class);
        report.get("faults").forEach(fault -> done.add(FaultKind.valueOf(fault.get("kind").asString())));
        assertTrue(done.size() > 5, said());
        assertTrue(report.get("checks").size() > 10, said());
        assertTrue(report.get("committed").asLong() > 1_000, said());
    }

    /** Nothing of it is left: no process, no mount. */
    @Test
    @Timeout(300)
    void whenItIsToldToStopItTakesEverythingAway() throws Exception {
        Process process = torture("--minutes", "5", "--faults", "pause");
        while (!said().contains("longest wait")) {
            assertFalse(process.waitFor(100, TimeUnit.MILLISECONDS), said());
        }
        Set<Long> started = new java.util.HashSet<>();
        process.descendants().map(ProcessHandle::pid).forEach(started::add);
        assertTrue(started.size() > 3, said());
        process.destroy();
        process.waitFor();
        try (Stream<ProcessHandle> left = ProcessHandle.allProcesses()) {
            assertEquals(List.of(), left.map(ProcessHandle::pid).filter(started::contains).toList());
        }
        assertFalse(Files.readString(Path.of("/proc/mounts")).contains(directory.toString()), said());
    }
}
