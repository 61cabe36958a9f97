package tutti.sim.world;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tutti.sim.world.mutant.Mutant;
import tutti.sim.world.mutant.Mutants;

/** Whatever is broken on purpose is found soon. The table of who finds what: {@code ./tutti sim mutants}. */
class MutantsTest {
    private static final int SEEDS_MAX = 30;
    private static final int TRANSACTIONS = 500;

    static List<Mutant> mutants() {
        return Mutants.all();
    }

    @ParameterizedTest
    @MethodSource("mutants")
    void isCaught(Mutant mutant) {
        boolean caught = false;
        for (long seed = 1; seed <= SEEDS_MAX && !caught; seed++) {
            caught = !ScenarioRun.run(mutant.scenario(seed, TRANSACTIONS), mutant.mutation().get()).passed();
        }
        assertTrue(caught, mutant.what());
    }
}
