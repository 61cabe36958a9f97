package tutti.model;

import org.jspecify.annotations.Nullable;

/**
 * A map from any long to an object: open addressing with linear probing, at most half full, holes closed when a key is
 * removed. Not for use by several threads.
 *
 * @param <V> of values
 */
final class LongMap<V> {
    private static final int CAPACITY_MIN = 64;
    private static final long GOLDEN = 0x9E37_79B9_7F4A_7C15L;

    private long[] keys = new long[CAPACITY_MIN];
    private @Nullable Object[] values = new Object[CAPACITY_MIN];
    private int shift = Long.SIZE - Integer.numberOfTrailingZeros(CAPACITY_MIN);
    private int size;

    /** Number of keys. */
    int size() {
        return size;
    }

    private int home(long key) {
        return (int) ((key * GOLDEN) >>> shift);
    }

    /** The value of a key, or null. */
    @SuppressWarnings("unchecked") // Only put stores values.
    @Nullable
    V get(long key) {
        int mask = keys.length - 1;
        for (int at = home(key);; at = at + 1 & mask) {
            Object value = values[at];
            if (value == null || keys[at] == key) {
                return (V) value;
            }
        }
    }

    /** Sets the value of a key. */
    void put(long key, V value) {
        int mask = keys.length - 1;
        int at = home(key);
        while (values[at] != null && keys[at] != key) {
            at = at + 1 & mask;
        }
        if (values[at] == null) {
            keys[at] = key;
            values[at] = value;
            if (2 * ++size > keys.length) {
                grow();
            }
        } else {
            values[at] = value;
        }
    }

    private void grow() {
        long[] oldKeys = keys;
        @Nullable
        Object[] oldValues = values;
        keys = new long[2 * oldKeys.length];
        values = new Object[keys.length];
        shift--;
        int mask = keys.length - 1;
        for (int i = 0; i < oldKeys.length; i++) {
            if (oldValues[i] != null) {
                int at = home(oldKeys[i]);
                while (values[at] != null) {
                    at = at + 1 & mask;
                }
                keys[at] = oldKeys[i];
                values[at] = oldValues[i];
            }
        }
    }

    /** Takes a key out; without effect if it is not there. */
    void remove(long key) {
        int mask = keys.length - 1;
        int hole = home(key);
        while (values[hole] != null && keys[hole] != key) {
            hole = hole + 1 & mask;
        }
        if (values[hole] == null) {
            return;
        }
        size--;
        // Whoever stands behind the hole and could stand in it moves up.
        for (int at = hole + 1 & mask; values[at] != null; at = at + 1 & mask) {
            int home = home(keys[at]);
            if ((at - home & mask) >= (at - hole & mask)) {
                keys[hole] = keys[at];
                values[hole] = values[at];
                hole = at;
            }
        }
        values[hole] = null;
    }
}
