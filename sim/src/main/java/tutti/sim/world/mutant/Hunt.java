package tutti.sim.world.mutant;

import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import tutti.sim.world.Mutation;
import tutti.sim.world.Scenario;
import tutti.sim.world.ScenarioResult;
import tutti.sim.world.ScenarioRun;

/**
 * What came of looking for a mutant.
 *
 * @param mutant that was looked for
 * @param scenarios that were run with it
 * @param found whether its finder found it in the last of them
 * @param soundPasses whether that scenario passes when nothing is broken; true if it was not found
 * @param others who else found something in these scenarios, by name
 */
public record Hunt(Mutant mutant, int scenarios, boolean found, boolean soundPasses, Set<String> others) {
    public Hunt {
        others = Set.copyOf(others);
    }

    /**
     * Looks for a mutant, in scenario after scenario, until its finder has found it or the stated number is reached.
     *
     * @param begins told the number of each scenario, from 1 on
     * @throws IllegalStateException if a class has changed so that the mutant does not fit any more
     */
    public static Hunt after(Mutant mutant, IntConsumer begins) {
        Supplier<Mutation> mutations = mutant.mutations();
        Set<String> others = new TreeSet<>();
        for (int i = 1; i <= mutant.within(); i++) {
            begins.accept(i);
            Scenario scenario = mutant.where().scenario(mutant.where().firstSeed() + i - 1);
            ScenarioResult result = mutations.get().run(scenario);
            others.addAll(result.failed());
            if (mutant.finder().finds(result)) {
                return new Hunt(mutant, i, true, ScenarioRun.run(scenario).passed(), others);
            }
        }
        return new Hunt(mutant, mutant.within(), false, true, others);
    }

    /** Whether all is as it must be. */
    public boolean succeeded() {
        return found && soundPasses;
    }

    /** What is wrong, in words; empty if nothing is. */
    public String failure() {
        if (!found) {
            return mutant.name() + " was not found by " + mutant.finder() + " in " + scenarios + " scenarios"
                    + (others.isEmpty() ? "; nobody found anything" : "; others found something: " + others);
        }
        return soundPasses ? "" : mutant.name() + " was found in a scenario that fails with nothing broken";
    }
}
