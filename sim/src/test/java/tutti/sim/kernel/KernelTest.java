package tutti.sim.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class KernelTest {
    private static final Label A = Label.of("test", "a");
    private static final Label B = Label.of("test", "b");

    @Test
    void eventsHappenInTheOrderOfTimeAndThenOfScheduling() {
        Kernel kernel = new Kernel(1);
        RandomStream random = kernel.random("times");
        record Planned(long time, int number) {}
        List<Planned> planned = new ArrayList<>();
        List<Planned> happened = new ArrayList<>();
        for (int i = 0; i < 5000; i++) {
            Planned event = new Planned(random.nextLong(300), i);
            planned.add(event);
            kernel.schedule(event.time, A, () -> {
                assertEquals(event.time, kernel.now());
                happened.add(event);
            });
        }
        kernel.run();
        planned.sort(Comparator.comparingLong(Planned::time).thenComparingInt(Planned::number));
        assertEquals(planned, happened);
        assertEquals(5000, kernel.executed());
    }

    /** Delays of every magnitude, from within events and between runs, cancelled or not, against a sorted set. */
    @Test
    void whateverIsScheduledHappensAsASortedSetHasIt() {
        record Planned(long time, long handle) {}
        for (int seed = 0; seed < 50; seed++) {
            Kernel kernel = new Kernel(seed);
            RandomStream random = kernel.random("model");
            TreeSet<Planned> model = new TreeSet<>(
                    Comparator.comparingLong(Planned::time).thenComparingLong(Planned::handle));
            Runnable[] schedules = new Runnable[1];
            int[] left = {2000};
            schedules[0] = () -> {
                for (int i = random.nextInt(4); i > 0 && left[0] > 0; i--) {
                    left[0]--;
                    long time = kernel.now() + (random.chance(0.2) ? 0 : random.nextLong(1L << random.nextInt(50)));
                    long[] handle = {0};
                    handle[0] = kernel.schedule(time - kernel.now(), A, () -> {
                        assertEquals(time, kernel.now());
                        assertEquals(model.pollFirst(), new Planned(time, handle[0]));
                        schedules[0].run();
                    });
                    model.add(new Planned(time, handle[0]));
                }
                if (!model.isEmpty() && random.chance(0.3)) {
                    List<Planned> all = List.copyOf(model);
                    Planned cancelled = all.get(random.nextInt(all.size()));
                    assertTrue(kernel.cancel(cancelled.handle));
                    model.remove(cancelled);
                }
                assertEquals(model.size(), kernel.pending());
            };
            while (left[0] > 0 || !model.isEmpty()) {
                schedules[0].run();
                long until = kernel.now() + random.nextLong(1L << random.nextInt(50));
                kernel.runUntil(until);
                assertTrue(model.isEmpty() || model.getFirst().time > until);
            }
        }
    }

    @Test
    void cancelledEventsDoNotHappenAndOthersDo() {
        Kernel kernel = new Kernel(7);
        RandomStream random = kernel.random("cancel");
        List<Integer> expected = new ArrayList<>();
        List<Integer> happened = new ArrayList<>();
        record Timer(long handle, int number) {}
        List<Timer> timers = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            int number = i;
            timers.add(new Timer(kernel.schedule(1 + random.nextLong(1_000_000), A, () -> happened.add(number)), i));
        }
        random.shuffle(timers);
        for (Timer timer : timers.subList(0, 19_000)) {
            assertTrue(kernel.cancel(timer.handle));
            assertFalse(kernel.cancel(timer.handle), "only once");
        }
        timers.subList(19_000, 20_000).forEach(timer -> expected.add(timer.number));
        assertEquals(1000, kernel.pending());
        kernel.run();
        happened.sort(Comparator.naturalOrder());
        expected.sort(Comparator.naturalOrder());
        assertEquals(expected, happened);
        assertEquals(0, kernel.pending());
        assertFalse(kernel.cancel(timers.getLast().handle), "it has happened");
    }

    @Test
    void aHandleOfTheFirstLifeOfASlotDoesNotCancelTheSecond() {
        Kernel kernel = new Kernel(1);
        long first = kernel.schedule(1, A, () -> {});
        assertTrue(kernel.cancel(first));
        long second = kernel.schedule(1, A, () -> {});
        assertNotEquals(first, second);
        assertFalse(kernel.cancel(first));
        kernel.run();
        assertEquals(1, kernel.executed());
        assertFalse(kernel.cancel(Kernel.NO_EVENT));
    }

    @Test
    void cancellingManyDoesNotChangeWhatFollows() {
        assertEquals(hashWithCancellations(0), hashWithCancellations(5000));
    }

    private static long hashWithCancellations(int cancellations) {
        Kernel kernel = new Kernel(3);
        RandomStream random = kernel.random("x");
        for (int i = 0; i < 1000; i++) {
            kernel.schedule(random.nextLong(1000), A, _ -> {}, i);
        }
        for (int i = 0; i < cancellations; i++) {
            kernel.cancel(kernel.schedule(random.nextLong(1000), B, () -> {}));
        }
        kernel.run();
        return kernel.hash();
    }

    @Test
    void theHashTellsRunsApart() {
        assertEquals(hash(1, 10, A, 0), hash(1, 10, A, 0));
        assertNotEquals(hash(1, 10, A, 0), hash(2, 10, A, 0), "seed");
        assertNotEquals(hash(1, 10, A, 0), hash(1, 11, A, 0), "time");
        assertNotEquals(hash(1, 10, A, 0), hash(1, 10, B, 0), "label");
        assertNotEquals(hash(1, 10, A, 0), hash(1, 10, A, 1), "argument");
    }

    private static long hash(long seed, long delay, Label label, long argument) {
        Kernel kernel = new Kernel(seed);
        kernel.schedule(delay, label, _ -> {}, argument);
        kernel.run();
        return kernel.hash();
    }

    /** If this fails, seeds noted in the past mean something else now. */
    @Test
    void seedsMeanWhatTheyAlwaysMeant() {
        Kernel kernel = new Kernel(42);
        RandomStream random = kernel.random("golden");
        for (int i = 0; i < 100; i++) {
            kernel.schedule(random.nextLong(1_000_000), i % 2 == 0 ? A : B, _ -> kernel.trace(A, random.nextLong()), i);
        }
        kernel.run();
        assertEquals("seed 42, 100 events, time 994.259us, hash 62bef82807dde120", kernel.fingerprint());
    }

    @Test
    void aRunStopsAtItsTimeAndGoesOn() {
        Kernel kernel = new Kernel(1);
        List<Long> times = new ArrayList<>();
        for (long delay : new long[]{5, 10, 11}) {
            kernel.schedule(delay, A, () -> times.add(kernel.now()));
        }
        kernel.runUntil(10);
        assertEquals(List.of(5L, 10L), times);
        assertEquals(10, kernel.now());
        kernel.runUntil(20);
        assertEquals(List.of(5L, 10L, 11L), times);
        assertEquals(20, kernel.now());
        assertThrows(IllegalArgumentException.class, () -> kernel.runUntil(19));
    }

    @Test
    void failuresSayWhenAndWhat() {
        Kernel kernel = new Kernel(9);
        kernel.schedule(1_500_000, A, () -> {
            throw new IllegalStateException("broken");
        });
        SimulationFailure failure = assertThrows(SimulationFailure.class, kernel::run);
        assertEquals("at simulated time 1.5ms with seed 9: event test a: java.lang.IllegalStateException: broken",
                failure.getMessage());
        assertEquals(1_500_000, failure.nanos());
    }

    @Test
    void anEndlessLoopAtOneInstantIsFound() {
        Kernel kernel = new Kernel(1);
        kernel.limitEventsPerInstant(1000);
        kernel.schedule(0, A, new Runnable() {
            @Override
            public void run() {
                kernel.schedule(0, A, this);
            }
        });
        SimulationFailure failure = assertThrows(SimulationFailure.class, kernel::run);
        assertTrue(failure.getMessage().contains("time does not go on"), failure.getMessage());
    }

    @Test
    void impossibleTimesAreRefused() {
        Kernel kernel = new Kernel(1);
        assertThrows(IllegalArgumentException.class, () -> kernel.schedule(-1, A, () -> {}));
        assertThrows(SimulationFailure.class, () -> kernel.schedule(Long.MAX_VALUE, A, () -> {}));
        kernel.schedule(0, A, kernel::run);
        assertThrows(SimulationFailure.class, kernel::run, "an event does not run the kernel");
    }
}
