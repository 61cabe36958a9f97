package tutti.core.tune;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.IntToDoubleFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.tune.ConcurrencyTuning.Bounds;
import tutti.core.tune.ConcurrencyTuning.Choice;

/** With synthetic loads: it finds what is needed, then leaves it alone, and follows when the load changes. */
class ConcurrencyTuningTest {
    private static final Bounds BOUNDS = new Bounds(1, 64, 16, 1024);
    private static final int INTERVALS = 2000;
    private static final double SECONDS = ConcurrencyTuning.INTERVAL_NANOS / 1e9;

    /**
     * A replica: each applier spends a fixed time for a transaction of its engine, and some for each position; no more of them than there are processors
     * get on. If it says so, more in a transaction makes each of them dearer, what is done in an interval scatters, and it is heard of in lumps.
     */
    private static final class Replica {
        private final ConcurrencyTuning tuning;
        private Random scatter = new Random(0);
        private double scatters;
        private double dearer;
        private int lump = 1;
        private double unheard;
        private final int processors;
        private final double fixedSeconds;
        private final double positionSeconds;
        private final List<Choice> choices = new ArrayList<>();
        private final List<Double> lagSeconds = new ArrayList<>();
        private double waiting;
        private double arrived;
        private double done;

        Replica(Bounds bounds, int processors, double fixedSeconds, double positionSeconds) {
            this.tuning = new ConcurrencyTuning(bounds, new Choice(4, 64));
            this.processors = processors;
            this.fixedSeconds = fixedSeconds;
            this.positionSeconds = positionSeconds;
        }

        Replica inLumps(int intervals) {
            lump = intervals;
            return this;
        }

        Replica scatters(double share, double dearerWithEach, long seed) {
            scatter = new Random(seed);
            scatters = share;
            dearer = dearerWithEach;
            return this;
        }

        double speed(Choice choice) {
            return Math.min(choice.sideBySide(), processors) * choice.together()
                    / (fixedSeconds + choice.together() * positionSeconds * (1 + dearer * choice.together()));
        }

        Replica run(int intervals, IntToDoubleFunction arrivals) {
            for (int i = 0; i < intervals; i++) {
                double come = arrivals.applyAsDouble(i) * SECONDS;
                double makes = Math.min(waiting + come,
                        speed(tuning.choice()) * SECONDS * Math.max(0, 1 + scatters * scatter.nextGaussian()));
                arrived += come;
                done += makes;
                waiting += come - makes;
                unheard += makes;
                boolean heard = scatter.nextInt(lump) == 0;
                choices.add(tuning.next(ConcurrencyTuning.INTERVAL_NANOS, heard ? Math.round(unheard) : 0,
                        Math.round(waiting)));
                unheard = heard ? 0 : unheard;
                lagSeconds.add(waiting / Math.max(1, makes / SECONDS));
            }
            return this;
        }

        int changes(int from) {
            int changes = 0;
            for (int i = Math.max(1, from); i < choices.size(); i++) {
                changes += choices.get(i).equals(choices.get(i - 1)) ? 0 : 1;
            }
            return changes;
        }

        double lag(int from) {
            return lagSeconds.subList(from, lagSeconds.size()).stream().mapToDouble(Double::doubleValue).average()
                    .orElse(0);
        }
    }

    @Test
    void aSteadyLoadIsMetAndThenLittleChanges() {
        Replica replica = new Replica(BOUNDS, 16, 0.02, 0.0004).run(INTERVALS, _ -> 20_000);
        assertTrue(replica.lag(200) < 0.2,
                () -> "behind by " + replica.lag(200) + " s, with " + replica.tuning.choice());
        assertTrue(replica.speed(replica.tuning.choice()) >= 20_000);
        assertTrue(replica.changes(INTERVALS / 2) <= 8, () -> replica.changes(INTERVALS / 2) + " changes");
    }

    @Test
    void moreThanHelpsIsNotTaken() {
        Replica replica = new Replica(BOUNDS, 4, 0.0, 0.001).run(INTERVALS, _ -> 100_000);
        assertEquals(new Choice(4, 64), replica.tuning.choice(), "no choice makes it faster");
        assertTrue(replica.changes(INTERVALS / 2) <= 12, () -> replica.changes(INTERVALS / 2) + " changes");
    }

    /** As owners of request logs do on small machines: batches of 32 to 64 are best, and an interval tells little. */
    @ParameterizedTest
    @CsvSource({"1, 1", "2, 1", "3, 1", "4, 1", "5, 1", "6, 1", "7, 1", "8, 1", "9, 1", "10, 1", "11, 1", "12, 1",
            "1, 4", "2, 4", "3, 4", "4, 4", "5, 4", "6, 4"})
    void whatScattersDoesNotLeadItAway(long seed, int lump) {
        Replica replica = new Replica(new Bounds(4, 4, 1, 1024), 4, 0.02, 0.001).scatters(0.3, 0.01, seed)
                .inLumps(lump).run(400, _ -> 100_000);
        double best = 0;
        for (int together = 1; together <= 1024; together *= 2) {
            best = Math.max(best, replica.speed(new Choice(4, together)));
        }
        double average = replica.choices.stream().mapToDouble(replica::speed).average().orElse(0);
        double wanted = (lump == 1 ? 0.9 : 0.75) * best;
        assertTrue(average >= wanted, () -> average + " instead of " + wanted);
    }

    @Test
    void whatWasTooMuchFromTheBeginningIsTakenBack() {
        Replica replica = new Replica(new Bounds(4, 4, 1, 1024), 4, 0.02, 0.001).scatters(0.2, 0.2, 3)
                .run(200, _ -> 100_000);
        assertTrue(replica.tuning.choice().together() <= 16, () -> replica.tuning.choice().toString());
    }

    @Test
    void whatIsNotNeededAnyMoreIsGivenUp() {
        Replica replica = new Replica(BOUNDS, 16, 0.02, 0.0004).run(INTERVALS, i -> i < 300 ? 20_000 : 100);
        assertTrue(replica.choices.get(299).sideBySide() > 4, () -> String.valueOf(replica.choices.get(299)));
        assertEquals(new Choice(1, 16), replica.tuning.choice());
    }

    @Test
    void itFollowsALoadThatComesAndGoes() {
        Replica replica = new Replica(BOUNDS, 16, 0.02, 0.0004).run(INTERVALS, i -> i / 100 % 2 == 0 ? 15_000 : 500);
        for (int period = 2; period < INTERVALS / 100; period += 2) {
            int last = period * 100 + 99;
            assertTrue(replica.lagSeconds.get(last) < 0.5,
                    () -> "behind at " + last + ": " + replica.lagSeconds.get(last));
        }
    }

    @Test
    void whatIsGivenAsANumberStays() {
        Replica replica = new Replica(new Bounds(7, 7, 16, 1024), 16, 0.02, 0.0004).run(INTERVALS, _ -> 50_000);
        assertTrue(replica.choices.stream().allMatch(choice -> choice.sideBySide() == 7));
        assertTrue(replica.choices.stream().anyMatch(choice -> choice.together() > 64));
        assertThrows(IllegalArgumentException.class, () -> new Bounds(0, 1, 1, 1));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void anyLoadIsServedWithinTheBoundsAndNothingIsLost(long seed) {
        Random random = new Random(seed);
        Replica replica = new Replica(BOUNDS, 1 + random.nextInt(32), random.nextDouble() / 50,
                0.0001 + random.nextDouble() / 1000);
        double[] load = {100};
        replica.run(INTERVALS, i -> {
            if (random.nextInt(50) == 0) {
                load[0] = random.nextInt(30_000);
            }
            return i < INTERVALS - 500 ? load[0] : 0;
        });
        assertEquals(replica.arrived, replica.done + replica.waiting, 1e-3);
        assertEquals(0, replica.waiting, 1e-3, "all is made visible when nothing more comes");
        for (Choice choice : replica.choices) {
            assertTrue(choice.sideBySide() >= 1 && choice.sideBySide() <= 64 && choice.together() >= 16
                    && choice.together() <= 1024, choice::toString);
        }
    }

    @Test
    void anIntervalOfNoLengthTeachesNothing() {
        ConcurrencyTuning tuning = new ConcurrencyTuning(BOUNDS, new Choice(4, 64));
        assertEquals(new Choice(4, 64), tuning.next(0, 0, 1_000_000));
    }
}
