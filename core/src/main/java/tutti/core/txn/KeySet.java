package tutti.core.txn;

import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * The certification keys of one write set: 64-bit hashes of (table, constraint, normalised key value) with the way each
 * was touched. A hash collision can only abort a transaction, never admit one. Immutable; order is kept.
 */
public final class KeySet {
    /** How it is written; its limit is what a message can hold. */
    public static final Schema<KeySet> SCHEMA = Schema.part("key set", KeySet.class).of(
            Field.of("hashes", Types.longs(Types.BYTES_MAX / Long.BYTES), keys -> keys.hashes),
            Field.of("kinds", Types.bytes(Types.BYTES_MAX / Long.BYTES), keys -> keys.kinds), KeySet::of);

    /** The key to which every write set refers that has keys of what its transaction has locked and not changed. */
    public static final long LOCKS = 0x6C6F636B65642100L;

    /** No keys: such a transaction meets no other. */
    public static final KeySet EMPTY = new KeySet(new long[0], new byte[0]);

    private final long[] hashes;
    private final byte[] kinds;

    private KeySet(long[] hashes, byte[] kinds) {
        this.hashes = hashes;
        this.kinds = kinds;
    }

    /** Number of keys. */
    public int size() {
        return hashes.length;
    }

    /** The hash of the key at {@code index}, 0 to {@code size() - 1}. */
    public long hash(int index) {
        return hashes[index];
    }

    /**
     * The same keys of another database, in which what has the same names is something else.
     *
     * @param salt of the database; the same one gives these keys back
     */
    public KeySet salted(long salt) {
        long[] salted = hashes.clone();
        for (int i = 0; i < salted.length; i++) {
            salted[i] ^= salt;
        }
        return new KeySet(salted, kinds);
    }

    /** How the key at {@code index} was touched. */
    public KeyKind kind(int index) {
        return KeyKind.of(kinds[index]);
    }

    /** Hashes of the keys that were touched in this way. */
    public Set<Long> of(KeyKind kind) {
        Set<Long> found = new HashSet<>();
        for (int i = 0; i < hashes.length; i++) {
            if (kinds[i] == kind.ordinal()) {
                found.add(hashes[i]);
            }
        }
        return found;
    }

    /** Hashes of the keys that no row had before the transaction, and one has behind it. */
    public Set<Long> came() {
        return moreOften(KeyKind.CREATED, KeyKind.GONE);
    }

    /** Hashes of the keys that a row had before the transaction, and none has behind it. */
    public Set<Long> gone() {
        return moreOften(KeyKind.GONE, KeyKind.CREATED);
    }

    private Set<Long> moreOften(KeyKind one, KeyKind other) {
        Map<Long, Integer> counts = new HashMap<>();
        for (int i = 0; i < hashes.length; i++) {
            if (kinds[i] == one.ordinal() || kinds[i] == other.ordinal()) {
                counts.merge(hashes[i], kinds[i] == one.ordinal() ? 1 : -1, Integer::sum);
            }
        }
        counts.values().removeIf(count -> count <= 0);
        return counts.keySet();
    }

    private static KeySet of(long[] hashes, byte[] kinds) {
        if (hashes.length != kinds.length) {
            throw new IllegalArgumentException(hashes.length + " keys of " + kinds.length + " kinds");
        }
        for (byte kind : kinds) {
            KeyKind.of(kind);
        }
        return hashes.length == 0 ? EMPTY : new KeySet(hashes, kinds);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof KeySet that && Arrays.equals(hashes, that.hashes) && Arrays.equals(kinds, that.kinds);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(hashes);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("[");
        for (int i = 0; i < size(); i++) {
            text.append(i == 0 ? "" : ", ").append(kind(i)).append(' ').append(Long.toHexString(hashes[i]));
        }
        return text.append(']').toString();
    }

    /** Collects keys; not for use by several threads. */
    public static final class Builder {
        private long[] hashes = new long[16];
        private byte[] kinds = new byte[16];
        private int size;

        /** Adds a key. The same key may be added several times. */
        public Builder add(long hash, KeyKind kind) {
            if (size == hashes.length) {
                hashes = Arrays.copyOf(hashes, size * 2);
                kinds = Arrays.copyOf(kinds, size * 2);
            }
            hashes[size] = hash;
            kinds[size++] = (byte) kind.ordinal();
            return this;
        }

        /** The keys added so far. */
        public KeySet build() {
            return size == 0 ? EMPTY : new KeySet(Arrays.copyOf(hashes, size), Arrays.copyOf(kinds, size));
        }
    }
}
