package tutti.core.txn;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collection;
import java.util.stream.LongStream;

/**
 * The parts of the database that a transaction may touch, as conservative protocols order transactions by them (NODO,
 * AKARA): 64-bit hashes of the names of classes, sorted, or all of them. Two transactions whose classes meet are never
 * run side by side in their final order; hashes that collide only make them wait. Immutable.
 */
public final class ConflictClasses {
    /** Of a transaction of which nothing is known: meets every other. */
    public static final ConflictClasses ALL = new ConflictClasses(new long[0], true);

    private final long[] hashes;
    private final boolean all;

    private ConflictClasses(long[] hashes, boolean all) {
        this.hashes = hashes;
        this.all = all;
    }

    /**
     * These classes and no others.
     *
     * @param hashes at least one: a transaction that touches nothing needs no order
     */
    public static ConflictClasses of(Collection<Long> hashes) {
        if (hashes.isEmpty()) {
            throw new IllegalArgumentException("no conflict class; a transaction of which nothing is known has all");
        }
        return new ConflictClasses(hashes.stream().mapToLong(Long::longValue).sorted().distinct().toArray(), false);
    }

    /** Whether every class is among them. */
    public boolean all() {
        return all;
    }

    /** Number of classes; 0 if they are {@linkplain #all() all}. */
    public int size() {
        return hashes.length;
    }

    /** Hash of the class at {@code index}, 0 to {@code size() - 1}, ascending. */
    public long hash(int index) {
        return hashes[index];
    }

    /** Whether a class is among them. */
    public boolean contains(long hash) {
        return all || Arrays.binarySearch(hashes, hash) >= 0;
    }

    /** Whether some class is in both. */
    public boolean meet(ConflictClasses other) {
        if (all || other.all) {
            return true;
        }
        int mine = 0;
        int theirs = 0;
        while (mine < hashes.length && theirs < other.hashes.length) {
            int compared = Long.compare(hashes[mine], other.hashes[theirs]);
            if (compared == 0) {
                return true;
            }
            if (compared < 0) {
                mine++;
            } else {
                theirs++;
            }
        }
        return false;
    }

    /** All that are in one of the two. */
    public ConflictClasses union(ConflictClasses other) {
        if (all || other.all) {
            return ALL;
        }
        return new ConflictClasses(
                LongStream.concat(Arrays.stream(hashes), Arrays.stream(other.hashes)).sorted().distinct().toArray(),
                false);
    }

    /** Bytes that {@link #encode} writes. */
    public int encodedSize() {
        return 4 + 8 * hashes.length;
    }

    /** Appends them at the buffer's position. */
    public void encode(ByteBuffer to) {
        to.putInt(all ? -1 : hashes.length);
        for (long hash : hashes) {
            to.putLong(hash);
        }
    }

    /** Reads what {@link #encode} wrote, and advances the buffer. */
    public static ConflictClasses decode(ByteBuffer from) {
        int size = from.getInt();
        if (size == -1) {
            return ALL;
        }
        if (size < 1 || (long) size * 8 > from.remaining()) {
            throw new IllegalArgumentException(size + " conflict classes in " + from.remaining() + " bytes");
        }
        long[] hashes = new long[size];
        for (int i = 0; i < size; i++) {
            hashes[i] = from.getLong();
            if (i > 0 && hashes[i] <= hashes[i - 1]) {
                throw new IllegalArgumentException("conflict classes are not in order");
            }
        }
        return new ConflictClasses(hashes, false);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ConflictClasses that && all == that.all && Arrays.equals(hashes, that.hashes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(hashes) + (all ? 1 : 0);
    }

    @Override
    public String toString() {
        if (all) {
            return "all classes";
        }
        StringBuilder text = new StringBuilder("classes");
        for (long hash : hashes) {
            text.append(' ').append(Long.toHexString(hash));
        }
        return text.toString();
    }
}
