package tutti.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tutti.command.Failure;

/** Nodes that are named by their addresses: each makes a token of its own. */
class ChosenNodesTest {
    @TempDir
    private Path directory;

    private List<String> tokens(int urls, String... tokens) throws IOException {
        List<String> arguments = new ArrayList<>();
        for (int i = 0; i < urls; i++) {
            arguments.addAll(List.of("--url", "http://node-" + i));
        }
        for (String token : tokens) {
            arguments.addAll(
                    List.of("--token-file", Files.writeString(directory.resolve(token), token + "\n").toString()));
        }
        ChosenNodes chosen = new ChosenNodes();
        new CommandLine(chosen).parseArgs(arguments.toArray(String[]::new));
        return chosen.all().stream().map(ChosenNodes.Chosen::token).toList();
    }

    @Test
    void eachHasItsOwnTokenOrAllTheSame() throws Exception {
        assertEquals(List.of("a", "b", "c"), tokens(3, "a", "b", "c"));
        assertEquals(List.of("a", "a"), tokens(2, "a"));
        assertEquals(List.of("", ""), tokens(2));
        assertThrows(Failure.class, () -> tokens(3, "a", "b"));
    }
}
