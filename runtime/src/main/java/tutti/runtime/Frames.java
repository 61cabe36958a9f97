package tutti.runtime;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * Frames on a connection, each with its length and checksum before it. Of one loop.
 *
 * <pre>
 * frame: length 4 | CRC32C of the bytes 4 | bytes ; length 0 says only that the sender lives
 * </pre>
 */
public final class Frames {
    /** Longest frame that is taken, in bytes. */
    public static final int FRAME_BYTES_MAX = 1 << 29;
    /** What comes before the bytes of a frame, in bytes. */
    public static final int HEADER_BYTES = 8;
    private static final int BUFFER_BYTES_MIN = 1 << 8;
    /** A larger buffer is given back when its frame is complete. */
    private static final int BUFFER_BYTES_KEPT = 1 << 16;

    private Frames() {}

    /** A frame of these bytes, behind their length and checksum. */
    public static ByteBuffer of(byte[] bytes) {
        ByteBuffer frame = ByteBuffer.allocate(HEADER_BYTES + bytes.length).putInt(bytes.length);
        return frame.putInt(checksum(ByteBuffer.wrap(bytes))).put(bytes).flip();
    }

    /** A sign of life. */
    public static ByteBuffer alive() {
        return ByteBuffer.allocate(HEADER_BYTES);
    }

    private static int checksum(ByteBuffer bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes);
        return (int) crc.getValue();
    }

    /** Takes a frame that has come undamaged. */
    public interface Taker {
        /**
         * A frame has come.
         *
         * @param frame valid during the call only
         * @throws IOException if no node would have sent it
         */
        void take(ByteBuffer frame) throws IOException;
    }

    /** The receiving end. What it keeps is at most twice what has come of one frame. */
    public static final class Reader {
        private final Taker taker;
        /** A frame with its header, as far as it has come; empty if whole frames have come. */
        private ByteBuffer begun = ByteBuffer.allocate(BUFFER_BYTES_MIN);

        /** Hands frames to a taker. */
        public Reader(Taker taker) {
            this.taker = taker;
        }

        /**
         * Takes what has come, and hands on the frames that are complete.
         *
         * @throws IOException if what has come cannot be right
         */
        public void read(ByteBuffer bytes) throws IOException {
            while (bytes.hasRemaining()) {
                if (begun.position() > 0 || !readWhole(bytes)) {
                    gather(bytes);
                }
            }
        }

        /** Takes a frame that has come wholly; false if there is none. */
        private boolean readWhole(ByteBuffer bytes) throws IOException {
            if (bytes.remaining() < HEADER_BYTES) {
                return false;
            }
            int at = bytes.position();
            int length = length(bytes, at);
            if (bytes.remaining() - HEADER_BYTES < length) {
                return false;
            }
            bytes.position(at + HEADER_BYTES + length);
            take(bytes.getInt(at + 4), bytes.slice(at + HEADER_BYTES, length));
            return true;
        }

        /** Adds to the frame that is begun, and takes it if it is complete. */
        private void gather(ByteBuffer bytes) throws IOException {
            add(bytes, HEADER_BYTES);
            if (begun.position() < HEADER_BYTES) {
                return;
            }
            int length = length(begun, 0);
            add(bytes, HEADER_BYTES + length);
            if (begun.position() < HEADER_BYTES + length) {
                return;
            }
            ByteBuffer complete = begun.flip();
            begun = complete.capacity() > BUFFER_BYTES_KEPT ? ByteBuffer.allocate(BUFFER_BYTES_MIN) : begun;
            take(complete.getInt(4), complete.slice(HEADER_BYTES, length));
            begun.clear();
        }

        /** Moves bytes to the frame that is begun until it has so many, or there are no more. */
        private void add(ByteBuffer bytes, int until) {
            int count = Math.min(bytes.remaining(), until - begun.position());
            if (count <= 0) {
                return;
            }
            if (begun.remaining() < count) {
                int wanted = (int) Math.min(until, 2L * (begun.position() + count));
                begun = ByteBuffer.allocate(wanted).put(begun.flip());
            }
            begun.put(bytes.slice(bytes.position(), count));
            bytes.position(bytes.position() + count);
        }

        private static int length(ByteBuffer header, int at) throws IOException {
            int length = header.getInt(at);
            if (length < 0 || length > FRAME_BYTES_MAX) {
                throw new IOException("a frame of " + length + " bytes");
            }
            return length;
        }

        private void take(int checksum, ByteBuffer frame) throws IOException {
            if (!frame.hasRemaining()) {
                return;
            }
            if (checksum(frame.duplicate()) != checksum) {
                throw new IOException("a frame of " + frame.remaining() + " bytes with a bad checksum");
            }
            taker.take(frame);
        }
    }
}
