package tutti.eval;

import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import tutti.model.RunResult;

/**
 * A mean over repetitions with its 95 percent confidence interval, by Student's distribution: repetitions differ in their
 * seeds only, so they are independent.
 *
 * @param mean over all
 * @param halfWidth of the interval; 0 if there is one repetition only
 * @param repetitions how many
 */
record Estimate(double mean, double halfWidth, int repetitions) {
    /** 97.5 percent quantiles for 1 to 30 degrees of freedom. */
    private static final double[] STUDENT = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
            2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060,
            2.056, 2.052, 2.048, 2.045, 2.042};
    private static final double NORMAL = 1.960;

    static Estimate of(List<RunResult> results, ToDoubleFunction<RunResult> value) {
        int n = results.size();
        double mean = results.stream().mapToDouble(value).average().orElse(Double.NaN);
        if (n < 2) {
            return new Estimate(mean, 0, n);
        }
        double squares = results.stream().mapToDouble(value).map(one -> (one - mean) * (one - mean)).sum();
        double student = n - 1 <= STUDENT.length ? STUDENT[n - 2] : NORMAL;
        return new Estimate(mean, student * Math.sqrt(squares / (n - 1) / n), n);
    }

    /** With so many decimals, and the interval if there is one. */
    String text(int decimals) {
        String text = String.format(Locale.ROOT, "%." + decimals + "f", mean);
        return repetitions < 2 ? text : text + String.format(Locale.ROOT, " ± %." + decimals + "f", halfWidth);
    }
}
