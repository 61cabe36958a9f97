package tutti.model.fit;

import java.util.function.DoubleUnaryOperator;
import tutti.sim.kernel.Distribution;

/**
 * One family of distributions, fitted to a sample.
 *
 * @param family which
 * @param distribution what models draw from, rounded to nanoseconds
 * @param meanNanos of the fitted distribution
 * @param distance of Kolmogorov and Smirnov: the largest difference, 0 to 1, between the distribution function and the
 *            share of the sample
 * @param quantile the duration, in nanoseconds, that a share between 0 and 1 (both excluded) does not exceed
 */
public record Fit(Family family, Distribution distribution, double meanNanos, double distance,
        DoubleUnaryOperator quantile) {}
