package tutti.server;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;
import tutti.command.Program;

/** A node says with which collector it is to be started, by its configuration. */
class NodeCollectorTest {
    @TempDir
    private Path directory;

    private String said(String yaml) throws Exception {
        Path config = Files.writeString(directory.resolve("node.yaml"), "node: 0\ndata: data\n"
                + "members:\n  - {id: 0, name: one, order: \"127.0.0.1:7000\", http: \"127.0.0.1:7001\"}\n" + yaml);
        StringWriter out = new StringWriter();
        CommandLine command = new NodeProgram().commandLine();
        command.setOut(new PrintWriter(out));
        assertEquals(Program.OK, command.execute("node", "--config", config.toString(), "--java-options"));
        return out.toString().strip();
    }

    @ParameterizedTest
    @CsvSource({"h2, -XX:+UseG1GC", "hsqldb, -XX:+UseG1GC", "postgres, -XX:+UseSerialGC"})
    void rowsOnTheHeapAreLookedThroughBesideTheNode(String engine, String collector) throws Exception {
        assertEquals(collector, said("engine: " + engine + "\n"));
    }

    @Test
    void aServerIsTheDefault() throws Exception {
        assertEquals("-XX:+UseSerialGC", said(""));
    }
}
