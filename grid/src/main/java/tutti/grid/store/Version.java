package tutti.grid.store;

import org.jspecify.annotations.Nullable;

/** A version of a key: what a transaction wrote. */
public final class Version {
    /** Of a key that was never written, or was removed long ago. */
    public static final Version ABSENT = new Version(0, null);

    private final long stamp;
    private final byte @Nullable [] value;
    /** The one before, as long as somebody may read it. */
    @Nullable
    Version older;

    /**
     * A version.
     *
     * @param stamp of its transaction
     * @param value null if the key was removed; not to be modified
     */
    public Version(long stamp, byte @Nullable [] value) {
        this.stamp = stamp;
        this.value = value;
    }

    /** The stamp of the transaction that wrote it; 0 if none did. */
    public long stamp() {
        return stamp;
    }

    /** What it wrote, not to be modified; null if the key was removed or never there. */
    public byte @Nullable [] value() {
        return value;
    }
}
