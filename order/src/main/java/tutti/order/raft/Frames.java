package tutti.order.raft;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Frames on a non-blocking connection, each with its length and checksum before it. Of one thread.
 *
 * <pre>
 * frame: length 4 | CRC32C of the bytes 4 | bytes ; length 0 says only that the sender lives
 * </pre>
 */
final class Frames {
    static final int FRAME_BYTES_MAX = 1 << 29;
    private static final int BUFFER_BYTES = 1 << 16;
    private static final int HEADER_BYTES = 8;

    private Frames() {}

    /** Takes a frame that has come undamaged. */
    interface Taker {
        void take(ByteBuffer frame) throws IOException;
    }

    /** The receiving end. */
    static final class Reader {
        private final SocketChannel channel;
        private final Taker taker;
        private final CRC32C crc = new CRC32C();
        private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
        /** A frame that does not fit into the buffer, as far as it has come. */
        private @Nullable ByteBuffer large;
        private int largeChecksum;

        Reader(SocketChannel channel, Taker taker) {
            this.channel = channel;
            this.taker = taker;
        }

        /**
         * Reads what has come, once, and hands the frames on that are complete.
         *
         * @throws IOException if the connection is at its end, or what has come cannot be right
         */
        void read() throws IOException {
            if (channel.read(buffer) < 0) {
                throw new IOException("the other end has closed the connection");
            }
            buffer.flip();
            boolean more = true;
            while (more) {
                more = large == null ? readFrame() : readLarge(large);
            }
            buffer.compact();
        }

        /** Takes a frame from the buffer, or begins a large one; false if more must come first. */
        private boolean readFrame() throws IOException {
            if (buffer.remaining() < HEADER_BYTES) {
                return false;
            }
            int length = buffer.getInt(buffer.position());
            int checksum = buffer.getInt(buffer.position() + 4);
            if (length < 0 || length > FRAME_BYTES_MAX) {
                throw new IOException("frame of " + length + " bytes");
            }
            if (length + HEADER_BYTES > buffer.capacity()) {
                buffer.position(buffer.position() + HEADER_BYTES);
                large = ByteBuffer.allocate(length);
                largeChecksum = checksum;
                return true;
            }
            if (buffer.remaining() < length + HEADER_BYTES) {
                return false;
            }
            buffer.position(buffer.position() + HEADER_BYTES);
            if (length > 0) {
                byte[] frame = new byte[length];
                buffer.get(frame);
                taken(ByteBuffer.wrap(frame), checksum);
            }
            return true;
        }

        private boolean readLarge(ByteBuffer gathering) throws IOException {
            int count = Math.min(buffer.remaining(), gathering.remaining());
            gathering.put(buffer.slice(buffer.position(), count));
            buffer.position(buffer.position() + count);
            if (gathering.hasRemaining()) {
                return false;
            }
            large = null;
            taken(gathering.flip(), largeChecksum);
            return true;
        }

        private void taken(ByteBuffer frame, int checksum) throws IOException {
            crc.reset();
            crc.update(frame.duplicate());
            if ((int) crc.getValue() != checksum) {
                throw new IOException("bad checksum of a frame");
            }
            taker.take(frame);
        }
    }

    /** The sending end: what the connection does not take at once waits in a queue. */
    static final class Writer {
        private static final byte[] ALIVE = new byte[0];
        private final SocketChannel channel;
        private final CRC32C crc = new CRC32C();
        private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
        private final ArrayDeque<byte[]> queue = new ArrayDeque<>();
        private long queuedBytes;
        /** The first frame of the queue is in the buffer up to here, its header included; 0 if none of it is. */
        private int begun;

        Writer(SocketChannel channel) {
            this.channel = channel;
        }

        /** Adds a frame; {@link #write} sends it. */
        void add(byte[] frame) {
            queue.add(frame);
            queuedBytes += frame.length;
        }

        /** Adds a sign of life. */
        void addAlive() {
            add(ALIVE);
        }

        int queuedFrames() {
            return queue.size();
        }

        long queuedBytes() {
            return queuedBytes;
        }

        /** Sends as much as the connection takes; tells whether that was all. */
        boolean write() throws IOException {
            while (true) {
                fill();
                if (buffer.position() == 0) {
                    return true;
                }
                buffer.flip();
                channel.write(buffer);
                boolean all = !buffer.hasRemaining();
                buffer.compact();
                if (!all) {
                    return false;
                }
            }
        }

        private void fill() {
            for (byte[] frame = queue.peek(); frame != null; frame = queue.peek()) {
                if (begun == 0) {
                    if (buffer.remaining() < HEADER_BYTES) {
                        return;
                    }
                    crc.reset();
                    crc.update(frame);
                    buffer.putInt(frame.length).putInt(frame.length == 0 ? 0 : (int) crc.getValue());
                    begun = HEADER_BYTES;
                }
                int from = begun - HEADER_BYTES;
                int count = Math.min(frame.length - from, buffer.remaining());
                buffer.put(frame, from, count);
                begun += count;
                if (from + count < frame.length) {
                    return;
                }
                queue.remove();
                queuedBytes -= frame.length;
                begun = 0;
            }
        }
    }
}
