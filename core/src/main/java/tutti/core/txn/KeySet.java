package tutti.core.txn;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The certification keys of one write set: 64-bit hashes of (table, constraint, normalised key value) with the way each
 * was touched. A hash collision can only abort a transaction, never admit one. Immutable; order is kept.
 */
public final class KeySet {
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

    /** How the key at {@code index} was touched. */
    public KeyKind kind(int index) {
        return KeyKind.of(kinds[index]);
    }

    /** Bytes that {@link #encode} writes. */
    public int encodedSize() {
        return 4 + 9 * hashes.length;
    }

    /** Appends this set at the buffer's position, big-endian. */
    public void encode(ByteBuffer to) {
        to.putInt(hashes.length);
        for (long hash : hashes) {
            to.putLong(hash);
        }
        to.put(kinds);
    }

    /** Reads what {@link #encode} wrote, and advances the buffer. */
    public static KeySet decode(ByteBuffer from) {
        int size = from.getInt();
        if (size < 0 || (long) size * 9 > from.remaining()) {
            throw new IllegalArgumentException("key set of " + size + " keys in " + from.remaining() + " bytes");
        }
        long[] hashes = new long[size];
        for (int i = 0; i < size; i++) {
            hashes[i] = from.getLong();
        }
        byte[] kinds = new byte[size];
        from.get(kinds);
        for (byte kind : kinds) {
            KeyKind.of(kind);
        }
        return new KeySet(hashes, kinds);
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
