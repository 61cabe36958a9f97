package tutti.eval.network;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import tutti.eval.Estimate;
import tutti.report.Chart;

/** Figure 2.10: every quantity by size, real and simulated, with 95 percent intervals over the rounds. */
final class NetworkComparison {
    private static final double DECIMAL_BELOW = 100;

    private final int[] sizes;
    /** By quantity, size and world (real, simulated): of each round. */
    private final Map<Benchmark.Quantity, List<List<List<Double>>>> seen = new EnumMap<>(Benchmark.Quantity.class);

    NetworkComparison(int[] sizes) {
        this.sizes = sizes.clone();
        for (Benchmark.Quantity quantity : Benchmark.Quantity.values()) {
            List<List<List<Double>>> ofQuantity = new ArrayList<>();
            for (int _ : sizes) {
                ofQuantity.add(List.of(new ArrayList<>(), new ArrayList<>()));
            }
            seen.put(quantity, ofQuantity);
        }
    }

    /** Adds a round's values of all quantities at the size with this number, but for those of which nothing was seen. */
    void add(int size, boolean simulated, double[] values) {
        Benchmark.Quantity[] quantities = Benchmark.Quantity.values();
        for (int i = 0; i < values.length; i++) {
            if (Double.isFinite(values[i])) {
                of(quantities[i], size, simulated).add(values[i]);
            }
        }
    }

    private List<Double> of(Benchmark.Quantity quantity, int size, boolean simulated) {
        return seen.getOrDefault(quantity, List.of()).get(size).get(simulated ? 1 : 0);
    }

    private Estimate estimate(Benchmark.Quantity quantity, int size, boolean simulated) {
        return Estimate.of(of(quantity, size, simulated).stream().mapToDouble(Double::doubleValue).toArray());
    }

    private double error(Benchmark.Quantity quantity, int size) {
        return estimate(quantity, size, true).mean() / estimate(quantity, size, false).mean() - 1;
    }

    /** A row for each quantity and size. */
    List<List<String>> table() {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("what", "bytes", "real", "simulated", "unit", "error"));
        for (Benchmark.Quantity quantity : Benchmark.Quantity.values()) {
            for (int size = 0; size < sizes.length; size++) {
                rows.add(List.of(quantity.label(), Integer.toString(sizes[size]), text(estimate(quantity, size, false)),
                        text(estimate(quantity, size, true)), quantity.unit(),
                        String.format(Locale.ROOT, "%+.0f %%", 100 * error(quantity, size))));
            }
        }
        return rows;
    }

    private static String text(Estimate estimate) {
        return estimate.text(estimate.mean() < DECIMAL_BELOW ? 1 : 0);
    }

    /** Real and simulated over the size of messages. */
    Chart chart(Benchmark.Quantity quantity) {
        return new Chart(quantity.label(), "bytes", quantity.unit(), true, true, true,
                List.of(curve("real", quantity, false), curve("simulated", quantity, true)));
    }

    private Chart.Curve curve(String name, Benchmark.Quantity quantity, boolean simulated) {
        double[] values = new double[sizes.length];
        double[] halfWidths = new double[sizes.length];
        for (int size = 0; size < sizes.length; size++) {
            Estimate estimate = estimate(quantity, size, simulated);
            values[size] = estimate.mean();
            halfWidths[size] = estimate.halfWidth();
        }
        return new Chart.Curve(name, simulated, Arrays.stream(sizes).asDoubleStream().toArray(), values,
                estimate(quantity, 0, simulated).repetitions() > 1 ? halfWidths : new double[0]);
    }

    /** For programs: every round's value. */
    Map<String, Object> json() {
        Map<String, Object> all = new LinkedHashMap<>();
        for (Benchmark.Quantity quantity : Benchmark.Quantity.values()) {
            List<Map<String, Object>> values = new ArrayList<>();
            for (int size = 0; size < sizes.length; size++) {
                values.add(Map.of("bytes", sizes[size], "unit", quantity.unit(), "real", of(quantity, size, false),
                        "simulated", of(quantity, size, true)));
            }
            all.put(quantity.label(), values);
        }
        return all;
    }
}
