package tutti.minha.rewrite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import tutti.minha.Simulation;
import tutti.minha.example.program.Chat;
import tutti.minha.example.program.Corners;
import tutti.sim.kernel.Label;
import tutti.sim.net.Impairment;

/** Programs for the JDK, in the simulation as they are. */
class UnchangedProgramTest {
    private static UnchangedProgram program(Class<?> main) {
        return UnchangedProgram.of(UnchangedProgramTest.class.getClassLoader(), main.getName());
    }

    private static List<String> corner(long seed, String what, int machines) {
        List<String> log = new ArrayList<>();
        UnchangedProgram program = program(Corners.class);
        try (Simulation simulation = new Simulation(seed)) {
            simulation.setConsole((_, line) -> log.add(line));
            for (int i = 0; i < machines; i++) {
                simulation.machine("m" + i).runFresh("corners", program::newProcess, what);
            }
            simulation.runFor(Duration.ofSeconds(10));
            assertEquals("", simulation.describe());
        }
        return log;
    }

    @Test
    void eachProcessHasStaticVariablesOfItsOwn() {
        assertEquals(List.of("runs 1", "runs 1"), corner(1, "statics", 2));
    }

    @Test
    void timeIsVirtual() {
        assertEquals(List.of("1500", "15 1970-01-01 15 \"java/lang/Thread\" 16"), corner(1, "time", 1));
    }

    @Test
    void whatIsRandomFollowsFromTheSeed() {
        List<String> first = corner(1, "random", 2);
        assertEquals(first, corner(1, "random", 2));
        assertNotEquals(first, corner(2, "random", 2));
        assertNotEquals(first.get(0), first.get(1));
    }

    @Test
    void hashCodesAndTheOrderOfCollectionsAreTheSameInEachRun() {
        List<String> first = corner(1, "hashes", 1);
        assertEquals(first, corner(1, "hashes", 1));
        String numbers = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]";
        assertTrue(first.getFirst().matches("\\Q" + numbers + "\\E [0-9]+ tutti[^ ]*Corners@[0-9a-f]+ \\Q" + numbers
                + "\\E \\[4, 2, 3]"), first.toString());
    }

    @Test
    void monitorsExcludeAndWait() {
        assertEquals(List.of("thirty", "30 30 false", "true", "current thread is not owner"),
                corner(1, "monitors", 1));
    }

    @Test
    void completableFuturesWaitInVirtualTime() {
        assertEquals(List.of("3 3", "timed out", "java.util.concurrent.TimeoutException at 22"),
                corner(1, "futures", 1));
    }

    @Test
    void whoWaitsByLookingComesToAnEnd() {
        assertEquals(List.of("seen true"), corner(1, "spin", 1));
    }

    @Test
    void whatIsNotSimulatedIsRefusedWithThePlaceAndARemedy() {
        assertEquals(List.of(
                "java.util.concurrent.Phaser, called in tutti.minha.example.program.Corners.refused, is not simulated:"
                        + " use CyclicBarrier",
                "java.lang.Thread.getAllStackTraces, called in tutti.minha.example.program.Corners.refused, is not"
                        + " simulated: its mirror tutti.minha.jdk.lang.Thread does not have it"),
                corner(1, "refused", 1));
    }

    @Test
    void aProgramThatCatchesEverythingEndsWithItsMachine() {
        List<String> log = new ArrayList<>();
        try (Simulation simulation = new Simulation(1)) {
            simulation.setConsole((_, line) -> log.add(line));
            simulation.machine("a").runFresh("corners", program(Corners.class)::newProcess, "endless");
            simulation.kernel().schedule(25_000_000, Label.of("test", "crash"),
                    () -> simulation.machine("a").host().crash());
            simulation.run();
        }
        assertEquals(List.of("tick", "tick"), log);
    }

    @Test
    void exitRunsHooks() {
        assertEquals(List.of("hook"), corner(1, "exit", 1));
    }

    private static String chat(long seed, double loss) {
        List<String> log = new ArrayList<>();
        UnchangedProgram program = program(Chat.class);
        try (Simulation simulation = new Simulation(seed)) {
            simulation.setConsole((_, line) -> log.add(line));
            simulation.network().impair(
                    new Impairment(List.of("*"), List.of("*"), new Impairment.Effect.Lose(loss)),
                    simulation.kernel().random("loss"));
            simulation.machine("server").runFresh("chat", program::newProcess, "server", "3");
            for (String name : List.of("x", "y", "z")) {
                simulation.machine(name).runFresh("chat", program::newProcess, "client", "server", name);
            }
            simulation.run();
            assertEquals("", simulation.describe(), log.toString());
            assertEquals(List.of("server heard 3", "x read [x, y, z]", "y read [x, y, z]", "z read [x, y, z]"),
                    log.stream().sorted().toList());
            return simulation.fingerprint() + log;
        }
    }

    @Test
    void aServerAndItsClientsTalkOverALossyNetwork() {
        for (long seed = 1; seed <= 5; seed++) {
            assertEquals(chat(seed, 0.2), chat(seed, 0.2), "the same run");
        }
        assertNotEquals(chat(1, 0), chat(1, 0.2));
    }

    @Test
    void aClassPathThatIsNotThereIsRefused() {
        assertTrue(assertThrows(IllegalArgumentException.class,
                () -> UnchangedProgram.of(List.of(Path.of("not-there.jar")), "Main")).getMessage()
                .contains("not-there.jar in the class path does not exist"));
        assertTrue(assertThrows(IllegalArgumentException.class,
                () -> UnchangedProgram.of(UnchangedProgramTest.class.getClassLoader(), "Missing")).getMessage()
                .contains("class Missing is not in the program's class path"));
    }

    @Test
    void typesAreRenamedWhereTheyAreNamesAndNowhereElse() {
        Map<String, String> names = Map.of("a/B", "x/Y");
        assertEquals("x/Y", TypeRenamer.rename("a/B", names));
        assertEquals("(ILx/Y;[Lx/Y;La/BC;)V", TypeRenamer.rename("(ILa/B;[La/B;La/BC;)V", names));
        assertEquals("Ljava/util/List<Lx/Y;>;", TypeRenamer.rename("Ljava/util/List<La/B;>;", names));
        assertEquals("a/B/C", TypeRenamer.rename("a/B/C", names));
        assertEquals("see a/B", TypeRenamer.rename("see a/B", names));
    }
}
