package tutti.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a node's virtual machine is started with. */
@Timeout(60)
class NodeJvmTest {
    private static final Path LARGE_PAGES = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");

    private static String says(String... options) throws Exception {
        List<String> command = new ArrayList<>(NodeJvm.command());
        command.addAll(1, List.of(options));
        command.addAll(List.of("node", "--version"));
        Process node = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(node.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, node.waitFor(), said);
        return said;
    }

    @Test
    void itKnowsAllItsOptionsAndWarnsOfNone() throws Exception {
        String said = says();
        assertFalse(said.contains("warning"), said);
    }

    @Test
    void itHasLargePagesWhereTheSystemGivesThemToWhoeverAsks() throws Exception {
        boolean given = Files.exists(LARGE_PAGES) && !Files.readString(LARGE_PAGES).contains("[never]");
        String said = says("-XX:+PrintFlagsFinal");
        assertEquals(given, said.lines().anyMatch(line -> line.matches(".*UseTransparentHugePages +.*= true .*")));
    }
}
