package tutti.bench;

import org.apache.commons.statistics.distribution.TDistribution;

/**
 * The straight line that lies closest to a series of values (least squares), and how sure its slope is.
 *
 * @param perMinute slope, in units of the values
 * @param margin half the width of the slope's 95 % confidence interval, taking deviations as independent and normal
 */
record Trend(double perMinute, double margin) {
    /** Fewest values that have a trend. */
    static final int VALUES_MIN = 3;

    private static final double SECONDS_PER_MINUTE = 60;
    /**
     * Of values at points in time.
     *
     * @param seconds ascending, at least three
     * @param values as many
     */
    static Trend of(double[] seconds, double[] values) {
        int count = seconds.length;
        if (count < VALUES_MIN || values.length != count) {
            throw new IllegalArgumentException("a trend needs three values, there are " + values.length);
        }
        double meanTime = 0;
        double meanValue = 0;
        for (int i = 0; i < count; i++) {
            meanTime += seconds[i] / count;
            meanValue += values[i] / count;
        }
        double spread = 0;
        double together = 0;
        for (int i = 0; i < count; i++) {
            spread += (seconds[i] - meanTime) * (seconds[i] - meanTime);
            together += (seconds[i] - meanTime) * (values[i] - meanValue);
        }
        double slope = together / spread;
        double residuals = 0;
        for (int i = 0; i < count; i++) {
            double off = values[i] - meanValue - slope * (seconds[i] - meanTime);
            residuals += off * off;
        }
        int freedom = count - 2;
        double quantile = TDistribution.of(freedom).inverseSurvivalProbability(0.025);
        double error = Math.sqrt(residuals / freedom / spread);
        return new Trend(slope * SECONDS_PER_MINUTE, quantile * error * SECONDS_PER_MINUTE);
    }

    /** Whether the slope is positive beyond doubt. */
    boolean grows() {
        return perMinute - margin > 0;
    }
}
