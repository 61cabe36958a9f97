package tutti.eval;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tutti.command.Failure;

class PredictCommandTest {
    @TempDir
    private Path directory = Path.of("");

    private String run(int status, String json, String... more) throws Exception {
        Path file = Files.writeString(directory.resolve("overhead.json"), json);
        StringWriter out = new StringWriter();
        assertEquals(status, new CommandLine(new PredictCommand()).setOut(new PrintWriter(out, true))
                .setExecutionExceptionHandler((failure, _, _) -> {
                    out.append(String.valueOf(failure.getMessage()));
                    return failure instanceof Failure ? 2 : 1;
                }).execute(Stream.concat(Stream.of(file.toString()), Stream.of(more)).toArray(String[]::new)),
                out::toString);
        return out.toString();
    }

    private static String overhead(int terminals, double processors, String contenders) {
        return "{\"plan\": {\"terminals\": " + terminals + ", \"machineCpus\": " + processors
                + ", \"warehouses\": 4, \"readPercent\": 8}, \"measurements\": [" + contenders + "]}";
    }

    private static String of(String contender, double perSecond, double cpuMillis, double orderMillis) {
        String times = ", \"serverCpuMillis\": " + cpuMillis + ", \"orderCpuMillis\": " + orderMillis + "}";
        return of(contender, perSecond).replaceFirst("}$", "") + times;
    }

    private static double predicted(String out) {
        return Double.parseDouble(out.lines().filter(line -> line.startsWith("transactions/s")).findFirst()
                .orElse(out).split("  +", -1)[4].split(" ", -1)[0]);
    }

    private static String of(String contender, double perSecond) {
        return "{\"contender\": \"" + contender + "\", \"transactionsPerSecond\": " + perSecond
                + ", \"latencies\": {\"NewOrder\": {\"p50Millis\": 20}}}";
    }

    @Test
    void oneNodeDoesWhatTheRealOneDoesAndThreeAreComparedWithReality() throws Exception {
        String out = run(0, overhead(8, 0.45, of("B", 144) + "," + of("D", 191)));
        String throughput = out.lines().filter(line -> line.startsWith("transactions/s")).findFirst().orElse(out);
        String[] cells = throughput.split("  +", -1);
        assertEquals("144", cells[1], out);
        assertEquals(144, Double.parseDouble(cells[2].split(" ", -1)[0]), 3, out);
        assertEquals("191", cells[3], out);
        assertTrue(Double.parseDouble(cells[4].split(" ", -1)[0]) > 144, out);
        assertTrue(out.contains("neworder, median ms"), out);
    }

    /** A node that follows takes half of what a transaction takes, so three nodes do at most 3 / (1 + 2 * 0.5 * 0.92) times as much as one. */
    @Test
    void ofWhatOneFollowingTakesThroughputOfThreeFollows() throws Exception {
        String out = run(0, overhead(24, 0.45, of("B", 144, 2.66, 0.12) + "," + of("C", 140, 2.66 * 1.92, 0.6) + ","
                + of("D", 200, 5, 0.6)).replace("\"warehouses\": 4", "\"warehouses\": 400"));
        // (2.66 - (0.22 - 0.13)) / 2 are 1.29 ms
        assertTrue(out.contains("takes 1.07 ms of a processor for a transaction that writes, and 0.22 for its order"),
                out);
        double times = predicted(out) / 144;
        assertEquals(3 / 1.92, times, 0.08, out);
    }

    /** Who works at one node while two others follow waits for them where they have its processors, and for the order's steps. */
    @Test
    void oneTerminalIsHeldUpByFollowersOnItsMachine() throws Exception {
        String one = of("B", 600, 1.2, 0.1) + ",";
        String heavy = one + of("C", 400, 1.2 + 2 * 2 * 0.92, 0.3) + "," + of("D", 400, 5, 0.3);
        double heavily = predicted(run(0, overhead(1, 0, heavy)));
        double apart = predicted(run(0, overhead(1, 0, heavy), "--set", "topology.machines=3"));
        assertTrue(apart > 1.1 * heavily && apart < 600, () -> heavily + " and " + apart);
        assertTrue(run(2, overhead(1, 0, one + of("C", 400, 1.1, 0.3) + "," + of("D", 400, 5, 0.3)))
                .contains("that cannot be"));
    }

    @Test
    void whatTheModelKnowsNothingOfIsRefused() throws Exception {
        assertTrue(run(2, overhead(8, 0, of("B", 144) + "," + of("D", 191))).contains("--machine-cpus"));
        assertTrue(run(2, overhead(1, 0, of("B", 144))).contains("D"));
        assertTrue(run(2, overhead(1, 0, of("B", 144) + "," + of("D", 191)), "--set", "topology.lokal=1ms")
                .contains("did you mean topology.local?"));
        assertTrue(run(2, "nonsense").contains("cannot be read"));
    }
}
