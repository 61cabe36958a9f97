package tutti.macro;

/**
 * What the operations of one replica cost: for each an exponentially weighted mean, to which each observation adds an eighth of what
 * it and the two before it have in the middle. A thread that was put aside while it was watched seems to have taken a thousand
 * times as long as it did: alone, such an observation is never in the middle. Written by many threads without locks: an observation that
 * gets lost does no harm.
 */
final class Costs {
    /** An operation is known from so many observations on. */
    private static final int KNOWN = 3;
    private static final double WEIGHT = 0.125;

    private final double[] nanos;
    /** The last observation of each operation, and the one before it. */
    private final double[] last;
    private final double[] secondLast;
    private final int[] seen;
    private double meanWriteNanos;
    private long observations;

    Costs(int operations) {
        nanos = new double[operations];
        last = new double[operations];
        secondLast = new double[operations];
        seen = new int[operations];
    }

    /** Mean in nanoseconds; the least that was seen as long as the operation is not {@link #known}, 0 without any observation. */
    double nanos(int operation) {
        return nanos[operation];
    }

    /** Whether the operation was observed often enough for one observation not to decide. */
    boolean known(int operation) {
        return seen[operation] >= KNOWN;
    }

    /** Mean of all writes that were observed, in nanoseconds. */
    double meanWriteNanos() {
        return meanWriteNanos;
    }

    long observations() {
        return observations;
    }

    void observeRead(int operation, long took) {
        observe(operation, Math.max(1.0, (double) took));
        observations++;
    }

    void observeWrite(int operation, long took) {
        observe(operation, Math.max(1.0, (double) took));
        meanWriteNanos = mean(meanWriteNanos, Math.max(1.0, (double) took));
    }

    private void observe(int operation, double took) {
        double before = last[operation];
        double earlier = secondLast[operation];
        secondLast[operation] = before;
        last[operation] = took;
        int times = seen[operation];
        if (times < KNOWN) {
            seen[operation] = times + 1;
        }
        if (times == 0) {
            nanos[operation] = took;
        } else if (times == 1) {
            nanos[operation] = Math.min(before, took);
        } else {
            double middle = Math.max(Math.min(took, before), Math.min(Math.max(took, before), earlier));
            nanos[operation] = times < KNOWN ? middle : mean(nanos[operation], middle);
        }
    }

    private static double mean(double before, double took) {
        return before == 0 ? took : before + (took - before) * WEIGHT;
    }
}
