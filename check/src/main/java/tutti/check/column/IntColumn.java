package tutti.check.column;

import java.util.Arrays;

/** A growing array of ints. One thread. */
public final class IntColumn {
    private int[] values;
    private int size;

    /** Empty. */
    public IntColumn() {
        this(16);
    }

    /** Empty, with room for so many. */
    public IntColumn(int capacity) {
        values = new int[Math.max(1, capacity)];
    }

    /** At the end. */
    public void add(int value) {
        if (size == values.length) {
            values = Arrays.copyOf(values, grown(size));
        }
        values[size++] = value;
    }

    /** The value at an index from 0 to {@link #size} exclusive. */
    public int get(int index) {
        return values[index];
    }

    /** Replaces a value that is there. */
    public void set(int index, int value) {
        values[index] = value;
    }

    /** Takes the last one away and returns it. */
    public int removeLast() {
        return values[--size];
    }

    /** How many. */
    public int size() {
        return size;
    }

    /** A copy. */
    public int[] toArray() {
        return Arrays.copyOf(values, size);
    }

    static int grown(int size) {
        int larger = size + (size >> 1) + 16;
        if (larger < 0) {
            throw new IllegalStateException("a column cannot hold more than " + size + " values");
        }
        return larger;
    }
}
