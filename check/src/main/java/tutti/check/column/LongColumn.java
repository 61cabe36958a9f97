package tutti.check.column;

import java.util.Arrays;

/** A growing array of longs. One thread. */
public final class LongColumn {
    private long[] values = new long[16];
    private int size;

    /** At the end. */
    public void add(long value) {
        if (size == values.length) {
            values = Arrays.copyOf(values, IntColumn.grown(size));
        }
        values[size++] = value;
    }

    /** The value at an index from 0 to {@link #size} exclusive. */
    public long get(int index) {
        return values[index];
    }

    /** Replaces a value that is there. */
    public void set(int index, long value) {
        values[index] = value;
    }

    /** How many. */
    public int size() {
        return size;
    }

    /** A copy. */
    public long[] toArray() {
        return Arrays.copyOf(values, size);
    }
}
