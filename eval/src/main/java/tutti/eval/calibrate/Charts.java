package tutti.eval.calibrate;

import java.util.List;
import tutti.model.fit.Fit;
import tutti.model.fit.Fits;
import tutti.report.Chart;

/** The charts of D5.1 chapter 2 and its appendices: histograms with what was fitted, Q-Q plots, distribution functions. */
final class Charts {
    private static final int BARS = 40;
    private static final int POINTS = 99;
    private static final int FINE = 20_000;
    private static final double SHOWN = 0.99;
    private static final double MILLI = 1e6;

    private Charts() {}

    /** How often durations occur, up to the 99th percentile, and how often they would by the fitted distribution. */
    static Chart histogram(String title, Fits fits) {
        double from = fits.quantileNanos(0);
        double to = fits.quantileNanos(SHOWN);
        to = to > from ? to : from + 1;
        int[] seen = fits.histogram(from, to, BARS);
        double[] expected = new double[BARS];
        Fit best = fits.best();
        for (int i = 0; i < FINE; i++) {
            double value = best.quantile().applyAsDouble((i + 0.5) / FINE);
            int bar = (int) ((value - from) / (to - from) * BARS);
            if (value >= from && bar < BARS) {
                expected[bar] += (double) fits.count() / FINE;
            }
        }
        double[] edges = new double[2 * BARS];
        double[] bars = new double[2 * BARS];
        double[] middles = new double[BARS];
        for (int i = 0; i < BARS; i++) {
            edges[2 * i] = (from + (to - from) * i / BARS) / MILLI;
            edges[2 * i + 1] = (from + (to - from) * (i + 1) / BARS) / MILLI;
            bars[2 * i] = seen[i];
            bars[2 * i + 1] = seen[i];
            middles[i] = (from + (to - from) * (i + 0.5) / BARS) / MILLI;
        }
        return new Chart(title, "ms", "transactions", false, false, false,
                List.of(new Chart.Curve("measured", false, edges, bars),
                        new Chart.Curve(best.family().label(), true, middles, expected)));
    }

    /** Quantiles of the sample over those of the fitted distribution, from the 1st to the 99th percentile. */
    static Chart quantiles(String title, Fits fits) {
        double[] fitted = new double[POINTS];
        double[] measured = new double[POINTS];
        for (int i = 0; i < POINTS; i++) {
            double share = (i + 1) / (POINTS + 1.0);
            fitted[i] = Math.max(0, fits.best().quantile().applyAsDouble(share)) / MILLI;
            measured[i] = fits.quantileNanos(share) / MILLI;
        }
        return quantiles(title, fits.best().family().label() + ", ms", "measured, ms", fitted, measured);
    }

    /** Quantiles of two samples against each other. */
    static Chart quantiles(String title, String across, Fits first, String up, Fits second) {
        double[] x = new double[POINTS];
        double[] y = new double[POINTS];
        for (int i = 0; i < POINTS; i++) {
            double share = (i + 1) / (POINTS + 1.0);
            x[i] = first.quantileNanos(share) / MILLI;
            y[i] = second.quantileNanos(share) / MILLI;
        }
        return quantiles(title, across, up, x, y);
    }

    private static Chart quantiles(String title, String across, String up, double[] x, double[] y) {
        double most = Math.max(x[POINTS - 1], y[POINTS - 1]);
        double[] ends = {0, most};
        return new Chart(title, across, up, false, false, true, List.of(
                new Chart.Curve("quantiles, 1 % to 99 %", false, x, y), new Chart.Curve("equal", true, ends, ends)));
    }

    /** Distribution functions of two samples, up to the 99th percentile. */
    static Chart shares(String title, String firstName, Fits first, String secondName, Fits second) {
        return new Chart(title, "ms", "share of all", false, false, false,
                List.of(shares(firstName, false, first), shares(secondName, true, second)));
    }

    private static Chart.Curve shares(String name, boolean dashed, Fits fits) {
        double[] at = new double[POINTS];
        double[] share = new double[POINTS];
        for (int i = 0; i < POINTS; i++) {
            share[i] = (i + 1) / (POINTS + 1.0);
            at[i] = fits.quantileNanos(share[i]) / MILLI;
        }
        return new Chart.Curve(name, dashed, at, share);
    }
}
