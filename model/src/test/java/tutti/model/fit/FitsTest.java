package tutti.model.fit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.RandomStream;

class FitsTest {
    private static long[] draws(String distribution, int count) {
        RandomStream random = new RandomStream(7);
        Distribution drawn = Distribution.parse(distribution);
        return LongStream.generate(() -> drawn.sample(random)).limit(count).toArray();
    }

    @ParameterizedTest
    @CsvSource({"normal 2ms 200us,NORMAL", "uniform 1ms 5ms,UNIFORM", "exponential 3ms,EXPONENTIAL",
            "lognormal 2ms 0.6,LOGNORMAL"})
    void theFamilyThatASampleWasDrawnFromIsFoundWithItsParameters(String text, Family family) {
        Fits fits = Fits.of(draws(text, 5000));
        assertEquals(family, fits.best().family(), () -> fits.all().toString());
        assertTrue(fits.best().distance() < 0.025, () -> fits.all().toString());
        assertEquals(fits.meanNanos(), fits.best().meanNanos(), 0.02 * fits.meanNanos());
        switch (fits.best().distribution()) {
            case Distribution.Normal(long mean, long deviation) -> {
                assertEquals(2e6, (double) mean, 0.02e6);
                assertEquals(2e5, (double) deviation, 0.1e5);
            }
            case Distribution.Uniform(long from, long to) -> {
                assertEquals(1e6, (double) from, 0.01e6);
                assertEquals(5e6, (double) to, 0.01e6);
            }
            case Distribution.Exponential(long mean) -> assertEquals(3e6, (double) mean, 0.15e6);
            case Distribution.LogNormal(long median, double sigma) -> {
                assertEquals(2e6, (double) median, 0.06e6);
                assertEquals(0.6, sigma, 0.02);
            }
            default -> throw new AssertionError(fits.best());
        }
    }

    @Test
    void whatIsNearNoFamilyIsKeptAsItIsWithItsMean() {
        long[] two = LongStream.concat(LongStream.of(draws("normal 1ms 50us", 3000)),
                LongStream.of(draws("normal 9ms 300us", 1000))).toArray();
        Fits fits = Fits.of(two);
        assertEquals(Family.EMPIRICAL, fits.best().family(), () -> fits.all().toString());
        Distribution.Empirical empirical = assertInstanceOf(Distribution.Empirical.class, fits.best().distribution());
        assertEquals(Fits.PARTS_MAX, empirical.nanos().size());
        assertEquals(LongStream.of(two).average().orElseThrow(),
                empirical.nanos().stream().mapToLong(Long::longValue).average().orElseThrow(), 1);
        assertTrue(fits.best().distance() <= 0.011, () -> "distance " + fits.best().distance());
        assertTrue(fits.all().getFirst().distance() > 0.2, () -> fits.all().toString());
        assertEquals(fits.best().distribution(), Distribution.parse(fits.best().distribution().toString()));
    }

    @Test
    void quantilesOfAFitAreThoseOfTheSample() {
        Fits fits = Fits.of(draws("lognormal 2ms 0.6", 20_000));
        for (double share : new double[]{0.055, 0.505, 0.945}) {
            double expected = fits.quantileNanos(share);
            for (Fit fit : fits.all()) {
                if (fit.family() == Family.LOGNORMAL || fit.family() == Family.EMPIRICAL) {
                    assertEquals(expected, fit.quantile().applyAsDouble(share), 0.03 * expected, fit.toString());
                }
            }
        }
    }

    @Test
    void oneValueAloneIsThatValue() {
        for (long[] same : new long[][]{{1500}, {1500, 1500, 1500}, {0, 0}}) {
            Fits fits = Fits.of(same);
            assertEquals(Family.EMPIRICAL, fits.best().family());
            assertEquals(same[0], fits.best().distribution().sample(new RandomStream(1)));
            assertEquals(0, fits.best().distance());
        }
        assertThrows(IllegalArgumentException.class, () -> Fits.of(new long[0]));
        assertThrows(IllegalArgumentException.class, () -> Fits.of(new long[]{-1}));
    }

    @Test
    void aHistogramCountsEachOnce() {
        Fits fits = Fits.of(new long[]{0, 1, 5, 9, 10, 11});
        assertArrayEquals(new int[]{2, 3}, fits.histogram(0, 10, 2));
    }
}
