package tutti.check.column;

/**
 * Numbers distinct longs 0, 1, 2, … in the order in which they come, and finds the number again. Open addressing with
 * linear probing, at most half full; at most 2^29 longs. One thread.
 */
public final class LongIndex {
    private final LongColumn values = new LongColumn();
    private int[] slots = new int[32];

    /** The number of this value, given now if it is new. */
    public int add(long value) {
        int slot = slot(value);
        if (slots[slot] == 0) {
            values.add(value);
            slots[slot] = values.size();
            if (2 * values.size() > slots.length) {
                grow();
            }
            return values.size() - 1;
        }
        return slots[slot] - 1;
    }

    /** The number of this value, or -1 if it has none. */
    public int find(long value) {
        return slots[slot(value)] - 1;
    }

    /** The value of this number. */
    public long value(int number) {
        return values.get(number);
    }

    /** How many values have a number. */
    public int size() {
        return values.size();
    }

    /** All values by number. */
    public long[] toArray() {
        return values.toArray();
    }

    /** A well spread 64-bit hash (the finalizer of MurmurHash3). */
    public static long mix(long value) {
        long z = value;
        z = (z ^ (z >>> 33)) * 0xff51_afd7_ed55_8ccdL;
        z = (z ^ (z >>> 33)) * 0xc4ce_b9fe_1a85_ec53L;
        return z ^ (z >>> 33);
    }

    private int slot(long value) {
        int mask = slots.length - 1;
        int slot = (int) mix(value) & mask;
        while (slots[slot] != 0 && values.get(slots[slot] - 1) != value) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    private void grow() {
        if (slots.length == 1 << 30) {
            throw new IllegalStateException("an index cannot hold more than " + values.size() + " values");
        }
        slots = new int[2 * slots.length];
        for (int i = 0; i < values.size(); i++) {
            slots[slot(values.get(i))] = i + 1;
        }
    }
}
