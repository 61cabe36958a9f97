package tutti.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tutti.bench.ActiveCommand.Mode;
import tutti.bench.ActiveCommand.Row;
import tutti.command.Failure;

class ActiveCommandTest {
    @TempDir
    private Path directory = Path.of("");

    private static String run(int status, ActiveCommand command, String... arguments) {
        StringWriter out = new StringWriter();
        assertEquals(status, new CommandLine(command).setOut(new PrintWriter(out, true))
                .setExecutionExceptionHandler((failure, _, _) -> {
                    out.append(String.valueOf(failure.getMessage()));
                    return failure instanceof Failure ? 2 : 1;
                }).execute(arguments), out::toString);
        return out.toString();
    }

    /** The nodes are bare PostgreSQL servers, to which the mode means nothing; so both of its values are measured. */
    @Tag("long")
    @Test
    void eachSizeIsMeasuredInBothModesByTurns() throws Exception {
        List<String> command = List.of(System.getProperty("java.home") + "/bin/java", "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), "tutti.cluster.LoneNode");
        Path json = directory.resolve("active.json");
        Path data = Files.createDirectory(directory.resolve("data"));
        String out = run(0, new ActiveCommand(command), "--rows", "1,200", "--rounds", "2", "--seconds", "1",
                "--warmup", "1", "--directory", data.toString(), "--json", json.toString());
        List<String> order = new ArrayList<>();
        for (JsonNode row : JsonMapper.shared().readTree(json.toFile()).path("rows")) {
            order.add(row.path("round").asString() + row.path("mode").asString() + row.path("rows").asString());
            assertTrue(row.path("transactions").asInt() > 0 && row.path("medianMillis").asDouble() > 0, row::toString);
        }
        assertEquals(List.of("1PASSIVE1", "1ACTIVE1", "1PASSIVE200", "1ACTIVE200", "2PASSIVE1", "2ACTIVE1",
                "2PASSIVE200", "2ACTIVE200"), order);
        assertTrue(out.contains("active of passive: median"), out);
        try (Stream<Path> left = Files.list(data)) {
            assertEquals(List.of(), left.toList());
        }
    }

    @Test
    void ratiosAreThoseOfTheSameRound() {
        List<Row> rows = List.of(row(Mode.PASSIVE, 1, 2, 1), row(Mode.ACTIVE, 1, 4, 3), row(Mode.PASSIVE, 2, 4, 2),
                row(Mode.ACTIVE, 2, 4, 2), row(Mode.PASSIVE, 3, 1, 4), row(Mode.ACTIVE, 3, 3, 2));
        assertEquals(List.of("7", "2.00 (1.00 to 4.00)", "3.00 (2.00 to 5.00)", "4.00 (3.00 to 4.00)",
                "3.00 (3.00 to 4.00)", "2.00 (1.00 to 3.00)", "1.00 (0.60 to 2.00)"),
                ActiveCommand.table(new int[]{7}, rows).getLast());
    }

    private static Row row(Mode mode, int round, double median, double databaseMillis) {
        return new Row(7, mode, round, 100, median, databaseMillis, 1);
    }

    @Test
    void impossibleSizesAndTimesAreRefused() {
        assertTrue(run(2, new ActiveCommand(), "--rows", "10,0").contains("--rows must be numbers from 1 to 1000000"));
        assertTrue(run(2, new ActiveCommand(), "--seconds", "0").contains("--rounds and --seconds must be 1 or more"));
    }
}
