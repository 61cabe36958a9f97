package tutti.cli.pack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With which options a package's start script starts its virtual machine, in whose place here a script tells them. */
class StartScriptTest {
    private static final String SERIAL = "-XX:+UseSerialGC";
    private static final String BESIDE = "-XX:+UseG1GC";
    private static final String JAVA = """
            #!/bin/sh
            for word; do
              if [ "$word" = --java-options ]; then
                echo "$SAID"
                exit "$STATUS"
              fi
            done
            echo "$@"
            """;

    @TempDir
    private Path home;

    @BeforeEach
    void unpack() throws IOException {
        Files.createDirectories(home.resolve("lib"));
        Files.createFile(home.resolve("lib/tutti-server-1.jar"));
        Distribution.resource("tutti.sh", Files.createDirectories(home.resolve("bin")).resolve("tutti"), "rwxr-xr-x");
        Path java = Files.createDirectories(home.resolve("runtime/bin")).resolve("java");
        Files.writeString(java, JAVA);
        assertTrue(java.toFile().setExecutable(true));
    }

    /** The virtual machine's words, where a node says this of its options. */
    private List<String> started(String said, int status, String more, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(home.resolve("bin/tutti").toString()));
        command.addAll(Arrays.asList(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment()
                .putAll(Map.of("SAID", said, "STATUS", Integer.toString(status), "TUTTI_JAVA_OPTIONS", more));
        Process process = builder.start();
        String words = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), words);
        return List.of(words.strip().split("\\s+"));
    }

    @Test
    void aNodeHasTheCollectorThatItAsksFor() throws Exception {
        List<String> words = started(BESIDE, 0, "", "node", "--config", "node.yaml");
        assertTrue(words.contains(BESIDE) && !words.contains(SERIAL), words.toString());
        assertEquals(List.of("tutti.server.NodeProgram", "node", "--config", "node.yaml"),
                words.subList(words.size() - 4, words.size()));
        assertTrue(started(SERIAL, 0, "", "node", "--config", "node.yaml").contains(SERIAL));
    }

    @Test
    void aNodeThatCannotTellIsStartedAllTheSameAndSaysWhy() throws Exception {
        List<String> words = started(BESIDE, 2, "", "node", "--config", "missing.yaml");
        assertTrue(words.contains(SERIAL) && words.contains("missing.yaml"), words.toString());
        assertTrue(started("# Which node this is.", 0, "", "node", "--print-config").contains(SERIAL));
    }

    @Test
    void whoeverNamesACollectorHasThat() throws Exception {
        List<String> words = started(BESIDE, 0, "-XX:+UseZGC -Xlog:gc", "node", "--config", "node.yaml");
        assertTrue(words.contains("-XX:+UseZGC") && !words.contains(BESIDE) && !words.contains(SERIAL),
                words.toString());
        assertTrue(
                started(BESIDE, 0, "-XX:+UseTransparentHugePages", "node", "--config", "node.yaml").contains(BESIDE));
    }

    @Test
    void otherCommandsAskNobody() throws Exception {
        List<String> words = started(BESIDE, 0, "", "status");
        assertTrue(words.contains(SERIAL) && words.contains("tutti.cli.Tutti"), words.toString());
        assertFalse(words.contains(BESIDE), words.toString());
    }
}
