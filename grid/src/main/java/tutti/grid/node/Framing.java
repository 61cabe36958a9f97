package tutti.grid.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.function.IntSupplier;

/** Pieces of bytes on a stream, each behind its length of four bytes. */
final class Framing {
    private static final int FRAME_BYTES_MAX = 1 << 27;
    private static final int BUFFER_BYTES = 1 << 12;
    /** A buffer that is larger is not kept when nothing is in it. */
    private static final int KEPT_BYTES = 1 << 16;

    private Framing() {}

    /**
     * A frame of these bytes, ready to be sent.
     *
     * @throws IllegalArgumentException if nobody would take it: it would be sent, and refused, again and again
     */
    static ByteBuffer frame(byte[] bytes) {
        if (bytes.length > FRAME_BYTES_MAX) {
            throw new IllegalArgumentException("a frame of " + bytes.length + " bytes, more than " + FRAME_BYTES_MAX);
        }
        return ByteBuffer.allocate(Integer.BYTES + bytes.length).putInt(bytes.length).put(bytes).flip();
    }

    /** Takes a frame. */
    interface Taker {
        /**
         * A frame has come.
         *
         * @param frame valid during the call only
         * @throws IOException if no node would have sent it
         */
        void take(ByteBuffer frame) throws IOException;
    }

    /** The receiving end. */
    static final class Reader {
        private final Taker taker;
        private final IntSupplier bytesMax;
        private ByteBuffer begun = ByteBuffer.allocate(BUFFER_BYTES);

        Reader(Taker taker) {
            this(taker, () -> FRAME_BYTES_MAX);
        }

        /** One that takes frames of limited size, as who sends them is known or not. */
        Reader(Taker taker, IntSupplier bytesMax) {
            this.taker = taker;
            this.bytesMax = bytesMax;
        }

        /** Takes bytes, and hands on the frames that are complete. */
        void read(ByteBuffer bytes) throws IOException {
            if (begun.position() == 0) {
                drain(bytes);
            }
            while (bytes.hasRemaining()) {
                if (!begun.hasRemaining()) {
                    begun = ByteBuffer.allocate(2 * begun.capacity()).put(begun.flip());
                }
                int count = Math.min(begun.remaining(), bytes.remaining());
                begun.put(bytes.slice(bytes.position(), count));
                bytes.position(bytes.position() + count);
                begun.flip();
                drain(begun);
                if (begun.position() > 0) {
                    begun.compact();
                } else {
                    // All of it belongs to a frame that is not complete.
                    begun.position(begun.limit()).limit(begun.capacity());
                }
            }
            if (begun.position() == 0 && begun.capacity() > KEPT_BYTES) {
                begun = ByteBuffer.allocate(BUFFER_BYTES);
            }
        }

        private void drain(ByteBuffer from) throws IOException {
            while (from.remaining() >= Integer.BYTES) {
                int length = from.getInt(from.position());
                if (length < 0 || length > Math.min(bytesMax.getAsInt(), FRAME_BYTES_MAX)) {
                    throw new IOException("a frame of " + length + " bytes");
                }
                if (from.remaining() - Integer.BYTES < length) {
                    return;
                }
                ByteBuffer frame = from.slice(from.position() + Integer.BYTES, length);
                from.position(from.position() + Integer.BYTES + length);
                taker.take(frame);
            }
        }
    }
}
