package tutti.core.certify;

import java.util.Arrays;

/**
 * How many keys were touched last at which position, above a floor. Takes 12 bytes for each position at which some key was touched last, up to
 * twice that. Not safe for use by several threads.
 */
final class LastTouches {
    private static final int FIRST = 64;

    /** Ascending, from {@link #begin} to {@link #end}. */
    private long[] positions = new long[FIRST];
    private int[] counts = new int[FIRST];
    private int begin;
    private int end;
    private int keys;

    /** Keys in all. */
    int keys() {
        return keys;
    }

    /** Bytes taken. */
    long bytes() {
        return positions.length * (long) (Long.BYTES + Integer.BYTES);
    }

    /** A key more, that was touched last at a position no lower than all others. */
    void add(long position) {
        if (begin == end || positions[end - 1] != position) {
            append(position);
        }
        counts[end - 1]++;
        keys++;
    }

    /** A key that was touched last at {@code before} has been touched at a position no lower than all others. */
    void move(long before, long now) {
        counts[Arrays.binarySearch(positions, begin, end, before)]--;
        keys--;
        add(now);
    }

    /** Keys that were touched last at this position or before it do not count. */
    void forget(long position) {
        while (begin < end && positions[begin] <= position) {
            keys -= counts[begin++];
        }
    }

    /** The lowest position from {@code floor} on above which there are {@code most} keys at most, but lower than the highest one. */
    long above(long floor, int most) {
        long raised = floor;
        int left = keys;
        for (int at = begin; left > most && at < end - 1; at++) {
            left -= counts[at];
            raised = positions[at];
        }
        return raised;
    }

    private void append(long position) {
        if (end == positions.length) {
            makeRoom();
        }
        positions[end] = position;
        counts[end++] = 0;
    }

    /** Leaves out what is forgotten, and positions at which no key was touched last; doubles the room if that was less than half of it. */
    private void makeRoom() {
        int to = 0;
        for (int from = begin; from < end; from++) {
            if (counts[from] > 0) {
                positions[to] = positions[from];
                counts[to++] = counts[from];
            }
        }
        begin = 0;
        end = to;
        if (end > positions.length / 2) {
            positions = Arrays.copyOf(positions, 2 * positions.length);
            counts = Arrays.copyOf(counts, 2 * counts.length);
        }
    }
}
