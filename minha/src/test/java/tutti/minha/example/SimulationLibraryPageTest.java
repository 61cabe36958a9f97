package tutti.minha.example;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.io.StringWriter;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.minha.Simulation;
import tutti.minha.rewrite.UnchangedProgram;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Nanos;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Segment;

/** The programs of docs/simulation-library.md compile, and print what the page says. */
class SimulationLibraryPageTest {
    private static final Path PAGE = Path.of("..", "docs", "simulation-library.md");
    private static final Pattern BLOCK = Pattern.compile("```(java|text)\n(.*?)```", Pattern.DOTALL);

    @TempDir
    private Path directory = Path.of("");

    private static List<String> blocks(String kind) throws Exception {
        List<String> found = new ArrayList<>();
        Matcher matcher = BLOCK.matcher(Files.readString(PAGE));
        while (matcher.find()) {
            if (matcher.group(1).equals(kind)) {
                found.add(matcher.group(2));
            }
        }
        return found;
    }

    private void compile(String name, String source) throws Exception {
        Path file = Files.writeString(directory.resolve(name + ".java"), source);
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        int status = ToolProvider.getSystemJavaCompiler().run(null, null, errors, "-proc:none", "-d",
                directory.toString(), "-cp", System.getProperty("java.class.path"), file.toString());
        assertEquals(0, status, errors.toString(StandardCharsets.UTF_8));
    }

    @Test
    void theProgramWithOtherImportsPrintsWhatThePageSays() throws Exception {
        compile("Counter", blocks("java").get(0));
        PrintStream out = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        try (URLClassLoader loader = new URLClassLoader(new URL[]{directory.toUri().toURL()})) {
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            loader.loadClass("Counter").getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        } finally {
            System.setOut(out);
        }
        assertEquals(blocks("text").get(0), printed.toString(StandardCharsets.UTF_8));
    }

    @Test
    void theUnchangedProgramPrintsWhatThePageSays() throws Exception {
        compile("Alarm", blocks("java").get(1));
        UnchangedProgram alarm = UnchangedProgram.of(List.of(directory), "Alarm");
        StringWriter printed = new StringWriter();
        try (Simulation simulation = new Simulation(1)) {
            simulation.setConsole((jvm, line) -> printed.append(jvm.machine().name()).append(": ").append(line)
                    .append('\n'));
            Segment lan = simulation.network().segment("lan",
                    LinkConfig.LAN.withLatency(new Distribution.Constant(20 * Nanos.MILLI)));
            simulation.machine("a", "10.0.0.1", lan, HostConfig.DEFAULT).runFresh("alarm", alarm::newProcess, "b");
            simulation.machine("b", "10.0.0.2", lan, HostConfig.DEFAULT).runFresh("alarm", alarm::newProcess, "a");
            simulation.run();
        }
        assertEquals(blocks("text").get(1), printed.toString());
    }
}
