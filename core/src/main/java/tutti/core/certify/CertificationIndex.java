package tutti.core.certify;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;

/**
 * Who touched which key last, in the total order: for every key the positions of its last write (update or exclusive),
 * its last exclusive touch and its last reference. Answers in a few probes whether a transaction may commit.
 *
 * <p>
 * <b>Layout.</b> Open addressing with linear probing in one primitive array: 8 bytes of mixed hash and three 4-byte offsets
 * of positions from a moving base, 20 bytes a slot. What a slot may hold grows with its number: a key's home is its mixed
 * hash scaled to the capacity, and keys that crowd lie in order of their hashes. So a search for a key that is not there
 * ends early, a rebuild is one pass over both arrays, and capacities need not be powers of two. The table is between 52 % and 80 %
 * full in steady state: at most 39 bytes per live key, except while it is rebuilt, when old and new are there. Memory is
 * what a search waits for, so all homes of a transaction are read at once before the first of them is needed.
 *
 * <p>
 * <b>Forgetting.</b> {@link #forget} sets a floor; keys last touched at or below it are dropped when the table is next
 * rebuilt. Callers never ask about an interval that begins below the floor, so when exactly that happens cannot be
 * observed: replicas decide alike even if they rebuild at different times.
 *
 * <p>
 * <b>A bound.</b> {@link #bound} sets the floor as high as it must be for so many keys to lie above it at most. How many have been touched last at
 * each position follows from the keys above the floor alone, so replicas that have noted the same bound it alike, one that began with an {@link Image}
 * included.
 *
 * <p>
 * Not safe for use by several threads.
 */
public final class CertificationIndex {
    /** Largest distance between the floor and the newest position. */
    public static final long SPAN_MAX = Integer.MAX_VALUE - 1L;

    private static final int CAPACITY_MIN = 64;
    /** Slots behind the last home, for keys that crowd there; doubled if ever it does not suffice. */
    private static final int TAIL_SLOTS = 256;
    /** Ints per slot: the mixed hash in two, then offsets of the last write, exclusive touch and reference. */
    private static final int SLOT = 5;
    private static final int WRITTEN = 2;
    private static final int EXCLUSIVE = 3;
    private static final int REFERENCED = 4;
    private static final double FULL = 0.80;
    private static final double AFTER_REBUILD = 0.52;

    /** Position that offset 0 stands for; offset 0 itself means never. */
    private long base;
    private long floor;
    /** The floor that {@link #bound} has set last. */
    private long bounded;
    private long newest;
    /** Number of homes; the table has {@link #tail} slots more. */
    private int capacity = CAPACITY_MIN;
    private int tail = CAPACITY_MIN;
    /** A slot whose hash is 0 is free. */
    private int[] table = new int[(CAPACITY_MIN + CAPACITY_MIN) * SLOT];
    private int used;
    /** Of the keys above the floor. */
    private final LastTouches touches = new LastTouches();
    private int limit = (int) (CAPACITY_MIN * FULL);
    /** Written by {@link #touch} and never read: without it the compiler would see that touching has no result. */
    @SuppressWarnings("UnusedVariable")
    private int touched;

    /** Number of keys held, those not yet dropped below the floor included. */
    public int size() {
        return used;
    }

    /** Bytes taken by the table. */
    public long bytes() {
        return table.length * 4L + touches.bytes();
    }

    /** Keys above the floor. */
    public int live() {
        return touches.keys();
    }

    /** Positions up to this one may be forgotten already. */
    public long floor() {
        return floor;
    }

    /**
     * Looks for a conflict between a transaction and those that touched its keys while it ran.
     *
     * @param begun exclusive keys and those that were read are compared with touches after this position; at least
     *            {@link #floor()}
     * @param lastCommitted all other keys are compared with touches after this position; at least {@code begun}
     * @return index in {@code keys} of the first key with a conflict, or -1 if there is none
     */
    public int conflict(KeySet keys, long begun, long lastCommitted) {
        if (begun < floor || lastCommitted < begun) {
            throw new IllegalArgumentException(
                    "asked about positions after " + begun + " and " + lastCommitted + ", floor is " + floor);
        }
        touch(keys);
        for (int i = 0; i < keys.size(); i++) {
            KeyKind kind = keys.kind(i);
            long since = (kind == KeyKind.UPDATE || kind == KeyKind.REFERENCE ? lastCommitted : begun) - base;
            if (lastOpposed(keys.hash(i), kind) > since) {
                return i;
            }
        }
        return -1;
    }

    /**
     * Why a transaction must not commit for what it wrote.
     *
     * @return null if it may; too old if what it would have to be compared with may be forgotten
     * @see #conflict
     */
    public @Nullable AbortReason certify(KeySet keys, long begun, long lastCommitted) {
        return begun < floor() ? new AbortReason.TooOld(begun, floor()) : lost(keys, begun, lastCommitted);
    }

    /**
     * The same, of one that nothing that was allowed to be {@linkplain #forget forgotten} matters to, but what the bound had forgotten may.
     *
     * @throws IllegalArgumentException if something was forgotten otherwise
     */
    public @Nullable AbortReason certifyOpen(KeySet keys, long begun, long lastCommitted) {
        return begun < bounded ? new AbortReason.TooOld(begun, floor()) : lost(keys, begun, lastCommitted);
    }

    /** The same, if it is certain that nothing is forgotten that matters. */
    public @Nullable AbortReason lost(KeySet keys, long begun, long lastCommitted) {
        int lost = conflict(keys, begun, lastCommitted);
        return lost < 0
                ? null
                : new AbortReason.LostCertification(lost, lastConflicting(keys.hash(lost), keys.kind(lost)));
    }

    /** Why a transaction must not commit for what it read in a snapshot of this position or later; null if it may. */
    public @Nullable AbortReason stale(KeySet reads, long begun) {
        int stale = conflict(reads, begun, begun);
        return stale < 0 ? null : new AbortReason.StaleRead(lastConflicting(reads.hash(stale), reads.kind(stale)));
    }

    /**
     * After which position a transaction that asks to commit here is to be compared by all of its keys: where its engine has compared its changes with everything that was
     * visible when it held all its locks, after that; but no engine compares them with what others have only {@linkplain KeySet#LOCKS locked}. Whoever asks says so
     * in its message, so that all decide alike.
     *
     * @param begun a position visible before its first snapshot
     * @param lastCommitted the position visible when it held all its locks
     */
    public long comparedAfter(long begun, long lastCommitted) {
        return lastConflicting(KeySet.LOCKS, KeyKind.EXCLUSIVE) > begun ? begun : lastCommitted;
    }

    /** Position of the last touch that a touch of this kind conflicts with, or 0 if none is known. */
    public long lastConflicting(long hash, KeyKind kind) {
        int offset = lastOpposed(hash, kind);
        return offset == 0 ? 0 : base + offset;
    }

    private int lastOpposed(long hash, KeyKind kind) {
        long mixed = mix(hash);
        int at = find(mixed);
        if (at == table.length || hashAt(at) != mixed) {
            return 0;
        }
        return switch (kind) {
            case UPDATE, READ -> table[at + WRITTEN];
            case EXCLUSIVE, CREATED, GONE, SCAN -> Math.max(table[at + WRITTEN], table[at + REFERENCED]);
            case REFERENCE -> table[at + EXCLUSIVE];
            case RELEASED -> 0;
        };
    }

    /**
     * Notes that a transaction at this position touched these keys.
     *
     * @param keys of a write set: kinds that {@linkplain KeyKind#writes write}
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
            if (keys.kind(i) == KeyKind.RELEASED) {
                continue;
            }
            int at = findOrInsert(mix(keys.hash(i)));
            int offset = Math.toIntExact(position - base);
            touched(base + last(table, at), position);
            switch (keys.kind(i)) {
                case UPDATE -> table[at + WRITTEN] = offset;
                case EXCLUSIVE, CREATED, GONE -> {
                    table[at + WRITTEN] = offset;
                    table[at + EXCLUSIVE] = offset;
                }
                case REFERENCE -> table[at + REFERENCED] = offset;
                case READ, SCAN, RELEASED -> throw new IllegalArgumentException("a read was noted as a write: " + keys);
            }
        }
    }

    /**
     * Allows everything up to {@code position} to be forgotten. Lower than the present floor: no effect.
     *
     * @param position at most the newest position noted or {@code SPAN_MAX} below the next one
     */
    public void forget(long position) {
        if (position > floor) {
            floor = position;
            touches.forget(floor);
        }
    }

    /** Allows as much to be forgotten as it takes for {@code keys} keys to be left at most, but never what was noted last. */
    public void bound(int keys) {
        long edge = touches.above(floor, keys);
        if (edge > floor) {
            bounded = edge;
            forget(edge);
        }
    }

    /** A key has been touched, the last time before that at a position which lies at or below the floor if there was none. */
    private void touched(long before, long now) {
        if (before > floor) {
            touches.move(before, now);
        } else {
            touches.add(now);
        }
    }

    /** Fibonacci mixing, so that the high bits depend on all; never 0, which marks free slots. */
    private static long mix(long hash) {
        long mixed = hash * 0x9E3779B97F4A7C15L;
        return mixed == 0 ? 1 : mixed;
    }

    /** Index in the table of the home of a mixed hash: the hash scaled to the capacity, without a division. */
    private int home(long mixed) {
        return (int) Math.unsignedMultiplyHigh(mixed, capacity) * SLOT;
    }

    private long hashAt(int at) {
        return (long) table[at] << Integer.SIZE | Integer.toUnsignedLong(table[at + 1]);
    }

    /** Has the memory of all homes fetched at the same time; searches would have it fetched one after another. */
    private void touch(KeySet keys) {
        int sum = 0;
        for (int i = 0; i < keys.size(); i++) {
            sum += table[home(mix(keys.hash(i)))];
        }
        touched = sum;
    }

    /** Index in the table where a mixed hash is or, in order, would have to be; the table's length if that is its end. */
    private int find(long mixed) {
        int at = home(mixed);
        while (at < table.length) {
            long there = hashAt(at);
            if (there == 0 || Long.compareUnsigned(there, mixed) >= 0) {
                return at;
            }
            at += SLOT;
        }
        return at;
    }

    private int findOrInsert(long mixed) {
        int at = find(mixed);
        if (at < table.length && hashAt(at) == mixed) {
            return at;
        }
        if (used >= limit) {
            rebuild();
            at = find(mixed);
        }
        int free = at;
        while (free == table.length || hashAt(free) != 0) {
            if (free == table.length) {
                tail = Math.multiplyExact(tail, 2);
                rebuild();
                at = find(mixed);
                free = at;
            } else {
                free += SLOT;
            }
        }
        System.arraycopy(table, at, table, at + SLOT, free - at);
        table[at] = (int) (mixed >>> Integer.SIZE);
        table[at + 1] = (int) mixed;
        table[at + WRITTEN] = 0;
        table[at + EXCLUSIVE] = 0;
        table[at + REFERENCED] = 0;
        used++;
        return at;
    }

    /** Drops what lies at or below the floor, moves the base there, and leaves the table 52 % full. */
    private void rebuild() {
        int[] old = table;
        int live = 0;
        int dead = Math.toIntExact(Math.min(Math.max(floor - base, 0), SPAN_MAX));
        for (int from = 0; from < old.length; from += SLOT) {
            if (last(old, from) > dead) {
                live++;
            }
        }
        allocate(live);
        int next = 0;
        for (int from = 0; from < old.length; from += SLOT) {
            if (last(old, from) > dead) {
                next = append(next, old[from], old[from + 1]);
                for (int i = WRITTEN; i < SLOT; i++) {
                    table[next + i] = Math.max(0, old[from + i] - dead);
                }
                next += SLOT;
            }
        }
        used = live;
        base += dead;
        if (newest - base > SPAN_MAX) {
            throw new IllegalStateException("positions " + base + " to " + newest + " span more than " + SPAN_MAX);
        }
    }

    /** Puts a hash that is larger than all before it at {@code next} or behind, and returns where. */
    private int append(int next, int high, int low) {
        int at = Math.max(next, home((long) high << Integer.SIZE | Integer.toUnsignedLong(low)));
        if (at == table.length) {
            // Crowded beyond the tail: very many keys are nearly the same. What is there so far stays where it is.
            tail = Math.multiplyExact(tail, 2);
            table = Arrays.copyOf(table, tableLength(capacity, tail));
        }
        table[at] = high;
        table[at + 1] = low;
        return at;
    }

    private void allocate(int live) {
        long homes = Math.max(CAPACITY_MIN, (long) Math.ceil((live + 1) / AFTER_REBUILD));
        tail = Math.max(tail, (int) Math.min(homes, TAIL_SLOTS));
        table = new int[tableLength(homes, tail)];
        capacity = (int) homes;
        limit = (int) (homes * FULL);
    }

    private static int tableLength(long homes, int tail) {
        long length = (homes + tail) * SLOT;
        if (length > Integer.MAX_VALUE - 8) {
            throw new IllegalStateException(
                    "the certification index cannot hold more than " + homes * AFTER_REBUILD + " live keys");
        }
        return (int) length;
    }

    private static int last(int[] slots, int at) {
        return Math.max(slots[at + WRITTEN], Math.max(slots[at + EXCLUSIVE], slots[at + REFERENCED]));
    }

    /** What is decided from, as it is written: the keys above the floor. */
    public record Image(long base, long floor, long newest, int[] slots) {
        /** How it is written. */
        public static final Schema<Image> SCHEMA = Schema.part("certification index", Image.class).of(
                Field.of("base", Types.LONG, Image::base), Field.of("floor", Types.LONG, Image::floor),
                Field.of("newest", Types.LONG, Image::newest),
                Field.of("slots", Types.ints(Integer.MAX_VALUE / Integer.BYTES), Image::slots), Image::new);

        /** @throws IllegalArgumentException if the slots are not whole ones, in order */
        public Image {
            if (slots.length % SLOT != 0) {
                throw new IllegalArgumentException(slots.length + " numbers are no slots of " + SLOT);
            }
            for (int at = SLOT; at < slots.length; at += SLOT) {
                if (Long.compareUnsigned(mixed(slots, at), mixed(slots, at - SLOT)) <= 0) {
                    throw new IllegalArgumentException("the keys of the index are not in order");
                }
            }
            if (slots.length > 0 && mixed(slots, 0) == 0) {
                throw new IllegalArgumentException("an empty slot in the index");
            }
        }
    }

    /** What it decides from, with nothing below the floor. */
    public Image image() {
        rebuild();
        int[] slots = new int[used * SLOT];
        int next = 0;
        for (int at = 0; at < table.length; at += SLOT) {
            if (hashAt(at) != 0) {
                System.arraycopy(table, at, slots, next, SLOT);
                next += SLOT;
            }
        }
        return new Image(base, floor, newest, slots);
    }

    /** One that decides as the one did that the image was taken of. */
    public static CertificationIndex of(Image image) {
        CertificationIndex index = new CertificationIndex();
        index.base = image.base;
        index.floor = image.floor;
        index.newest = image.newest;
        int size = image.slots.length / SLOT;
        index.allocate(size);
        int next = 0;
        for (int from = 0; from < image.slots.length; from += SLOT) {
            next = index.append(next, image.slots[from], image.slots[from + 1]);
            System.arraycopy(image.slots, from + WRITTEN, index.table, next + WRITTEN, SLOT - WRITTEN);
            next += SLOT;
        }
        index.used = size;
        long[] last = new long[size];
        for (int i = 0; i < size; i++) {
            last[i] = index.base + last(image.slots, i * SLOT);
        }
        Arrays.sort(last);
        for (long position : last) {
            index.touches.add(position);
        }
        return index;
    }

    private static long mixed(int[] slots, int at) {
        return (long) slots[at] << Integer.SIZE | Integer.toUnsignedLong(slots[at + 1]);
    }
}
