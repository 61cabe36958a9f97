package tutti.core.flight;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Records one behind the other, each {@code int length, byte kind, payload}, in chunks that are never copied while it
 * grows. Not for use by several threads.
 */
final class Tape {
    /** What stands before a payload. */
    static final int HEAD_BYTES = 4 + 1;

    private static final int CHUNK_BYTES = 1 << 16;

    private final List<ByteBuffer> full = new ArrayList<>();
    private ByteBuffer chunk = ByteBuffer.allocate(1 << 10);
    private long bytes;
    private int begunAt;

    /**
     * Begins a record; {@link #end} completes it.
     *
     * @param payloadMax how many bytes of payload will be written at most
     * @return to append the payload to
     */
    ByteBuffer begin(RecordKind kind, int payloadMax) {
        int needed = Math.addExact(HEAD_BYTES, payloadMax);
        if (chunk.remaining() < needed) {
            full.add(chunk.flip());
            chunk = ByteBuffer.allocate(Math.max(CHUNK_BYTES, needed));
        }
        begunAt = chunk.position();
        return chunk.putInt(0).put((byte) kind.ordinal());
    }

    void end() {
        int length = chunk.position() - begunAt - HEAD_BYTES;
        chunk.putInt(begunAt, length);
        bytes += HEAD_BYTES + length;
    }

    /** Bytes of all complete records. */
    long bytes() {
        return bytes;
    }

    /** A copy of all complete records. */
    byte[] copy() {
        ByteBuffer all = ByteBuffer.allocate(Math.toIntExact(bytes));
        full.forEach(one -> all.put(one.duplicate()));
        all.put(chunk.duplicate().flip());
        return all.array();
    }

    void clear() {
        full.clear();
        chunk.clear();
        bytes = 0;
    }
}
