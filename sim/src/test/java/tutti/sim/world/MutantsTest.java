package tutti.sim.world;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import tutti.sim.world.mutant.Finder;
import tutti.sim.world.mutant.Finder.By;
import tutti.sim.world.mutant.Hunt;
import tutti.sim.world.mutant.Mutant;
import tutti.sim.world.mutant.Mutants;

/**
 * Whatever is broken on purpose is found, by whom it must be, in time, and in a scenario that passes when nothing is broken. The
 * table of who finds what: {@code ./tutti sim mutants}.
 */
class MutantsTest {
    private static final int MUTANTS_MIN = 40;

    /** Of the table that {@code ./tutti sim mutants} makes: name of the mutant, within and found after how many scenarios. */
    private static final Pattern ROW = Pattern
            .compile("(?m)^\\| `([a-z0-9-]+)`: .* \\| (\\d+) of `[^|]* \\| (\\d+) \\|$");

    static Stream<Arguments> all() throws IOException {
        Map<String, Integer> found = lastFound();
        return Mutants.all().stream().map(mutant -> Arguments.of(mutant, found.getOrDefault(mutant.name(), 1)));
    }

    /** By the name of a mutant: the scenario in which it was found when the table on the page was made. */
    static Map<String, Integer> lastFound() throws IOException {
        Map<String, Integer> found = new HashMap<>();
        Matcher rows = ROW.matcher(Files.readString(Path.of("..", "docs", "testing.md")));
        while (rows.find()) {
            found.put(rows.group(1), Integer.valueOf(rows.group(3)));
        }
        return found;
    }

    /** Looked for where it was found last, and then in all scenarios from the first on, as far as its bound goes. */
    @Tag("long")
    @Tag("mutants")
    @Execution(ExecutionMode.CONCURRENT)
    @ParameterizedTest(name = "{0}")
    @MethodSource("all")
    void isFound(Mutant mutant, int last) {
        Hunt hunt = Hunt.after(mutant, last, _ -> {});
        assertEquals("", hunt.failure());
        if (hunt.scenarios() > 1) {
            System.getLogger("mutants").log(System.Logger.Level.WARNING,
                    "{0} is not found in scenario {1} any more: make the table of docs/testing.md anew",
                    mutant.name(), last);
        }
    }

    @Test
    void thePageSaysWhereEachWasFound() throws IOException {
        Set<String> unknown = new HashSet<>();
        Mutants.all().forEach(mutant -> unknown.add(mutant.name()));
        unknown.removeAll(lastFound().keySet());
        assertEquals(Set.of(), unknown, "make the table anew: ./tutti sim mutants --docs docs/testing.md");
    }

    /** A class that has changed so that an edit does not fit any more is noticed with every build. */
    @Test
    void allFitTheClassesThatTheyBreak() {
        assertTrue(Mutants.all().size() >= MUTANTS_MIN, () -> Mutants.all().size() + " mutants");
        Set<String> names = new HashSet<>();
        for (Mutant mutant : Mutants.all()) {
            assertTrue(names.add(mutant.name()), mutant.name());
            assertFalse(mutant.mutations().get().toString().isEmpty());
        }
    }

    @Test
    void anEditThatFitsNoPlaceIsRefused() {
        Mutant unfit = Mutants.find("certification-skipped").elsewhere("conflict", "certify");
        String said = assertThrows(IllegalStateException.class, unfit::mutations).getMessage();
        assertTrue(said.contains("has changed"), said);
    }

    /** What ends a run, or another checker finds, does not count. */
    @Test
    void onlyTheNamedFinderCounts() {
        Mutant skipped = Mutants.find("certification-skipped");
        ScenarioResult result = skipped.mutations().get().run(skipped.where().scenario(1));
        assertFalse(result.passed());
        assertTrue(skipped.finder().finds(result), result.failed()::toString);
        assertFalse(new Finder(By.TOTAL_ORDER, "").finds(result), result.failed()::toString);
        assertFalse(new Finder(By.LIVENESS, "").finds(result), result.why());
        assertFalse(new Finder(skipped.finder().by(), "another rule").finds(result));
    }

    /** The same class files, loaded once more and not edited, run the same. */
    @Test
    void aClassLoaderOfItsOwnChangesNothing() {
        Scenario scenario = new Mutant.Where("si", Map.of(), null, Scenario.OrderKind.RAFT, "all", 300, 1).scenario(3);
        ScenarioResult once = ScenarioRun.run(scenario);
        ScenarioResult again = Mutants.find("certification-skipped").sound().run(scenario);
        assertEquals(once.fingerprint(), again.fingerprint());
        assertEquals(once.counts(), again.counts());
        assertEquals(once.failed(), again.failed());
    }
}
