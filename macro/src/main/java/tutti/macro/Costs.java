package tutti.macro;

/**
 * What the operations of one replica cost: for each an exponentially weighted mean of observed times, the newest
 * observation weighing an eighth. Written by many threads without locks: an observation that gets lost does no harm.
 */
final class Costs {
    private static final double WEIGHT = 0.125;

    private final double[] nanos;
    private double meanWriteNanos;
    private long observations;

    Costs(int operations) {
        nanos = new double[operations];
    }

    /** Mean in nanoseconds, 0 if there was no observation yet. */
    double nanos(int operation) {
        return nanos[operation];
    }

    /** Mean of all writes that were observed, in nanoseconds. */
    double meanWriteNanos() {
        return meanWriteNanos;
    }

    long observations() {
        return observations;
    }

    void observeRead(int operation, long took) {
        nanos[operation] = mean(nanos[operation], took);
        observations++;
    }

    void observeWrite(int operation, long took) {
        nanos[operation] = mean(nanos[operation], took);
        meanWriteNanos = mean(meanWriteNanos, took);
    }

    private static double mean(double before, long took) {
        double now = Math.max(1, took);
        return before == 0 ? now : before + (now - before) * WEIGHT;
    }
}
