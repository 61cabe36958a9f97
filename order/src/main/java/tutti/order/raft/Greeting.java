package tutti.order.raft;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * How a connection between two nodes begins: the one that connects says who it is and which cluster it means, and the other
 * answers whether that is welcome.
 *
 * <pre>
 * hello: magic 8 | id 4 | number of this process 8 | number of its directory 8 | length 2 | member list
 * answer: length 2 | "" or why not
 * </pre>
 *
 * Texts are in UTF-8.
 */
final class Greeting {
    /** Longest text that is taken, in bytes: a refusal that names two clusters of 15 nodes with long names. */
    static final int TEXT_BYTES_MAX = 1 << 14;
    static final long MAGIC = 0x5475_7474_694f_7231L; // "TuttiOr1"
    private static final int LENGTH_BYTES = 2;
    private static final int BUFFER_BYTES_MIN = 1 << 6;

    private Greeting() {}

    /**
     * Who connects.
     *
     * @param node its id
     * @param process number of its process, which no other has
     * @param directory number of the directory that it has had since it was started first, which no other has
     * @param cluster members and voters, in words
     */
    record Hello(int node, long process, long directory, String cluster) {
        private static final int HEADER_BYTES = 28;

        /** As bytes. */
        ByteBuffer encode() {
            byte[] text = cluster.getBytes(StandardCharsets.UTF_8);
            return ByteBuffer.allocate(HEADER_BYTES + LENGTH_BYTES + text.length).putLong(MAGIC).putInt(node)
                    .putLong(process).putLong(directory).putShort((short) text.length).put(text).flip();
        }
    }

    /** An answer as bytes; "" welcomes. */
    static ByteBuffer answer(String refusal) {
        byte[] text = refusal.getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(LENGTH_BYTES + text.length).putShort((short) text.length).put(text).flip();
    }

    /** Gathers a {@link Hello} from the bytes of a connection. */
    static final class HelloReader {
        private final Gathered gathered = new Gathered(Hello.HEADER_BYTES);

        /**
         * Takes what has come.
         *
         * @return the hello, or null if more must come
         * @throws IOException if what has come is none, or more than one
         */
        @Nullable
        Hello read(ByteBuffer bytes) throws IOException {
            ByteBuffer message = gathered.add(bytes);
            if (gathered.count() >= Long.BYTES && gathered.bytes().getLong(0) != MAGIC) {
                throw new IOException("it does not speak as a node does");
            }
            return message == null
                    ? null
                    : new Hello(message.getInt(8), message.getLong(12), message.getLong(20),
                            text(message));
        }
    }

    /** Gathers the answer to a {@link Hello}. */
    static final class AnswerReader {
        private final Gathered gathered = new Gathered(0);

        /**
         * Takes what has come.
         *
         * @return the answer, or null if more must come
         * @throws IOException if what has come is none, or more than one
         */
        @Nullable
        String read(ByteBuffer bytes) throws IOException {
            ByteBuffer message = gathered.add(bytes);
            return message == null ? null : text(message);
        }
    }

    private static String text(ByteBuffer message) {
        return StandardCharsets.UTF_8.decode(message).toString();
    }

    /** A message that ends with a text and its length, as far as it has come. */
    private static final class Gathered {
        private final int textAt;
        private ByteBuffer bytes = ByteBuffer.allocate(BUFFER_BYTES_MIN);

        Gathered(int headerBytes) {
            textAt = headerBytes + LENGTH_BYTES;
        }

        int count() {
            return bytes.position();
        }

        ByteBuffer bytes() {
            return bytes;
        }

        /** The message, positioned at its text, or null if it is not complete. */
        @Nullable
        ByteBuffer add(ByteBuffer more) throws IOException {
            if (more.remaining() > textAt + TEXT_BYTES_MAX - bytes.position()) {
                throw new IOException(
                        "more than " + (textAt + TEXT_BYTES_MAX) + " bytes where a greeting was expected");
            }
            if (more.remaining() > bytes.remaining()) {
                bytes = ByteBuffer.allocate(2 * (bytes.position() + more.remaining())).put(bytes.flip());
            }
            bytes.put(more);
            if (bytes.position() < textAt) {
                return null;
            }
            int end = textAt + Short.toUnsignedInt(bytes.getShort(textAt - LENGTH_BYTES));
            if (bytes.position() > end || end > textAt + TEXT_BYTES_MAX) {
                throw new IOException("a greeting of " + end + " bytes, of which " + bytes.position() + " have come");
            }
            return bytes.position() < end ? null : bytes.slice(0, end).position(textAt);
        }
    }
}
