package tutti.eval;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import tutti.model.RequestKind;
import tutti.model.RunResult;

/**
 * How gracefully a system degrades (D5.1, section 3.5.2): P(L &le; &tau;), the share of committed transactions whose latency
 * is within &tau;, the 90th percentile of the same runs without faults.
 */
final class Performability {
    private static final double PERCENTILE = 0.9;

    private Performability() {}

    /**
     * A line for each point and kind of transaction.
     *
     * @param faulty points with faults
     * @param calm the same without
     */
    static List<List<String>> table(List<Point> faulty, List<Point> calm) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("performability", "without faults, p90 ms", "with faults, p90 ms", "P(L <= tau)",
                "aborts % without", "with"));
        for (int i = 0; i < faulty.size(); i++) {
            for (RequestKind kind : RequestKind.values()) {
                if (mean(calm.get(i), result -> (double) result.of(kind).committed()) > 0) {
                    rows.add(row(faulty.get(i), calm.get(i), kind));
                }
            }
        }
        return rows;
    }

    private static List<String> row(Point faulty, Point calm, RequestKind kind) {
        double tau = mean(calm, result -> result.of(kind).latencies().percentileMillis(PERCENTILE));
        String where = faulty.values().isEmpty() ? "" : String.join(", ", faulty.values().values()) + ": ";
        return List.of(where + kind.label(), text(tau, 2),
                text(mean(faulty, result -> result.of(kind).latencies().percentileMillis(PERCENTILE)), 2),
                text(mean(faulty, result -> result.of(kind).latencies().shareWithin(tau)), 3),
                text(mean(calm, result -> 100 * result.of(kind).abortRate()), 2),
                text(mean(faulty, result -> 100 * result.of(kind).abortRate()), 2));
    }

    private static double mean(Point point, ToDoubleFunction<RunResult> value) {
        return point.results().stream().mapToDouble(value).average().orElse(0);
    }

    private static String text(double value, int decimals) {
        return String.format(Locale.ROOT, "%." + decimals + "f", value);
    }
}
