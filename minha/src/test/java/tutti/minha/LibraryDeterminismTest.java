package tutti.minha;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import tutti.minha.example.Example;
import tutti.minha.example.program.Chat;
import tutti.minha.example.program.Corners;
import tutti.minha.rewrite.UnchangedProgram;
import tutti.sim.net.Impairment;

/** The same seed gives the same run of programs, also in JVMs that differ in all that options can change. */
class LibraryDeterminismTest {
    private static final int SEEDS = 5;

    /** Prints what happens with each of some seeds. */
    public static void main(String[] arguments) {
        runs().forEach(System.out::println);
    }

    private static List<String> runs() {
        List<String> runs = new ArrayList<>();
        for (long seed = 1; seed <= SEEDS; seed++) {
            runs.add(run(seed));
        }
        for (Example example : Example.values()) {
            runs.add(example.run(1, _ -> {}));
        }
        return runs;
    }

    private static UnchangedProgram program(Class<?> main) {
        return UnchangedProgram.of(LibraryDeterminismTest.class.getClassLoader(), main.getName());
    }

    private static String run(long seed) {
        List<String> log = new ArrayList<>();
        UnchangedProgram chat = program(Chat.class);
        UnchangedProgram corners = program(Corners.class);
        try (Simulation simulation = new Simulation(seed)) {
            simulation.setConsole((_, line) -> log.add(line));
            simulation.network().impair(new Impairment(List.of("*"), List.of("*"), new Impairment.Effect.Lose(0.1)),
                    simulation.kernel().random("loss"));
            simulation.machine("server").runFresh("chat", chat::newProcess, "server", "3");
            for (String name : List.of("x", "y", "z")) {
                simulation.machine(name).runFresh("chat", chat::newProcess, "client", "server", name);
            }
            for (String what : List.of("random", "hashes", "monitors", "futures")) {
                simulation.machine("x").runFresh(what, corners::newProcess, what);
            }
            simulation.run();
            return simulation.fingerprint() + " " + log;
        }
    }

    @Test
    void freshJvmsGiveTheSameRuns() throws IOException, InterruptedException {
        Process one = start("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");
        Process two = start("-XX:+UseParallelGC", "-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=2",
                "-Djdk.virtualThreadScheduler.parallelism=1", "-Duser.language=ar", "-Duser.country=EG",
                "-Duser.timezone=Pacific/Auckland");
        List<String> first = output(one);
        assertEquals(first, output(two));
        assertEquals(runs(), first, "and this one");
    }

    private static Process start(String... options) throws IOException {
        List<String> command = Stream.concat(
                Stream.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()),
                Stream.concat(Stream.of(options), Stream.of("-Xmx256m", "-Dstdout.encoding=UTF-8", "-cp",
                        System.getProperty("java.class.path"), LibraryDeterminismTest.class.getName())))
                .toList();
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    private static List<String> output(Process process) throws IOException, InterruptedException {
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), text);
        return text.lines().toList();
    }
}
