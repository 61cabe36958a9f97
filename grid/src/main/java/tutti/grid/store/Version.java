package tutti.grid.store;

import org.jspecify.annotations.Nullable;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/** A version of a key: what a transaction wrote. */
public final class Version {
    /** Longest value, in bytes. */
    public static final int VALUE_BYTES_MAX = 1 << 25;
    /** Of a key that was never written, or was removed long ago. */
    public static final Version ABSENT = new Version(0, null, Long.MAX_VALUE);
    /** The expiry of what does not expire. */
    public static final long NEVER = Long.MAX_VALUE;

    /** How it is written. */
    public static final Schema<Version> SCHEMA = Schema.part("version", Version.class).of(
            Field.of("stamp", Types.NATURAL, Version::stamp),
            Field.of("value", Types.optional(Types.bytes(VALUE_BYTES_MAX)), Version::value),
            Field.of("expiry", Types.POSITIVE, Version::expiryMillis), Version::new);

    private final long stamp;
    private final byte @Nullable [] value;
    private final long expiryMillis;
    /** The one before, as long as somebody may read it. */
    @Nullable
    Version older;

    /**
     * A version.
     *
     * @param stamp of its transaction
     * @param value null if the key was removed; not to be modified
     * @param expiryMillis see {@link #expiryMillis}
     */
    public Version(long stamp, byte @Nullable [] value, long expiryMillis) {
        this.stamp = stamp;
        this.value = value;
        this.expiryMillis = expiryMillis;
    }

    /** The stamp of the transaction that wrote it; 0 if none did. */
    public long stamp() {
        return stamp;
    }

    /** What it wrote, not to be modified; null if the key was removed or never there. */
    public byte @Nullable [] value() {
        return value;
    }

    /**
     * From when on it is as if the key was removed, in milliseconds since 1970, UTC; {@link #NEVER} if it does not expire. Chosen by
     * the transaction that wrote it; who reads it compares it with its own time, so all owners tell the same.
     */
    public long expiryMillis() {
        return expiryMillis;
    }

    /** Whether a transaction of this time finds a value. */
    public boolean isThere(long timeMillis) {
        return value != null && expiryMillis > timeMillis;
    }
}
