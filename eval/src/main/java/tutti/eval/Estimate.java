package tutti.eval;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import org.apache.commons.statistics.distribution.TDistribution;
import tutti.model.RunResult;

/**
 * A mean over repetitions with its 95 percent confidence interval, by Student's distribution: repetitions differ in their
 * seeds only, so they are independent.
 *
 * @param mean over all
 * @param halfWidth of the interval; 0 if there is one repetition only
 * @param repetitions how many
 */
public record Estimate(double mean, double halfWidth, int repetitions) {
    static Estimate of(List<RunResult> results, ToDoubleFunction<RunResult> value) {
        return of(results.stream().mapToDouble(value).toArray());
    }

    /** Of one value for each repetition. */
    public static Estimate of(double[] values) {
        int n = values.length;
        double mean = Arrays.stream(values).average().orElse(Double.NaN);
        if (n < 2) {
            return new Estimate(mean, 0, n);
        }
        double squares = Arrays.stream(values).map(one -> (one - mean) * (one - mean)).sum();
        double student = TDistribution.of(n - 1).inverseSurvivalProbability(0.025);
        return new Estimate(mean, student * Math.sqrt(squares / (n - 1) / n), n);
    }

    /** With so many decimals, and the interval if there is one. */
    public String text(int decimals) {
        String text = String.format(Locale.ROOT, "%." + decimals + "f", mean);
        return repetitions < 2 ? text : text + String.format(Locale.ROOT, " ± %." + decimals + "f", halfWidth);
    }
}
