package tutti.core.txn;

import java.util.Arrays;
import java.util.Collection;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * The parts of the database that a transaction may touch, as conservative protocols order transactions by them (NODO,
 * AKARA): 64-bit hashes of the names of classes, sorted, or all of them. Two transactions whose classes meet are never
 * run side by side in their final order; hashes that collide only make them wait. Immutable.
 */
public final class ConflictClasses {
    /** How they are written. */
    public static final Schema<ConflictClasses> SCHEMA = Schema.part("conflict classes", ConflictClasses.class).of(
            Field.of("all", Types.BOOLEAN, ConflictClasses::all),
            Field.of("hashes", Types.longs(1 << 20), classes -> classes.hashes), ConflictClasses::read);

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

    /**
     * The same classes of another database; all of them stay all.
     *
     * @param salt of the database; the same one gives these classes back
     */
    public ConflictClasses salted(long salt) {
        return all ? ALL : of(Arrays.stream(hashes).mapToObj(hash -> hash ^ salt).toList());
    }

    /** All that are in one of the two. */
    public ConflictClasses union(ConflictClasses other) {
        if (all || other.all) {
            return ALL;
        }
        long[] both = new long[hashes.length + other.hashes.length];
        int size = 0;
        int mine = 0;
        int theirs = 0;
        while (mine < hashes.length || theirs < other.hashes.length) {
            boolean fromMine = theirs == other.hashes.length
                    || (mine < hashes.length && hashes[mine] <= other.hashes[theirs]);
            if (fromMine && theirs < other.hashes.length && hashes[mine] == other.hashes[theirs]) {
                theirs++;
            }
            both[size++] = fromMine ? hashes[mine++] : other.hashes[theirs++];
        }
        return new ConflictClasses(Arrays.copyOf(both, size), false);
    }

    private static ConflictClasses read(boolean all, long[] hashes) {
        if (all != (hashes.length == 0)) {
            throw new IllegalArgumentException(hashes.length + " conflict classes" + (all ? ", and all of them" : ""));
        }
        for (int i = 1; i < hashes.length; i++) {
            if (hashes[i] <= hashes[i - 1]) {
                throw new IllegalArgumentException("conflict classes are not in order");
            }
        }
        return all ? ALL : new ConflictClasses(hashes, false);
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
