package tutti.server.watch;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Counts durations in classes of which each is about a tenth wider than the one before it, so that a quantile is known to a tenth. Safe for use
 * from any thread.
 */
public final class Latencies {
    private static final int CLASSES = 192;
    private static final double STEP = Math.log(1.1);
    private static final double FIRST_MILLIS = 0.02;

    private final AtomicLongArray counts = new AtomicLongArray(CLASSES);

    /** One more. */
    public void add(long nanos) {
        double millis = Math.max(FIRST_MILLIS, nanos / 1e6);
        counts.incrementAndGet((int) Math.min(CLASSES - 1, Math.log(millis / FIRST_MILLIS) / STEP));
    }

    /** All so far, by class. */
    long[] counts() {
        long[] now = new long[CLASSES];
        for (int i = 0; i < CLASSES; i++) {
            now[i] = counts.get(i);
        }
        return now;
    }

    /**
     * A quantile of what was added between two looks.
     *
     * @param part of them that took no longer, above 0 and up to 1
     * @return in milliseconds; 0 if there were none
     */
    static double quantile(long[] before, long[] now, double part) {
        long all = 0;
        for (int i = 0; i < CLASSES; i++) {
            all += now[i] - before[i];
        }
        long wanted = (long) Math.ceil(all * part);
        long seen = 0;
        for (int i = 0; i < CLASSES && all > 0; i++) {
            seen += now[i] - before[i];
            if (seen >= wanted) {
                return Math.round(FIRST_MILLIS * Math.exp((i + 0.5) * STEP) * 100) / 100.0;
            }
        }
        return 0;
    }
}
