package tutti.grid.store;

import java.util.Arrays;
import java.util.HexFormat;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/** A key of a cache, as bytes. Immutable. */
public final class Key {
    /** Longest key, in bytes. */
    public static final int BYTES_MAX = 1 << 16;
    /** Caches have numbers below this. */
    public static final int CACHES_MAX = 256;

    /** How it is written. */
    public static final Schema<Key> SCHEMA = Schema.part("key", Key.class).of(
            Field.of("cache", Types.u8(0, CACHES_MAX - 1), Key::cache),
            Field.of("bytes", Types.bytes(BYTES_MAX), Key::bytes), Key::new);

    private final int cache;
    private final byte[] bytes;
    private final long hash;

    /**
     * A key.
     *
     * @param cache number of the cache
     * @param bytes not to be modified
     */
    public Key(int cache, byte[] bytes) {
        this.cache = cache;
        this.bytes = bytes;
        this.hash = Hash.of(cache, bytes);
    }

    /** The number of its cache. */
    public int cache() {
        return cache;
    }

    /** What it is called there. Not to be modified. */
    public byte[] bytes() {
        return bytes;
    }

    /** Whether these are the first of its bytes. */
    public boolean beginsWith(byte[] prefix) {
        return bytes.length >= prefix.length && Arrays.mismatch(bytes, 0, prefix.length, prefix, 0, prefix.length) < 0;
    }

    /** Where it lies on the {@link Ring}: evenly spread, the same on every node. */
    public long hash() {
        return hash;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Key key && key.hash == hash && key.cache == cache && Arrays.equals(key.bytes, bytes);
    }

    @Override
    public int hashCode() {
        return Long.hashCode(hash);
    }

    @Override
    public String toString() {
        return cache + ":" + HexFormat.of().formatHex(bytes);
    }
}
