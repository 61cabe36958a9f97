package tutti.sim.kernel;

import java.util.Arrays;

/**
 * Finds the next event: a 4-ary heap of keys (time, order), two longs side by side, so that the four children of a node
 * are one or two cache lines and no object is touched while sifting. The order is unique, hence there are no ties, and
 * the sequence of smallest keys does not depend on the heap's shape.
 */
final class EventHeap {
    private static final int ARITY = 4;

    private long[] keys = new long[2 * 64];
    private int size;

    boolean isEmpty() {
        return size == 0;
    }

    int size() {
        return size;
    }

    long firstTime() {
        return keys[0];
    }

    long firstOrder() {
        return keys[1];
    }

    void add(long time, long order) {
        if (2 * size == keys.length) {
            keys = Arrays.copyOf(keys, Math.multiplyExact(keys.length, 2));
        }
        siftUp(size++, time, order);
    }

    void removeFirst() {
        size--;
        if (size > 0) {
            siftDown(0, keys[2 * size], keys[2 * size + 1]);
        }
    }

    /** Keeps only the keys that are asked for. */
    void retain(OrderTest wanted) {
        int kept = 0;
        for (int i = 0; i < size; i++) {
            if (wanted.test(keys[2 * i + 1])) {
                keys[2 * kept] = keys[2 * i];
                keys[2 * kept + 1] = keys[2 * i + 1];
                kept++;
            }
        }
        size = kept;
        for (int i = (size - 2) / ARITY; i >= 0 && size > 1; i--) {
            siftDown(i, keys[2 * i], keys[2 * i + 1]);
        }
    }

    /** Says yes or no to an order. */
    interface OrderTest {
        boolean test(long order);
    }

    private void siftUp(int from, long time, long order) {
        long[] heap = keys;
        int at = from;
        while (at > 0) {
            int parent = (at - 1) / ARITY;
            long parentTime = heap[2 * parent];
            if (parentTime < time || (parentTime == time && heap[2 * parent + 1] < order)) {
                break;
            }
            heap[2 * at] = parentTime;
            heap[2 * at + 1] = heap[2 * parent + 1];
            at = parent;
        }
        heap[2 * at] = time;
        heap[2 * at + 1] = order;
    }

    private void siftDown(int from, long time, long order) {
        long[] heap = keys;
        int at = from;
        while (true) {
            int first = ARITY * at + 1;
            if (first >= size) {
                break;
            }
            int least = first;
            long leastTime = heap[2 * first];
            long leastOrder = heap[2 * first + 1];
            int end = Math.min(first + ARITY, size);
            for (int child = first + 1; child < end; child++) {
                long childTime = heap[2 * child];
                if (childTime < leastTime || (childTime == leastTime && heap[2 * child + 1] < leastOrder)) {
                    least = child;
                    leastTime = childTime;
                    leastOrder = heap[2 * child + 1];
                }
            }
            if (time < leastTime || (time == leastTime && order < leastOrder)) {
                break;
            }
            heap[2 * at] = leastTime;
            heap[2 * at + 1] = leastOrder;
            at = least;
        }
        heap[2 * at] = time;
        heap[2 * at + 1] = order;
    }
}
