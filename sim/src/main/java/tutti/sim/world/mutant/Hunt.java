package tutti.sim.world.mutant;

import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
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
        return after(mutant, 1, begins);
    }

    /**
     * The same, but looks into one of the scenarios before all others: where the mutant was found before, which spares those in
     * front of it.
     *
     * @param likely number of that scenario, from 1 on; if the mutant is not looked for there, all have their turn as they come
     */
    public static Hunt after(Mutant mutant, int likely, IntConsumer begins) {
        Supplier<Mutation> mutations = mutant.mutations();
        Set<String> others = new TreeSet<>();
        int run = 0;
        for (int number : turns(likely, mutant.within())) {
            run++;
            begins.accept(run);
            Scenario scenario = mutant.where().scenario(mutant.where().firstSeed() + number - 1);
            ScenarioResult result = mutations.get().run(scenario);
            others.addAll(result.failed());
            if (mutant.finder().finds(result)) {
                return new Hunt(mutant, run, true, ScenarioRun.run(scenario).passed(), others);
            }
        }
        return new Hunt(mutant, run, false, true, others);
    }

    private static int[] turns(int likely, int within) {
        IntStream all = IntStream.rangeClosed(1, within);
        if (likely < 1 || likely > within) {
            return all.toArray();
        }
        return IntStream.concat(IntStream.of(likely), all.filter(each -> each != likely)).toArray();
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
