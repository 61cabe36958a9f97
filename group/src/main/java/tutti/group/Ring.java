package tutti.group;

import org.jspecify.annotations.Nullable;

/**
 * A queue whose elements are numbered without gaps and can be read by their number in constant time; it gives up
 * elements at both ends. Grows by doubling.
 *
 * @param <T> of the elements
 */
final class Ring<T> {
    private @Nullable Object[] slots = new Object[16];
    private long first = 1;
    private int size;

    /** Number of the first element, or of the next to be added if there is none. */
    long first() {
        return first;
    }

    /** Number of the last element; {@code first() - 1} if there is none. */
    long last() {
        return first + size - 1;
    }

    int size() {
        return size;
    }

    boolean isEmpty() {
        return size == 0;
    }

    /** Empties it; the next element gets this number. */
    void restart(long next) {
        slots = new Object[16];
        first = next;
        size = 0;
    }

    void add(T element) {
        if (size == slots.length) {
            Object[] wider = new Object[2 * size];
            for (int i = 0; i < size; i++) {
                wider[slot(first + i, wider.length)] = slots[slot(first + i, slots.length)];
            }
            slots = wider;
        }
        slots[slot(first + size, slots.length)] = element;
        size++;
    }

    @SuppressWarnings("unchecked") // only add puts something in
    T get(long number) {
        if (number < first || number > last()) {
            throw new IndexOutOfBoundsException(number + " is not in " + first + " to " + last());
        }
        Object found = slots[slot(number, slots.length)];
        if (found == null) {
            throw new IllegalStateException("nothing at " + number);
        }
        return (T) found;
    }

    T removeFirst() {
        T element = get(first);
        slots[slot(first, slots.length)] = null;
        first++;
        size--;
        return element;
    }

    T removeLast() {
        T element = get(last());
        slots[slot(last(), slots.length)] = null;
        size--;
        return element;
    }

    private static int slot(long number, int slots) {
        return (int) (number & (slots - 1));
    }
}
