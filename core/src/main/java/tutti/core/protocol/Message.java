package tutti.core.protocol;

import java.nio.ByteBuffer;

/** Something that one replica's protocol tells the others. Each protocol has its own; immutable. */
public interface Message {
    /** Exact number of bytes that {@link #encode} writes. */
    int encodedSize();

    /** Appends this message at the buffer's position; {@link ProtocolDescriptor#decode} reads it back. */
    void encode(ByteBuffer to);
}
