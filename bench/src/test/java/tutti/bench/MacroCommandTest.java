package tutti.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The whole command, with a few rows and for a moment: every kind of system is made, works, and is in the table. */
@Tag("long")
class MacroCommandTest {
    @TempDir
    private Path directory;

    @Test
    @Timeout(60)
    void everySystemIsMeasured() throws Exception {
        Path json = directory.resolve("macro.json");
        StringWriter out = new StringWriter();
        int status = new CommandLine(new MacroCommand()).setOut(new PrintWriter(out)).execute("--here", "--reduced",
                "--mixes", "50/50", "--macrodb", "1,2", "--nodes", "1", "--flat", "1", "--protocols",
                "si,nodo,passive",
                "--replicas", "2", "--clients", "1", "--seconds", "0.05", "--warmup", "0", "--turns", "2", "--svg",
                directory.resolve("macro.svg").toString(), "--json", json.toString());
        assertEquals(0, status, out::toString);
        JsonNode numbers = JsonMapper.shared().readTree(Files.readString(json));
        assertEquals(2, numbers.get("memoryBytes").size());
        assertEquals(5, numbers.get("overhead").get(0).get("micros").size());
        JsonNode measured = numbers.get("measurements");
        assertEquals(3 + 2 * 3, measured.size());
        for (JsonNode system : measured) {
            assertTrue(system.get("perMinute").asDouble() > 0, system::toString);
        }
        assertTrue(Files.readString(directory.resolve("macro.svg")).contains("Flat, 2 masters, nodo"));
        assertTrue(out.toString().contains("with order and certification"), out::toString);
    }

    @Test
    @Timeout(60)
    void writeSetsComeFromStatementsAndDatabasesAreComponents() throws Exception {
        StringWriter out = new StringWriter();
        int status = new CommandLine(new MacroCommand()).setOut(new PrintWriter(out)).execute("--here", "--reduced",
                "--mixes", "8/92", "--macrodb", "1", "--nodes", "1", "--flat", "1", "--components", "2", "--captures",
                "statements", "--replicas", "2", "--clients", "1", "--seconds", "0.2", "--warmup", "0", "--turns", "0",
                "--svg", directory.resolve("macro.svg").toString(), "--json", directory.resolve("m.json").toString());
        assertEquals(0, status, out::toString);
        JsonNode measured = JsonMapper.shared().readTree(directory.resolve("m.json")).get("measurements");
        assertEquals(5, measured.size());
        for (JsonNode system : measured) {
            assertTrue(system.get("perMinute").asDouble() > 0, system::toString);
        }
        assertTrue(out.toString().contains("Components 2 x 2, statements"), out::toString);
    }

    @Test
    void aProtocolThatCannotBeMeasuredIsRefused() {
        StringWriter errors = new StringWriter();
        CommandLine command = new CommandLine(new MacroCommand());
        for (String protocol : List.of("active", "paxos")) {
            command.setExecutionExceptionHandler((failure, _, _) -> {
                errors.append(failure.getMessage());
                return 2;
            });
            assertEquals(2, command.execute("--here", "--protocols", protocol));
            assertTrue(errors.toString().contains(protocol), errors::toString);
        }
    }
}
