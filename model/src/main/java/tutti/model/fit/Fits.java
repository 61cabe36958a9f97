package tutti.model.fit;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.DoubleUnaryOperator;
import org.apache.commons.statistics.distribution.ContinuousDistribution;
import org.apache.commons.statistics.distribution.ExponentialDistribution;
import org.apache.commons.statistics.distribution.LogNormalDistribution;
import org.apache.commons.statistics.distribution.NormalDistribution;
import org.apache.commons.statistics.distribution.UniformContinuousDistribution;
import org.apache.commons.statistics.inference.KolmogorovSmirnovTest;
import tutti.sim.kernel.Distribution;

/**
 * A sample of durations with every family fitted to it. Immutable.
 *
 * <p>
 * Of the four families with parameters, the one with the smallest distance is taken, if it is close: at most
 * {@link #DISTANCE_MAX} away, with a mean that differs from the sample's by at most {@link #MEAN_ERROR_MAX}. Otherwise the
 * empirical distribution is: the sample is sorted and cut into at most {@link #PARTS_MAX} equal parts, each of which
 * is represented by its mean, so that the mean of the whole is kept whatever its tail. (A test of hypotheses would be of no
 * use: with thousands of observations it rejects every family, close or not.)
 */
public final class Fits {
    /** The largest distance of Kolmogorov and Smirnov with which a family with parameters is taken. */
    public static final double DISTANCE_MAX = 0.05;
    /** The largest error of its mean, relative to the sample's. */
    public static final double MEAN_ERROR_MAX = 0.02;
    /** The largest number of values of an empirical distribution. */
    public static final int PARTS_MAX = 100;

    private final double[] sorted;
    private final double mean;
    private final double deviation;
    private final List<Fit> all = new ArrayList<>();
    private final Fit best;

    private Fits(double[] sorted) {
        this.sorted = sorted;
        this.mean = Arrays.stream(sorted).average().orElseThrow();
        this.deviation = Math.sqrt(Arrays.stream(sorted).map(value -> (value - mean) * (value - mean)).average()
                .orElseThrow());
        if (sorted[0] < sorted[sorted.length - 1]) {
            parametric();
        }
        this.all.add(empirical());
        this.best = all.stream().filter(this::isClose).findFirst().orElse(all.getLast());
    }

    /**
     * Fits all families.
     *
     * @param nanos one at least, none below 0; it need not be sorted
     */
    public static Fits of(long[] nanos) {
        double[] sorted = Arrays.stream(nanos).asDoubleStream().sorted().toArray();
        if (sorted.length == 0 || sorted[0] < 0) {
            throw new IllegalArgumentException(sorted.length == 0
                    ? "there is nothing to fit a distribution to"
                    : "a duration of " + sorted[0] + " ns cannot be fitted");
        }
        return new Fits(sorted);
    }

    private void parametric() {
        add(Family.NORMAL, new Distribution.Normal(Math.round(mean), Math.round(deviation)),
                NormalDistribution.of(mean, deviation));
        add(Family.UNIFORM,
                new Distribution.Uniform(Math.round(sorted[0]), Math.round(sorted[sorted.length - 1])),
                UniformContinuousDistribution.of(sorted[0], sorted[sorted.length - 1]));
        add(Family.EXPONENTIAL, new Distribution.Exponential(Math.round(mean)), ExponentialDistribution.of(mean));
        if (sorted[0] > 0) {
            double mu = Arrays.stream(sorted).map(Math::log).average().orElseThrow();
            double sigma = Math.sqrt(Arrays.stream(sorted).map(value -> Math.log(value) - mu)
                    .map(difference -> difference * difference).average().orElseThrow());
            if (sigma > 0 && sigma <= Distribution.SIGMA_MAX) {
                add(Family.LOGNORMAL,
                        new Distribution.LogNormal(Math.round(Math.exp(mu)), Math.rint(sigma * 1e6) / 1e6),
                        LogNormalDistribution.of(mu, sigma));
            }
        }
        all.sort((a, b) -> Double.compare(a.distance(), b.distance()));
    }

    private void add(Family family, Distribution distribution, ContinuousDistribution fitted) {
        all.add(new Fit(family, distribution, fitted.getMean(), distance(fitted::cumulativeProbability),
                fitted::inverseCumulativeProbability));
    }

    /** One observation has the distance of a step, which needs no test. */
    private double distance(DoubleUnaryOperator function) {
        return sorted.length == 1
                ? Math.max(function.applyAsDouble(sorted[0]), 1 - function.applyAsDouble(sorted[0]))
                : KolmogorovSmirnovTest.withDefaults().statistic(sorted, function);
    }

    private Fit empirical() {
        int parts = Math.min(PARTS_MAX, sorted.length);
        List<Long> values = new ArrayList<>();
        for (int part = 0; part < parts; part++) {
            int from = (int) ((long) part * sorted.length / parts);
            int to = (int) ((long) (part + 1) * sorted.length / parts);
            values.add(Math.round(Arrays.stream(sorted, from, to).average().orElseThrow()));
        }
        double[] steps = values.stream().mapToDouble(Long::doubleValue).toArray();
        double distance = 0;
        for (double at : steps) {
            distance = Math.max(distance, Math.abs(shareWithin(steps, at) - shareWithin(sorted, at)));
        }
        for (double at : sorted) {
            distance = Math.max(distance, Math.abs(shareWithin(steps, at) - shareWithin(sorted, at)));
        }
        return new Fit(Family.EMPIRICAL, new Distribution.Empirical(values),
                Arrays.stream(steps).average().orElseThrow(), distance,
                share -> steps[Math.min(parts - 1, (int) (share * parts))]);
    }

    /** Which share of sorted values does not exceed a value. */
    private static double shareWithin(double[] values, double at) {
        int low = 0;
        int high = values.length;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (values[middle] <= at) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return (double) low / values.length;
    }

    private boolean isClose(Fit fit) {
        return fit.family() == Family.EMPIRICAL
                || (fit.distance() <= DISTANCE_MAX && Math.abs(fit.meanNanos() - mean) <= MEAN_ERROR_MAX * mean);
    }

    /** The one that is taken. */
    public Fit best() {
        return best;
    }

    /** All of them: those with parameters by distance, the closest first; then the empirical one. */
    public List<Fit> all() {
        return List.copyOf(all);
    }

    /** How many were observed. */
    public int count() {
        return sorted.length;
    }

    /** Mean of the sample, in nanoseconds. */
    public double meanNanos() {
        return mean;
    }

    /** Standard deviation of the sample, in nanoseconds. */
    public double deviationNanos() {
        return deviation;
    }

    /** The duration, in nanoseconds, that this share (0 to 1) of the sample does not exceed. */
    public double quantileNanos(double share) {
        return sorted[Math.clamp((long) Math.ceil(share * sorted.length) - 1, 0, sorted.length - 1)];
    }

    /** How many of the sample lie in each of equal parts of a range; what is outside is counted nowhere. */
    public int[] histogram(double fromNanos, double toNanos, int parts) {
        int[] counts = new int[parts];
        for (double value : sorted) {
            int part = (int) ((value - fromNanos) / (toNanos - fromNanos) * parts);
            if (value >= fromNanos && (part < parts || value == toNanos)) {
                counts[Math.min(part, parts - 1)]++;
            }
        }
        return counts;
    }
}
