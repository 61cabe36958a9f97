package tutti.macro;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import tutti.macro.example.Components;

/**
 * Whether calls take effect at one moment each. The component is a counter to which each write adds one, so that the
 * result of every call says behind how many writes it stands; a history of such calls is linearizable if and only if the
 * writes' results are 1 to n, no call stands behind more writes than had been invoked when it responded, and no call
 * that was invoked after another one's response stands before it.
 */
@Timeout(60)
class LinearizabilityTest {
    private static final int THREADS = 4;
    private static final int CALLS_PER_THREAD = 15_000;

    /** One call: when it was invoked and responded, and how many writes it saw, itself included. */
    record Done(long invoked, long responded, long saw, boolean write) {}

    static Stream<Arguments> components() {
        return Stream.of(
                Arguments.of("one replica", base(1)), Arguments.of("three replicas", base(3)),
                Arguments.of("executors", base(3).execution(Execution.EXECUTOR)),
                Arguments.of("read all", base(3).readStrategy(ReadStrategy.all())),
                Arguments.of("read many", base(3).readStrategy(ReadStrategy.many(2))),
                Arguments.of("voting", base(3).voting(Voting.majority())),
                Arguments.of("small queue", base(3).queueCapacity(2)),
                Arguments.of("callers run", base(3).queueCapacity(8).overflow(OverflowPolicy.CALLER_RUNS)),
                Arguments.of("exclusive reads",
                        base(2).exclusiveReplica("exclusive", new Counter.Plain())));
    }

    private static MacroComponent.Builder<Counter> base(int replicas) {
        var builder = MacroComponent.of(Counter.class).reads("get.*");
        for (int i = 0; i < replicas; i++) {
            builder.replica("r" + i, new Counter.Plain());
        }
        return builder;
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("components")
    void everyCallTakesEffectAtOneMomentBetweenInvocationAndResponse(String name,
            MacroComponent.Builder<Counter> builder) throws Exception {
        try (var macro = builder.build()) {
            Counter counter = macro.component();
            // Where each call changes threads several times, fewer of them must do.
            int calls = name.startsWith("r") || name.startsWith("v") || name.startsWith("e")
                    ? CALLS_PER_THREAD / 10
                    : CALLS_PER_THREAD;
            List<Done> history = new ArrayList<>();
            for (List<Done> part : inParallel(THREADS, thread -> {
                SplittableRandom random = new SplittableRandom(thread);
                List<Done> done = new ArrayList<>();
                for (int i = 0; i < calls; i++) {
                    boolean write = random.nextInt(3) == 0;
                    long invoked = System.nanoTime();
                    long saw = write ? counter.add(1) : counter.get();
                    done.add(new Done(invoked, System.nanoTime(), saw, write));
                }
                return done;
            })) {
                history.addAll(part);
            }
            assertLinearizable(history);
            assertTrue(macro.awaitAll());
            long writes = history.stream().filter(Done::write).count();
            assertEquals(writes, counter.get());
            macro.replicas().forEach(r -> assertTrue(r.applied() >= writes, r.toString()));
        }
    }

    static void assertLinearizable(List<Done> history) {
        List<Long> writes = history.stream().filter(Done::write).map(Done::saw).sorted().toList();
        for (int i = 0; i < writes.size(); i++) {
            assertEquals(i + 1, writes.get(i), "each write has a result of its own");
        }
        List<Done> byInvocation = history.stream().sorted(Comparator.comparingLong(Done::invoked)).toList();
        List<Done> byResponse = history.stream().sorted(Comparator.comparingLong(Done::responded)).toList();
        int invokedWrites = 0;
        int next = 0;
        for (Done done : byResponse) {
            while (next < byInvocation.size() && byInvocation.get(next).invoked() <= done.responded()) {
                invokedWrites += byInvocation.get(next++).write() ? 1 : 0;
            }
            assertTrue(done.saw() <= invokedWrites, done + " saw a write that nobody had called");
        }
        long latest = 0;
        next = 0;
        for (Done done : byInvocation) {
            while (byResponse.get(next).responded() < done.invoked()) {
                latest = Math.max(latest, byResponse.get(next++).saw());
            }
            assertTrue(done.saw() >= latest + (done.write() ? 1 : 0),
                    done + " was called after a call that saw " + latest);
        }
    }

    interface Part<R> {
        R run(int thread) throws Exception;
    }

    static <R> List<R> inParallel(int threads, Part<R> part) throws Exception {
        CyclicBarrier together = new CyclicBarrier(threads);
        List<FutureTask<R>> tasks = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            int thread = t;
            Callable<R> callable = () -> {
                together.await();
                return part.run(thread);
            };
            FutureTask<R> task = new FutureTask<>(callable);
            tasks.add(task);
            Thread.ofPlatform().daemon().start(task);
        }
        List<R> results = new ArrayList<>();
        for (FutureTask<R> task : tasks) {
            try {
                results.add(task.get(50, TimeUnit.SECONDS));
            } catch (ExecutionException e) {
                throw new AssertionError(e.getCause());
            }
        }
        return results;
    }

    @Test
    void aStaleReadWouldBeFound() {
        List<Done> history = List.of(new Done(0, 1, 1, true), new Done(2, 3, 0, false));
        org.junit.jupiter.api.Assertions.assertThrows(AssertionError.class, () -> assertLinearizable(history));
    }

    @Test
    void mapsOfDifferentKindsStayEqualUnderConcurrentUse() throws Exception {
        Map<Integer, Integer> hash = new HashMap<>();
        Map<Integer, Integer> tree = new TreeMap<>();
        @SuppressWarnings("unchecked")
        Class<Map<Integer, Integer>> type = (Class<Map<Integer, Integer>>) (Class<?>) Map.class;
        try (var macro = MacroComponent.of(type).replica("hash", hash).replica("tree", tree).build()) {
            Map<Integer, Integer> map = macro.component();
            inParallel(THREADS, thread -> {
                SplittableRandom random = new SplittableRandom(thread);
                for (int i = 0; i < 20_000; i++) {
                    int key = random.nextInt(500);
                    switch (random.nextInt(6)) {
                        case 0 -> map.put(key, i);
                        case 1 -> map.remove(key);
                        case 2 -> map.merge(key, 1, Integer::sum);
                        case 3 -> map.entrySet().forEach(e -> assertTrue(e.getKey() < 500));
                        default -> map.get(key);
                    }
                }
                return true;
            });
            assertTrue(macro.awaitAll());
            assertEquals(tree, hash);
            assertEquals(tree, map);
            assertEquals(tree.entrySet(), map.entrySet());
        }
    }

    @Test
    void aCounterMadeOfMapCallsLosesNothing() throws Exception {
        try (var macro = Components.<String, Integer>map().build()) {
            inParallel(THREADS, _ -> {
                for (int i = 0; i < 5000; i++) {
                    macro.component().merge("hits", 1, Integer::sum);
                }
                return true;
            });
            assertEquals(THREADS * 5000, macro.component().get("hits"));
        }
    }
}
