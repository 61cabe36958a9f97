package tutti.core.schema;

import java.nio.ByteBuffer;

/** A message, which knows how it is written: as a constant of its class declares it. Immutable. */
public interface Encoded {
    /** Bytes of every message: the version and the kind. */
    int HEAD_BYTES = 2;

    /** Its declaration, of a message. */
    default Schema<?> schema() {
        return Schema.of(getClass());
    }

    /** Exact number of bytes that {@link #encode(ByteBuffer)} writes. */
    default int encodedSize() {
        return encodedSize(Versions.SPOKEN.newest());
    }

    /** Exact number of bytes that {@link #encode(ByteBuffer, int)} writes in a version. */
    default int encodedSize(int version) {
        return MessageSet.encodedSize(this, version);
    }

    /**
     * Appends this message at the buffer's position, in the newest version; {@link MessageSet#decode} reads it back.
     *
     * @throws IllegalArgumentException if what it holds may not be
     */
    default void encode(ByteBuffer to) {
        encode(to, Versions.SPOKEN.newest());
    }

    /**
     * The same in a version.
     *
     * @throws IllegalArgumentException if what it says cannot be said in it
     */
    default void encode(ByteBuffer to, int version) {
        MessageSet.encode(this, to, version);
    }

    /** The same as bytes of its own. */
    default byte[] bytes() {
        return bytes(Versions.SPOKEN.newest());
    }

    /**
     * The same in a version.
     *
     * @throws IllegalArgumentException if what it says cannot be said in it
     */
    default byte[] bytes(int version) {
        ByteBuffer to = ByteBuffer.allocate(encodedSize(version));
        encode(to, version);
        return to.array();
    }
}
