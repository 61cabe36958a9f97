package tutti.grid.api;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.runtime.real.FreePorts;

/** The program of docs/grid.md compiles without a warning, and prints what the page says. */
@Timeout(60)
class GridPageTest {
    @TempDir
    private Path directory = Path.of("");

    private static String block(String kind) throws Exception {
        Matcher block = Pattern.compile("```" + kind + "\n(.*?)```", Pattern.DOTALL)
                .matcher(Files.readString(Path.of("..", "docs", "grid.md")));
        assertEquals(true, block.find(), "the page has a block of " + kind);
        return block.group(1);
    }

    @Test
    void theProgramPrintsWhatThePageSays() throws Exception {
        // As it stands, but for its ports: somebody else may use those here.
        List<InetSocketAddress> free = FreePorts.addresses(2);
        String program = block("java").replace("7801", free.get(0).getPort() + "")
                .replace("7802", free.get(1).getPort() + "");
        Path file = Files.writeString(directory.resolve("Shop.java"), program);
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        int status = ToolProvider.getSystemJavaCompiler().run(null, null, errors, "-proc:none", "-Xlint:all,-path",
                "-Werror", "-d", directory.toString(), "-cp", System.getProperty("java.class.path"), file.toString());
        assertEquals(0, status, errors.toString(StandardCharsets.UTF_8));
        PrintStream out = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        try (URLClassLoader loader = new URLClassLoader(new URL[]{directory.toUri().toURL()})) {
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            loader.loadClass("Shop").getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        } finally {
            System.setOut(out);
        }
        assertEquals(block("text"), printed.toString(StandardCharsets.UTF_8));
    }
}
