package tutti.core.certify;

import java.nio.ByteBuffer;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;

/**
 * Who touched which key last, in the total order: for every key the positions of its last write (update or exclusive),
 * its last exclusive touch and its last reference. Answers in a few probes whether a transaction may commit.
 *
 * <p>
 * <b>Layout.</b> Open addressing with linear probing over primitive arrays: 8 bytes of hash and three 4-byte offsets of
 * positions from a moving base, 20 bytes a slot. Capacities need not be powers of two (a slot is chosen by multiplying,
 * not masking), so the table grows by a factor of 1.5 and is between 56 % and 84 % full in steady state: at most 36
 * bytes per live key.
 *
 * <p>
 * <b>Forgetting.</b> {@link #forget} sets a floor; keys last touched at or below it are dropped when the table is next
 * rebuilt. Callers never ask about an interval that begins below the floor, so when exactly that happens cannot be
 * observed: replicas decide alike even if they rebuild at different times.
 *
 * <p>
 * Not safe for use by several threads.
 */
public final class CertificationIndex {
    /** Largest distance between the floor and the newest position. */
    public static final long SPAN_MAX = Integer.MAX_VALUE - 1L;

    private static final int CAPACITY_MIN = 64;
    private static final int OFFSETS = 3;
    private static final int WRITTEN = 0;
    private static final int EXCLUSIVE = 1;
    private static final int REFERENCED = 2;
    private static final double FULL = 0.84;
    private static final double AFTER_REBUILD = 0.56;

    /** Position that offset 0 stands for; offset 0 itself means never. */
    private long base;
    private long floor;
    private long newest;
    private long[] hashes = new long[CAPACITY_MIN];
    /** Per slot: offset of the last write, the last exclusive touch, the last reference. All zero: the slot is free. */
    private int[] offsets = new int[CAPACITY_MIN * OFFSETS];
    private int used;
    private int limit = (int) (CAPACITY_MIN * FULL);

    /** Number of keys held, those not yet dropped below the floor included. */
    public int size() {
        return used;
    }

    /** Bytes taken by the arrays. */
    public long bytes() {
        return hashes.length * 8L + offsets.length * 4L;
    }

    /** Positions up to this one may be forgotten already. */
    public long floor() {
        return floor;
    }

    /**
     * Looks for a conflict between a transaction and those that touched its keys while it ran.
     *
     * @param begun exclusive keys are compared with touches after this position; at least {@link #floor()}
     * @param lastCommitted all other keys are compared with touches after this position; at least {@code begun}
     * @return index in {@code keys} of the first key with a conflict, or -1 if there is none
     */
    public int conflict(KeySet keys, long begun, long lastCommitted) {
        if (begun < floor || lastCommitted < begun) {
            throw new IllegalArgumentException(
                    "asked about positions after " + begun + " and " + lastCommitted + ", floor is " + floor);
        }
        for (int i = 0; i < keys.size(); i++) {
            KeyKind kind = keys.kind(i);
            long since = (kind == KeyKind.EXCLUSIVE ? begun : lastCommitted) - base;
            if (lastOpposed(keys.hash(i), kind) > since) {
                return i;
            }
        }
        return -1;
    }

    /** Position of the last touch that a touch of this kind conflicts with, or 0 if none is known. */
    public long lastConflicting(long hash, KeyKind kind) {
        int offset = lastOpposed(hash, kind);
        return offset == 0 ? 0 : base + offset;
    }

    private int lastOpposed(long hash, KeyKind kind) {
        int at = find(hash) * OFFSETS;
        return switch (kind) {
            case UPDATE -> offsets[at + WRITTEN];
            case EXCLUSIVE -> Math.max(offsets[at + WRITTEN], offsets[at + REFERENCED]);
            case REFERENCE -> offsets[at + EXCLUSIVE];
        };
    }

    /**
     * Notes that a transaction at this position touched these keys.
     *
     * @param position larger than the floor and than any noted before, or equal to the last
     */
    public void note(KeySet keys, long position) {
        if (position <= floor || position < newest) {
            throw new IllegalArgumentException("noted position " + position + " after " + newest + ", floor " + floor);
        }
        newest = position;
        if (position - base > SPAN_MAX) {
            rebuild();
        }
        for (int i = 0; i < keys.size(); i++) {
            int slot = find(keys.hash(i));
            if (isFree(slot)) {
                if (used >= limit) {
                    rebuild();
                    slot = find(keys.hash(i));
                }
                hashes[slot] = keys.hash(i);
                used++;
            }
            int offset = Math.toIntExact(position - base);
            int at = slot * OFFSETS;
            switch (keys.kind(i)) {
                case UPDATE -> offsets[at + WRITTEN] = offset;
                case EXCLUSIVE -> {
                    offsets[at + WRITTEN] = offset;
                    offsets[at + EXCLUSIVE] = offset;
                }
                case REFERENCE -> offsets[at + REFERENCED] = offset;
            }
        }
    }

    /**
     * Allows everything up to {@code position} to be forgotten. Lower than the present floor: no effect.
     *
     * @param position at most the newest position noted or {@code SPAN_MAX} below the next one
     */
    public void forget(long position) {
        floor = Math.max(floor, position);
    }

    private boolean isFree(int slot) {
        int at = slot * OFFSETS;
        return (offsets[at] | offsets[at + 1] | offsets[at + 2]) == 0;
    }

    private int find(long hash) {
        int capacity = hashes.length;
        // Fibonacci mixing, then the high bits scaled to the capacity: no division, any capacity.
        int slot = (int) Math.unsignedMultiplyHigh(hash * 0x9E3779B97F4A7C15L, capacity);
        while (hashes[slot] != hash && !isFree(slot)) {
            if (++slot == capacity) {
                slot = 0;
            }
        }
        // A free slot may carry hash 0 by chance of initialisation; its offsets are zero then, which reads as "never".
        return slot;
    }

    /** Drops what lies at or below the floor, moves the base there, and leaves the table 56 % full. */
    private void rebuild() {
        long[] oldHashes = hashes;
        int[] oldOffsets = offsets;
        int live = 0;
        int dead = Math.toIntExact(Math.min(Math.max(floor - base, 0), SPAN_MAX));
        for (int at = 0; at < oldOffsets.length; at += OFFSETS) {
            if (last(oldOffsets, at) > dead) {
                live++;
            }
        }
        allocate(live);
        for (int slot = 0; slot < oldHashes.length; slot++) {
            int from = slot * OFFSETS;
            if (last(oldOffsets, from) > dead) {
                int to = find(oldHashes[slot]);
                hashes[to] = oldHashes[slot];
                for (int i = 0; i < OFFSETS; i++) {
                    offsets[to * OFFSETS + i] = Math.max(0, oldOffsets[from + i] - dead);
                }
            }
        }
        used = live;
        base += dead;
        if (newest - base > SPAN_MAX) {
            throw new IllegalStateException("positions " + base + " to " + newest + " span more than " + SPAN_MAX);
        }
    }

    private void allocate(int live) {
        long capacity = Math.max(CAPACITY_MIN, (long) Math.ceil((live + 1) / AFTER_REBUILD));
        if (capacity > Integer.MAX_VALUE / OFFSETS - 8) {
            throw new IllegalStateException(live + " live keys are more than the certification index can hold");
        }
        hashes = new long[(int) capacity];
        offsets = new int[(int) capacity * OFFSETS];
        limit = (int) (capacity * FULL);
    }

    private static int last(int[] offsets, int at) {
        return Math.max(offsets[at], Math.max(offsets[at + 1], offsets[at + 2]));
    }

    /** Bytes that {@link #encode} writes at most. */
    public int encodedSize() {
        return 28 + used * (8 + 4 * OFFSETS);
    }

    /** Appends the keys above the floor at the buffer's position. */
    public void encode(ByteBuffer to) {
        rebuild();
        to.putLong(base).putLong(floor).putLong(newest).putInt(used);
        for (int slot = 0; slot < hashes.length; slot++) {
            if (!isFree(slot)) {
                to.putLong(hashes[slot]);
                for (int i = 0; i < OFFSETS; i++) {
                    to.putInt(offsets[slot * OFFSETS + i]);
                }
            }
        }
    }

    /** Reads what {@link #encode} wrote, and advances the buffer. */
    public static CertificationIndex decode(ByteBuffer from) {
        CertificationIndex index = new CertificationIndex();
        index.base = from.getLong();
        index.floor = from.getLong();
        index.newest = from.getLong();
        int size = from.getInt();
        if (size < 0 || (long) size * (8 + 4 * OFFSETS) > from.remaining()) {
            throw new IllegalArgumentException("index of " + size + " keys in " + from.remaining() + " bytes");
        }
        index.allocate(size);
        for (int i = 0; i < size; i++) {
            long hash = from.getLong();
            int slot = index.find(hash);
            index.hashes[slot] = hash;
            for (int k = 0; k < OFFSETS; k++) {
                index.offsets[slot * OFFSETS + k] = from.getInt();
            }
        }
        index.used = size;
        return index;
    }
}
