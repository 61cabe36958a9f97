package tutti.model;

import java.util.Arrays;

/** What the events of one replica's protocol cost, in the order in which they happened, in nanoseconds. */
public final class Costs {
    private long[] nanos = new long[1024];
    private int size;
    private int read;

    /** Nothing was measured yet. */
    public Costs() {}

    /** The next event cost this. */
    void add(long cost) {
        nanos = size == nanos.length ? Arrays.copyOf(nanos, 2 * size) : nanos;
        nanos[size++] = cost;
    }

    /** What the next event cost. */
    long next() {
        if (read == size) {
            throw new IllegalStateException("the measured run had " + size
                    + " events at this replica, and this one has more: it must have the same scenario, seed and build");
        }
        return nanos[read++];
    }

    /** The costs, as another run may be given them. */
    public long[] toArray() {
        return Arrays.copyOf(nanos, size);
    }

    /** Costs that were measured before. */
    public static Costs of(long[] measured) {
        Costs costs = new Costs();
        costs.nanos = measured.clone();
        costs.size = measured.length;
        if (costs.nanos.length == 0) {
            costs.nanos = new long[1];
        }
        return costs;
    }
}
