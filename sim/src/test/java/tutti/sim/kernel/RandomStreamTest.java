package tutti.sim.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class RandomStreamTest {
    /** The reference generator of Blackman and Vigna, seeded with SplitMix64 from 0, begins like this. */
    @Test
    void theGeneratorIsTheReferenceOne() {
        RandomStream random = new RandomStream(0);
        assertEquals(0x53175D61490B23DFL, random.nextLong());
        assertEquals(0x61DA6F3DC380D507L, random.nextLong());
        assertEquals(0x5C0FDF91EC9A7BFCL, random.nextLong());
    }

    @Test
    void forksDependOnSeedAndLabelOnly() {
        RandomStream one = new RandomStream(5);
        long first = one.fork("a").nextLong();
        one.nextLong();
        assertEquals(first, one.fork("a").nextLong());
        assertNotEquals(first, one.fork("b").nextLong());
        assertNotEquals(first, new RandomStream(6).fork("a").nextLong());
        assertNotEquals(one.fork("a").fork("b").nextLong(), one.fork("b").fork("a").nextLong());
    }

    @Test
    void numbersAreSpreadAsTheyShould() {
        RandomStream random = new RandomStream(11);
        int[] counts = new int[7];
        double exponential = 0;
        double normal = 0;
        double square = 0;
        int hits = 0;
        int n = 200_000;
        for (int i = 0; i < n; i++) {
            counts[random.nextInt(7)]++;
            exponential += random.exponential(10);
            double x = random.normal(5, 2);
            normal += x;
            square += (x - 5) * (x - 5);
            hits += random.chance(0.05) ? 1 : 0;
        }
        for (int count : counts) {
            assertEquals(n / 7.0, count, 600);
        }
        assertEquals(10, exponential / n, 0.15);
        assertEquals(5, normal / n, 0.03);
        assertEquals(4, square / n, 0.08);
        assertEquals(0.05, hits / (double) n, 0.003);
    }

    @Test
    void rangesAreKept() {
        RandomStream random = new RandomStream(1);
        for (int i = 0; i < 1000; i++) {
            long value = random.between(-3, 3);
            assertTrue(value >= -3 && value <= 3);
        }
        assertThrows(IllegalArgumentException.class, () -> random.nextLong(0));
        assertEquals(0, random.nextLong(1));
        List<Integer> list = new ArrayList<>(IntStream.range(0, 100).boxed().toList());
        random.shuffle(list);
        assertNotEquals(IntStream.range(0, 100).boxed().toList(), list);
        assertEquals(IntStream.range(0, 100).boxed().toList(), list.stream().sorted().toList());
    }

    @Test
    void distributionsAreReadAsTheyAreWritten() {
        RandomStream random = new RandomStream(2);
        for (String text : List.of("constant 1.5ms", "uniform 0s 5ms", "exponential 250us", "normal 2ms 300ns",
                "lognormal 2ms 0.25", "empirical 1ms 1.5ms 3ms")) {
            Distribution distribution = Distribution.parse(text);
            assertEquals(text, distribution.toString());
            assertTrue(distribution.sample(random) >= 0);
        }
        assertEquals(new Distribution.Uniform(2, 10), new Distribution.Uniform(1, 5).times(2));
        for (String bad : List.of("unifrom 1ms 2ms", "uniform 1ms", "constant 3", "uniform 2ms 1ms", "constant -1ms",
                "", "lognormal 1ms", "lognormal 1ms 1ms", "lognormal 1ms -1", "lognormal 1ms NaN", "empirical")) {
            assertThrows(IllegalArgumentException.class, () -> Distribution.parse(bad), bad);
        }
    }

    @Test
    void lognormalDrawsHaveTheirMedianAndMean() {
        RandomStream random = new RandomStream(3);
        Distribution distribution = Distribution.parse("lognormal 2ms 0.5");
        int draws = 20_000;
        long[] drawn = IntStream.range(0, draws).mapToLong(_ -> distribution.sample(random)).sorted().toArray();
        assertEquals(2e6, (double) drawn[draws / 2], 0.03e6);
        assertEquals(2e6 * Math.exp(0.125), LongStream.of(drawn).average().orElse(0), 0.04e6);
    }

    @Test
    void empiricalDrawsAreWhatWasObserved() {
        RandomStream random = new RandomStream(4);
        Distribution distribution = Distribution.parse("empirical 1ms 2ms 9ms");
        Map<Long, Long> drawn = IntStream.range(0, 3000).mapToObj(_ -> distribution.sample(random))
                .collect(Collectors.groupingBy(nanos -> nanos, Collectors.counting()));
        assertEquals(Set.of(1_000_000L, 2_000_000L, 9_000_000L), drawn.keySet());
        drawn.values().forEach(count -> assertEquals(1000.0, (double) count, 100.0));
    }

    @Test
    void durationsAreReadAsTheyAreWritten() {
        for (long nanos : new long[]{0, 1, 999, 1000, 1001, 1_500_000, 123_456_789_012L, 3_600_000_000_000L}) {
            assertEquals(nanos, Nanos.parse(Nanos.text(nanos)), Nanos.text(nanos));
        }
        assertEquals("1.5ms", Nanos.text(1_500_000));
        assertThrows(IllegalArgumentException.class, () -> Nanos.parse("0.1ns"));
        assertThrows(IllegalArgumentException.class, () -> Nanos.parse("5"));
    }
}
