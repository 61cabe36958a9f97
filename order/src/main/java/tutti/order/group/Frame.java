package tutti.order.group;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * What nodes of a group put into a datagram. Big endian: CRC32C of all that follows (4 bytes), a tag of the group (8), the
 * sender's id (4), a type (1), and the fields in the order of the records below. A datagram that is longer than
 * {@link #BYTES_MAX}, whose checksum does not fit, or whose tag is another one's is not read any further.
 *
 * <p>
 * This keeps damage and strangers out, not adversaries: who can send datagrams to a node and knows its configuration can say
 * anything. The network between nodes must be theirs, as it must be for every order.
 */
sealed interface Frame {
    /** Longest datagram. A local network carries it in a dozen packets. */
    int BYTES_MAX = 16 << 10;

    int HEADER_BYTES = 4 + 8 + 4 + 1;

    /** Most bytes of an encoded packet that make one datagram. */
    int PACKET_BYTES_MAX = BYTES_MAX - HEADER_BYTES;

    /** Most bytes in a {@link Letter}. */
    int LETTER_BYTES_MAX = PACKET_BYTES_MAX - 4 * 8 - 1;

    byte PACKET = 1;
    byte LETTER = 2;
    byte RECEIPT = 3;
    byte GREETING = 4;

    /** A packet of the group communication. */
    record PacketFrame(ByteBuffer packet) implements Frame {}

    /** Which channel of which life of a sender. */
    record Channel(long life, long number) {
        boolean isNewerThan(Channel other) {
            return life > other.life || (life == other.life && number > other.number);
        }
    }

    /** See {@link Letters}. */
    record Letter(Channel channel, long toLife, long number, byte kind, ByteBuffer bytes) implements Frame {}

    /** See {@link Letters}. */
    record Receipt(Channel channel, long number) implements Frame {}

    /** See {@link Letters}. */
    record Greeting(Channel channel, long life) implements Frame {}

    /**
     * One that came.
     *
     * @param from id of the node that says to have sent it
     */
    record Received(int from, Frame frame) {}

    /** What tells a group's datagrams from others'. */
    static long tag(String group) {
        long hash = 0xcbf29ce484222325L;
        for (byte one : group.getBytes(StandardCharsets.UTF_8)) {
            hash = (hash ^ one) * 0x100000001b3L;
        }
        return hash;
    }

    /** A buffer with room for the body of a frame; {@link #seal} it when the body is there. */
    static ByteBuffer begin(long tag, int from, byte type, int bodyBytes) {
        return ByteBuffer.allocate(HEADER_BYTES + bodyBytes).position(4).putLong(tag).putInt(from).put(type);
    }

    /** Ready to be sent. */
    static ByteBuffer seal(ByteBuffer frame) {
        frame.flip();
        return frame.putInt(0, checksum(frame));
    }

    private static int checksum(ByteBuffer frame) {
        CRC32C sum = new CRC32C();
        sum.update(frame.duplicate().position(4));
        return (int) sum.getValue();
    }

    /** The whole frame. */
    static ByteBuffer encode(long tag, int from, Frame frame) {
        return seal(switch (frame) {
            case PacketFrame(ByteBuffer packet) -> begin(tag, from, PACKET, packet.remaining()).put(packet.duplicate());
            case Letter(Channel channel, long toLife, long number, byte kind, ByteBuffer bytes) -> put(
                    begin(tag, from, LETTER, 4 * 8 + 1 + bytes.remaining()), channel).putLong(toLife).putLong(number).put(kind)
                    .put(bytes.duplicate());
            case Receipt(Channel channel, long number) -> put(begin(tag, from, RECEIPT, 3 * 8), channel).putLong(number);
            case Greeting(Channel channel, long life) -> put(begin(tag, from, GREETING, 3 * 8), channel).putLong(life);
        });
    }

    private static ByteBuffer put(ByteBuffer to, Channel channel) {
        return to.putLong(channel.life).putLong(channel.number);
    }

    /** Reads a datagram; null if it is none of this group's, damaged or malformed. What it holds shares the buffer. */
    static @Nullable Received decode(long tag, ByteBuffer datagram) {
        if (datagram.remaining() < HEADER_BYTES || datagram.remaining() > BYTES_MAX) {
            return null;
        }
        ByteBuffer in = datagram.slice();
        if (in.getInt() != checksum(in.duplicate().position(0)) || in.getLong() != tag) {
            return null;
        }
        int from = in.getInt();
        try {
            Frame read = body(in);
            return read == null || (in.hasRemaining() && !(read instanceof PacketFrame || read instanceof Letter))
                    ? null
                    : new Received(from, read);
        } catch (BufferUnderflowException cut) {
            return null;
        }
    }

    private static @Nullable Frame body(ByteBuffer in) {
        return switch (in.get()) {
            case PACKET -> new PacketFrame(in.slice());
            case LETTER -> new Letter(channel(in), in.getLong(), in.getLong(), in.get(), in.slice());
            case RECEIPT -> new Receipt(channel(in), in.getLong());
            case GREETING -> new Greeting(channel(in), in.getLong());
            default -> null;
        };
    }

    private static Channel channel(ByteBuffer in) {
        return new Channel(in.getLong(), in.getLong());
    }
}
