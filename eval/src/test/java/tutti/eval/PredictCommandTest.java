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

    @Test
    void whatTheModelKnowsNothingOfIsRefused() throws Exception {
        assertTrue(run(2, overhead(8, 0, of("B", 144) + "," + of("D", 191))).contains("--machine-cpus"));
        assertTrue(run(2, overhead(1, 0, of("B", 144))).contains("D"));
        assertTrue(run(2, overhead(1, 0, of("B", 144) + "," + of("D", 191)), "--set", "topology.lokal=1ms")
                .contains("did you mean topology.local?"));
        assertTrue(run(2, "nonsense").contains("cannot be read"));
    }
}
