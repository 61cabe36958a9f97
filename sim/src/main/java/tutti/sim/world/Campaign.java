package tutti.sim.world;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Iterator;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import tutti.sim.fault.FaultPlan;
import tutti.sim.fault.Shrinker;

/** Many scenarios, side by side on several threads, each deterministic by itself; and failing ones made small. */
public final class Campaign {
    /** Scenarios that have run and not been heard of: while a failing one is made small, the threads go on. */
    private static final int UNHEARD_MAX = 1000;

    private Campaign() {}

    /**
     * A scenario that was run.
     *
     * @param result of it
     * @param processorNanos that its thread used
     */
    public record Finished(ScenarioResult result, long processorNanos) {}

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
        run(LongStream.range(firstSeed, firstSeed + seeds).mapToObj(scenario).iterator(), threads, mutation,
                finished -> heard.accept(finished.result()));
    }

    /**
     * Runs scenarios until there are none left. A thread asks for its next one when it begins it, so that whoever gives them can
     * end by the clock.
     *
     * @param scenarios asked by one thread at a time
     * @param threads on which they run
     * @param mutation makes what is broken on purpose, for each run anew
     * @param heard of each as soon as it is there, in their order, on the caller's thread
     */
    public static void run(Iterator<Scenario> scenarios, int threads, Supplier<Mutation> mutation,
            Consumer<Finished> heard) throws InterruptedException {
        Work work = new Work(scenarios);
        ExecutorService workers = Executors.newFixedThreadPool(threads);
        try {
            for (int i = 0; i < threads; i++) {
                workers.execute(() -> work.run(mutation));
            }
            for (Place place = work.begun.take(); place.scenario != null; place = work.begun.take()) {
                heard.accept(place.finished.join());
            }
        } finally {
            // Nobody hears of what runs still, if anything does.
            workers.shutdownNow();
            workers.close();
        }
    }

    /** A scenario's place among all; the last one has none. */
    private record Place(@Nullable Scenario scenario, CompletableFuture<Finished> finished) {}

    /** What the threads share. */
    private static final class Work {
        private final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        private final Iterator<Scenario> scenarios;
        private final BlockingQueue<Place> begun = new LinkedBlockingQueue<>(UNHEARD_MAX);
        private boolean ended;

        Work(Iterator<Scenario> scenarios) {
            this.scenarios = scenarios;
        }

        void run(Supplier<Mutation> mutation) {
            try {
                for (Place place = next(); place.scenario != null; place = next()) {
                    try {
                        long before = clock.getCurrentThreadCpuTime();
                        ScenarioResult result = mutation.get().run(place.scenario);
                        place.finished.complete(new Finished(result, clock.getCurrentThreadCpuTime() - before));
                    } catch (Throwable thrown) {
                        place.finished.completeExceptionally(thrown);
                    }
                }
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
        }

        /** Waits if too much has not been heard. */
        private synchronized Place next() throws InterruptedException {
            Scenario scenario = !ended && scenarios.hasNext() ? scenarios.next() : null;
            Place place = new Place(scenario, new CompletableFuture<>());
            if (!ended) {
                begun.put(place);
            }
            ended |= scenario == null;
            return place;
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
