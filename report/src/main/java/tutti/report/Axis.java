package tutti.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * An axis of a plot. It begins and ends at ticks, which are round numbers.
 *
 * @param log whether it goes by powers of ten, instead of from 0
 * @param least where it begins
 * @param most where it ends
 * @param ticks ascending
 */
record Axis(boolean log, double least, double most, List<Double> ticks) {
    private static final int TICKS_WANTED = 5;

    /**
     * One on which there is room for values.
     *
     * @param decades at most so many powers of ten; what is less stands at the edge
     * @param all values; those that are not numbers are left out
     */
    static Axis of(boolean log, double decades, List<double[]> all) {
        double most = 0;
        double least = Double.MAX_VALUE;
        for (double[] values : all) {
            for (double value : values) {
                if (!Double.isNaN(value)) {
                    most = Math.max(most, value);
                    least = value > 0 ? Math.min(least, value) : least;
                }
            }
        }
        most = most > 0 ? most : 1;
        List<Double> ticks = new ArrayList<>();
        if (log) {
            double lowest = Math.max(Math.min(least, most), most * Math.pow(10, -decades));
            double tick = Math.pow(10, Math.floor(Math.log10(lowest)));
            while (ticks.size() < 2 || ticks.getLast() < most) {
                ticks.add(tick);
                tick *= 10;
            }
        } else {
            double step = niceStep(most / TICKS_WANTED);
            for (int i = 0; ticks.size() < 2 || ticks.getLast() < most * 0.9999; i++) {
                ticks.add(i * step);
            }
        }
        return new Axis(log, ticks.getFirst(), ticks.getLast(), ticks);
    }

    /** Where a value stands: 0 at the beginning, 1 at the end, never outside. */
    double share(double value) {
        double share = log
                ? Math.log10(Math.max(value, least) / least) / Math.log10(most / least)
                : (value - least) / (most - least);
        return Math.clamp(share, 0, 1);
    }

    /** The smallest of 1, 2, 5 times a power of ten that is at least {@code wanted}. */
    static double niceStep(double wanted) {
        double power = Math.pow(10, Math.floor(Math.log10(wanted)));
        for (double factor : new double[]{1, 2, 5}) {
            if (factor * power >= wanted * 0.999) {
                return factor * power;
            }
        }
        return 10 * power;
    }

    /** A number as a person reads it: thousands grouped, no needless decimals, very small ones by their power of ten. */
    static String number(double value) {
        if (value == Math.rint(value)) {
            return String.format(Locale.ROOT, "%,.0f", value);
        }
        if (Math.abs(value) < 0.001) {
            return String.format(Locale.ROOT, "%.1e", value).replace(".0e", "e");
        }
        int decimals = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 0.1 ? 2 : 3;
        return String.format(Locale.ROOT, "%,." + decimals + "f", value);
    }
}
