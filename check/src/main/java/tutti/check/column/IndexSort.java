package tutti.check.column;

import java.util.Arrays;

/** Sorts indexes by a column of longs that they point into. Stable merge sort, linear where the input is sorted. */
public final class IndexSort {
    private static final int INSERTION_MAX = 12;

    private IndexSort() {}

    /** Sorts, ascending by key; equal keys keep their order. */
    public static void sort(int[] indexes, long[] keys) {
        if (!sorted(indexes, 0, indexes.length, keys)) {
            sort(Arrays.copyOf(indexes, indexes.length), indexes, 0, indexes.length, keys);
        }
    }

    // Both arrays hold the same between the bounds; afterwards "to" is sorted there.
    private static void sort(int[] from, int[] to, int low, int high, long[] keys) {
        if (high - low <= INSERTION_MAX) {
            for (int i = low + 1; i < high; i++) {
                int index = to[i];
                int at = i;
                while (at > low && keys[to[at - 1]] > keys[index]) {
                    to[at] = to[at - 1];
                    at--;
                }
                to[at] = index;
            }
            return;
        }
        int middle = (low + high) >>> 1;
        sort(to, from, low, middle, keys);
        sort(to, from, middle, high, keys);
        int left = low;
        int right = middle;
        for (int i = low; i < high; i++) {
            if (left < middle && (right >= high || keys[from[left]] <= keys[from[right]])) {
                to[i] = from[left++];
            } else {
                to[i] = from[right++];
            }
        }
    }

    private static boolean sorted(int[] indexes, int low, int high, long[] keys) {
        for (int i = low + 1; i < high; i++) {
            if (keys[indexes[i - 1]] > keys[indexes[i]]) {
                return false;
            }
        }
        return true;
    }
}
