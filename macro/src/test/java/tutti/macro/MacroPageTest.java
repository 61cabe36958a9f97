package tutti.macro;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The programs of docs/macro.md compile without a warning, and print what the page says. */
@Timeout(60)
class MacroPageTest {
    private static final Path PAGE = Path.of("..", "docs", "macro.md");

    @TempDir
    private Path directory = Path.of("");

    private static List<String> blocks(String kind) throws Exception {
        return Pattern.compile("```" + kind + "\n(.*?)```", Pattern.DOTALL).matcher(Files.readString(PAGE)).results()
                .map((MatchResult block) -> block.group(1)).toList();
    }

    private void compile(String name, String source) throws Exception {
        Path file = Files.writeString(directory.resolve(name + ".java"), source);
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        int status = ToolProvider.getSystemJavaCompiler().run(null, null, errors, "-proc:none", "-Xlint:all,-path",
                "-Werror", "-d", directory.toString(), "-cp", System.getProperty("java.class.path"), file.toString());
        assertEquals(0, status, errors.toString(StandardCharsets.UTF_8));
    }

    /** Of a program the page leaves out what is as in the one before it. */
    @Test
    void theTransactionCompiles() throws Exception {
        compile("Transactions", """
                import java.util.Map;
                import tutti.macro.distribution.*;

                public class Transactions {
                    interface Orchard {
                        static int count(String trees) {
                            return trees.length();
                        }
                    }

                    @SuppressWarnings("unchecked")
                    static Map<String, Integer> stock(MacroNode node) {
                        return node.component("stock", Map.class);
                    }

                    static void run(MacroNode.Builder builder, MacroNode one, MacroNode node) throws Throwable {
                """ + blocks("java").get(3).replace("...\n", "") + "}}");
    }

    @ParameterizedTest
    @CsvSource({"Search,0", "Stock,1"})
    void theProgramPrintsWhatThePageSays(String name, int place) throws Exception {
        compile(name, blocks("java").get(place));
        PrintStream out = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        try (URLClassLoader loader = new URLClassLoader(new URL[]{directory.toUri().toURL()})) {
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            loader.loadClass(name).getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        } finally {
            System.setOut(out);
        }
        assertEquals(blocks("text").get(place), printed.toString(StandardCharsets.UTF_8));
    }
}
