package tutti.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The same seed gives the same run: in this JVM, and in two fresh ones that are as different as options make them (compiler,
 * collector, identity hashes, carriers of virtual threads, locale, time zone).
 */
class DeterminismTest {
    private static final int SEEDS = 6;

    @Tag("long")
    @Test
    void twoFreshJvmsGiveTheSameHashes() throws IOException, InterruptedException {
        Process one = start("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");
        Process two = start("-XX:+UseParallelGC", "-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=2",
                "-Djdk.virtualThreadScheduler.parallelism=1", "-Duser.language=ar", "-Duser.country=EG",
                "-Duser.timezone=Pacific/Auckland");
        List<String> first = output(one);
        List<String> second = output(two);
        assertEquals(first, second);
        assertEquals(LongStream.rangeClosed(1, SEEDS).mapToObj(Scenario::run).toList(), first, "and this one");
        assertEquals(SEEDS, new HashSet<>(first).size(), "different seeds do different things");
    }

    @Test
    void theScenarioDoesSomething() {
        String fingerprint = Scenario.run(3);
        assertTrue(fingerprint.matches(
                "seed 3, [0-9]{4,} events, time 3s, hash [0-9a-f]{16}, .*delivered=[0-9]{3,}.*world: seed 3, [0-9]{4,} events.*"),
                fingerprint);
        assertNotEquals(fingerprint, Scenario.run(4));
    }

    private static Process start(String... options) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of(options));
        command.addAll(List.of("-Xmx256m", "-cp", System.getProperty("java.class.path"), Scenario.class.getName(),
                String.valueOf(SEEDS)));
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    private static List<String> output(Process process) throws IOException, InterruptedException {
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), text);
        return text.lines().toList();
    }
}
