package tutti.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import picocli.CommandLine;
import tools.jackson.databind.json.JsonMapper;
import tutti.cluster.NodeJvm;

/** Nodes learn, and others take what was learnt. */
@Tag("long")
@Timeout(300)
class TrainCommandTest {
    @Test
    void aNodesVirtualMachineTakesWhatWasLearnt() throws Exception {
        Path cache = NodeJvm.cache().orElseThrow();
        assertTrue(NodeJvm.command().contains("-XX:TieredStopAtLevel=1"),
                "without it, there is no optimising compiler");
        try {
            StringWriter said = new StringWriter();
            CommandLine command = new Tutti().commandLine().setOut(new PrintWriter(said));
            assertEquals(0, command.execute("train", "--seconds", "3", "--json"), said::toString);
            TrainCommand.Trained trained = JsonMapper.shared().readValue(said.toString(), TrainCommand.Trained.class);
            assertEquals(new TrainCommand.Trained(cache.toString(), Files.size(cache)), trained);
            assertTrue(NodeJvm.command().contains("-XX:AOTCache=" + cache));
            assertEquals(0, startsOnlyWithIt());
            Files.setLastModifiedTime(cache, FileTime.fromMillis(0));
            assertFalse(NodeJvm.command().contains("-XX:AOTCache=" + cache), "jars have changed since");
        } finally {
            Files.deleteIfExists(cache);
        }
    }

    /** Exit status of a node's virtual machine that is to fail if it cannot use the cache. */
    private static int startsOnlyWithIt() throws Exception {
        List<String> command = new ArrayList<>(NodeJvm.command());
        command.add(1, "-XX:AOTMode=on");
        command.addAll(List.of("node", "--version"));
        return new ProcessBuilder(command).inheritIO().start().waitFor();
    }
}
