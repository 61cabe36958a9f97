package tutti.core.certify;

import java.util.Arrays;

/**
 * How many keys were touched last at which position, above a floor. Takes 8 bytes for each position at which some key was touched last, and
 * half as much again at most. Not safe for use by several threads.
 */
final class LastTouches {
    private static final int FIRST = 64;

    /** What {@link #offsets} count from. */
    private long base;
    /** Ascending, from {@link #begin} to {@link #end}. */
    private int[] offsets = new int[FIRST];
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
        return offsets.length * (2L * Integer.BYTES);
    }

    /** A key more, that was touched last at a position no lower than all others. */
    void add(long position) {
        if (begin == end || base + offsets[end - 1] != position) {
            append(position);
        }
        counts[end - 1]++;
        keys++;
    }

    /** A key that was touched last at {@code before} has been touched at a position no lower than all others. */
    void move(long before, long now) {
        counts[find(before)]--;
        keys--;
        add(now);
    }

    /** Few positions lie between two of them, so the distances to the first and the last one nearly say where it is. */
    private int find(long position) {
        int offset = (int) (position - base);
        int highest = (int) Math.min(end - 1L, (long) begin + offset - offsets[begin]);
        if (offsets[highest] == offset) {
            return highest;
        }
        int lowest = (int) Math.max(begin, end - 1L - offsets[end - 1] + offset);
        return Arrays.binarySearch(offsets, lowest, highest, offset);
    }

    /** Keys that were touched last at this position or before it do not count. */
    void forget(long position) {
        while (begin < end && base + offsets[begin] <= position) {
            keys -= counts[begin++];
        }
    }

    /**
     * The lowest position from {@code floor} on above which there are {@code most} keys at most; but if there are more at the highest one
     * alone, the one before that at which some key was touched last. What is left of positions at which none was does not count: whoever
     * began with an image does not know them.
     */
    long above(long floor, int most) {
        long raised = floor;
        int left = keys;
        for (int at = begin; left > most && at < end - 1; at++) {
            int here = counts[at];
            if (here > 0) {
                left -= here;
                raised = base + offsets[at];
            }
        }
        return raised;
    }

    private void append(long position) {
        if (begin == end) {
            begin = 0;
            end = 0;
            base = position;
        } else if (end == offsets.length || position - base > Integer.MAX_VALUE) {
            makeRoom();
        }
        offsets[end] = (int) (position - base);
        counts[end++] = 0;
    }

    /** Leaves out what is forgotten, and positions at which no key was touched last; takes a quarter more room if that was little. */
    private void makeRoom() {
        int shift = offsets[begin];
        int to = 0;
        for (int from = begin; from < end; from++) {
            if (counts[from] > 0) {
                offsets[to] = offsets[from] - shift;
                counts[to++] = counts[from];
            }
        }
        base += shift;
        begin = 0;
        end = to;
        if (end > offsets.length - offsets.length / 8) {
            offsets = Arrays.copyOf(offsets, offsets.length + offsets.length / 4);
            counts = Arrays.copyOf(counts, counts.length + counts.length / 4);
        }
    }
}
