package tutti.core.txn;

import java.nio.ByteBuffer;

/**
 * What a transaction changed: the keys that certification compares, and the changes themselves in the form of the
 * engine that captured them. A protocol looks at the keys only. Immutable; the changes must not be modified.
 *
 * @param keys what certification compares
 * @param changes rows (and statements) as the engine encodes them; opaque to everything but the engine
 */
public record WriteSet(KeySet keys, byte[] changes) {
    /** Of a transaction that changed nothing. */
    public static final WriteSet EMPTY = new WriteSet(KeySet.EMPTY, new byte[0]);

    /** Whether there is nothing to apply. */
    public boolean isEmpty() {
        return changes.length == 0;
    }

    @Override
    public String toString() {
        return "keys " + keys + ", " + changes.length + " bytes of changes";
    }

    /** Bytes that {@link #encode} writes. */
    public int encodedSize() {
        return keys.encodedSize() + 4 + changes.length;
    }

    /** Appends this write set at the buffer's position. */
    public void encode(ByteBuffer to) {
        keys.encode(to);
        to.putInt(changes.length);
        to.put(changes);
    }

    /** Reads what {@link #encode} wrote, and advances the buffer. */
    public static WriteSet decode(ByteBuffer from) {
        KeySet keys = KeySet.decode(from);
        int length = from.getInt();
        if (length < 0 || length > from.remaining()) {
            throw new IllegalArgumentException("write set of " + length + " bytes in " + from.remaining());
        }
        byte[] changes = new byte[length];
        from.get(changes);
        return new WriteSet(keys, changes);
    }
}
