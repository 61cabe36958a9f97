package tutti.model;

import java.util.Arrays;

/**
 * A histogram of durations with a relative error below 1 percent: 128 buckets for each power of two. Merging and
 * percentiles are exact functions of what was added, whatever the order.
 */
public final class Latencies {
    private static final int BITS = 7;
    private static final int PER_POWER = 1 << BITS;

    private long[] counts = new long[PER_POWER];
    private long count;
    private double sum;
    private double squares;
    private long max;

    /** Nothing was added yet. */
    public Latencies() {}

    private static int bucket(long nanos) {
        int power = Math.max(0, Long.SIZE - Long.numberOfLeadingZeros(nanos) - BITS - 1);
        return power * PER_POWER + (int) (nanos >>> power);
    }

    /** The middle of a bucket, in nanoseconds. */
    private static double middle(int bucket) {
        int power = Math.max(0, bucket / PER_POWER - 1);
        long low = (long) (bucket - power * PER_POWER) << power;
        return low + (double) ((1L << power) - 1) / 2;
    }

    /** Adds a duration, at least 0 nanoseconds. */
    public void add(long nanos) {
        int bucket = bucket(nanos);
        if (bucket >= counts.length) {
            counts = Arrays.copyOf(counts, Math.max(2 * counts.length, bucket + 1));
        }
        counts[bucket]++;
        count++;
        sum += (double) nanos;
        squares += (double) nanos * (double) nanos;
        max = Math.max(max, nanos);
    }

    /** Adds all of another. */
    public void addAll(Latencies other) {
        if (other.counts.length > counts.length) {
            counts = Arrays.copyOf(counts, other.counts.length);
        }
        for (int i = 0; i < other.counts.length; i++) {
            counts[i] += other.counts[i];
        }
        count += other.count;
        sum += other.sum;
        squares += other.squares;
        max = Math.max(max, other.max);
    }

    /** How many were added. */
    public long count() {
        return count;
    }

    /** Mean in milliseconds; 0 if nothing was added. */
    public double meanMillis() {
        return count == 0 ? 0 : sum / count / 1e6;
    }

    /** Largest in milliseconds. */
    public double maxMillis() {
        return max / 1e6;
    }

    /** The duration in milliseconds that this share (0 to 1) does not exceed; 0 if nothing was added. */
    public double percentileMillis(double share) {
        long wanted = (long) Math.ceil(share * count);
        long seen = 0;
        for (int i = 0; i < counts.length; i++) {
            seen += counts[i];
            if (seen >= wanted && seen > 0) {
                return Math.min(middle(i), (double) max) / 1e6;
            }
        }
        return 0;
    }

    /** Which share (0 to 1) of all that were added does not exceed so many milliseconds; 0 if nothing was added. */
    public double shareWithin(double millis) {
        long seen = 0;
        for (int i = 0; i < counts.length && middle(i) <= millis * 1e6; i++) {
            seen += counts[i];
        }
        return count == 0 ? 0 : (double) seen / count;
    }
}
