package tutti.sim.world;

import java.util.ArrayDeque;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.function.Supplier;
import tutti.sim.fault.FaultPlan;
import tutti.sim.fault.Shrinker;

/** Many scenarios, side by side on several threads, each deterministic by itself; and failing ones made small. */
public final class Campaign {
    private Campaign() {}

    /**
     * Runs scenarios.
     *
     * @param scenario by seed
     * @param firstSeed of the first
     * @param seeds how many
     * @param threads on which they run
     * @param mutation makes what is broken on purpose, for each run anew
     * @param heard of each result as soon as it is there, in order of seed, from one thread at a time
     */
    public static void run(LongFunction<Scenario> scenario, long firstSeed, int seeds, int threads,
            Supplier<Mutation> mutation,
            Consumer<ScenarioResult> heard) throws InterruptedException {
        try (ExecutorService workers = Executors.newFixedThreadPool(threads)) {
            ArrayDeque<Future<ScenarioResult>> results = new ArrayDeque<>();
            for (int i = 0; i < seeds; i++) {
                long seed = firstSeed + i;
                results.add(workers.submit(() -> mutation.get().run(scenario.apply(seed))));
            }
            try {
                while (!results.isEmpty()) {
                    heard.accept(results.remove().get());
                }
            } catch (ExecutionException e) {
                throw new CompletionException(e.getCause());
            } finally {
                workers.shutdownNow();
            }
        }
    }

    /**
     * The smallest plan found with which a scenario still fails in the same way: one of the checks that failed fails again.
     *
     * @param runsMax how many runs may be spent, at least 1
     */
    public static ScenarioResult shrink(ScenarioResult failing, Supplier<Mutation> mutation, int runsMax) {
        ScenarioResult[] smallest = {failing};
        Shrinker.Result small = Shrinker.shrink(failing.scenario().plan(), plan -> {
            ScenarioResult again = mutation.get().run(failing.scenario().withPlan(plan));
            boolean fails = again.failed().stream().anyMatch(failing.failed()::contains);
            if (fails) {
                smallest[0] = again;
            }
            return fails;
        }, runsMax);
        FaultPlan plan = small.plan();
        return smallest[0].scenario().plan().equals(plan)
                ? smallest[0]
                : mutation.get().run(failing.scenario().withPlan(plan));
    }
}
