package tutti.cli.torture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.check.CheckResult;
import tutti.command.Failure;

/** Numbers of several runs add up, if they are of the same. */
class TortureReportTest {
    private static final Map<String, String> THREE = Map.of("nodes", "3");

    @TempDir
    private Path directory = Path.of("");

    private static TortureReport of(long seed, FaultKind kind) {
        return new TortureReport("b1", List.of(seed), THREE, List.of("clock"), List.of(kind.label()), 90, 1000,
                List.of(new TortureReport.Done(1, kind, 0, 500, 700, 900, "")),
                List.of(new CheckResult("bank", "9 transfers", List.of(), List.of(), 1)), List.of());
    }

    private static void refused(String why, Runnable action) {
        Failure failure = assertThrows(Failure.class, action::run);
        assertTrue(String.valueOf(failure.getMessage()).contains(why), failure::getMessage);
    }

    @Test
    void whatWasWrittenIsReadAndGoneOnWith() throws IOException {
        Path file = directory.resolve("deep").resolve("torture.json");
        of(1, FaultKind.KILL).write(file);
        TortureReport both = TortureReport.read(file).plus(of(2, FaultKind.PAUSE));
        both.write(file);
        assertEquals(both, TortureReport.read(file));
        assertEquals(List.of(1L, 2L), both.seeds());
        assertEquals(2000, both.committed());
        assertEquals(180, both.seconds());
        assertEquals(List.of("clock"), both.leftOut());
        assertEquals(List.of(FaultKind.KILL, FaultKind.PAUSE),
                both.faults().stream().map(TortureReport.Done::kind).toList());
        assertTrue(both.passed());
        String page = String.join("\n", both.docs());
        assertTrue(page.contains("build `b1`; seeds 1, 2, ") && page.contains("2 faults in 3 min, in 2 runs; 2,000"),
                page);
    }

    @Test
    void whatDoesNotAddUpIsRefused() {
        TortureReport first = of(1, FaultKind.KILL);
        first.requireSame("b1", THREE, 2);
        refused("build b1, and this one is b2", () -> first.requireSame("b2", THREE, 2));
        refused("{nodes=5}", () -> first.requireSame("b1", Map.of("nodes", "5"), 2));
        refused("seed 1 was run already", () -> first.requireSame("b1", THREE, 1));
    }

    @Test
    void whatIsNoSuchFileIsSaid() throws IOException {
        refused("there is no file", () -> read(directory.resolve("none")));
        for (String text : List.of("nonsense", "{}", "[]", "{\"seeds\": [1]}")) {
            Path file = Files.writeString(directory.resolve("other.json"), text);
            refused("is no file of torture", () -> read(file));
        }
    }

    private static void read(Path file) {
        try {
            TortureReport.read(file);
        } catch (IOException impossible) {
            throw new AssertionError(impossible);
        }
    }
}
