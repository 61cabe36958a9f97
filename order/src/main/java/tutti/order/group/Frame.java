package tutti.order.group;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.DecodeException;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.group.Packet;

/**
 * What nodes of a group put into a datagram, behind an envelope. That is, big endian: CRC32C of all that follows (4 bytes), a tag of the group (8), the sender's id (4). A datagram that is longer than {@link #DATAGRAM_BYTES_MAX}, whose
 * checksum does not fit, or whose tag is another one's is not read any further.
 *
 * <p>
 * This keeps damage and strangers out, not adversaries: who can send datagrams to a node and knows its configuration can say
 * anything. The network between nodes must be theirs, as it must be for every order.
 */
sealed interface Frame extends Encoded {
    /** Longest datagram. A local network carries it in a dozen packets. */
    int DATAGRAM_BYTES_MAX = 16 << 10;

    int ENVELOPE_BYTES = 4 + 8 + 4;

    /** Longest frame. */
    int BYTES_MAX = DATAGRAM_BYTES_MAX - ENVELOPE_BYTES;

    /** A packet of the group communication. */
    record PacketFrame(Packet packet) implements Frame {
        static final Schema<PacketFrame> SCHEMA = Schema
                .message("packet", 1, PacketFrame.class, "A packet of the group communication.")
                .of(Field.of("packet", Packet.SET, PacketFrame::packet), PacketFrame::new);

        @Override
        public Schema<PacketFrame> schema() {
            return SCHEMA;
        }
    }

    /**
     * Which channel of which life of a sender.
     *
     * @param life 0 and up
     * @param number 1 and up
     */
    record Channel(long life, long number) {
        static final Schema<Channel> SCHEMA = Schema.part("channel", Channel.class).of(
                Field.of("life", Types.NATURAL, Channel::life), Field.of("number", Types.POSITIVE, Channel::number),
                Channel::new);

        boolean isNewerThan(Channel other) {
            return life > other.life || (life == other.life && number > other.number);
        }
    }

    /** What is complete with a letter. */
    enum Completes {
        NOTHING,
        MESSAGE,
        PACKET
    }

    /**
     * See {@link ReliableUnicast}.
     *
     * @param piece a view of the datagram that was read
     */
    record Letter(Channel channel, long toLife, long number, Completes completes, ByteBuffer piece) implements Frame {
        static final Schema<Letter> SCHEMA = Schema
                .message("letter", 2, Letter.class,
                        "A piece of a message to one node, or of a packet that is too long for a datagram.")
                .of(
                        Field.of("channel", Channel.SCHEMA, Letter::channel),
                        Field.of("toLife", Types.NATURAL, Letter::toLife),
                        Field.of("number", Types.POSITIVE, Letter::number),
                        Field.of("completes", Types.oneOf(Completes.class), Letter::completes),
                        Field.of("piece", Types.view(BYTES_MAX), Letter::piece), Letter::new);

        @Override
        public Schema<Letter> schema() {
            return SCHEMA;
        }
    }

    /** See {@link ReliableUnicast}. */
    record Receipt(Channel channel, long number) implements Frame {
        static final Schema<Receipt> SCHEMA = Schema
                .message("receipt", 3, Receipt.class, "The sender has this letter of the channel.").of(
                        Field.of("channel", Channel.SCHEMA, Receipt::channel),
                        Field.of("number", Types.POSITIVE, Receipt::number), Receipt::new);

        @Override
        public Schema<Receipt> schema() {
            return SCHEMA;
        }
    }

    /** See {@link ReliableUnicast}. */
    record Greeting(Channel channel, long life) implements Frame {
        static final Schema<Greeting> SCHEMA = Schema
                .message("greeting", 4, Greeting.class,
                        "Answers a letter that is for another life of the sender than this.")
                .of(
                        Field.of("channel", Channel.SCHEMA, Greeting::channel),
                        Field.of("life", Types.NATURAL, Greeting::life), Greeting::new);

        @Override
        public Schema<Greeting> schema() {
            return SCHEMA;
        }
    }

    /** All of them. */
    MessageSet<Frame> SET = new MessageSet<>("group frames",
            "In the datagrams between the nodes of a group order, each behind an envelope that no schema declares: CRC-32C of"
                    + " all that follows, of 4 bytes; FNV-1a, of 8 bytes, of the words that name the group's cluster and"
                    + " members; the sender's id, of 4 bytes. Such nodes do not tell each other which versions they speak:"
                    + " what a node cannot read it drops, as if it were lost, and says so in its log.",
            List.of(PacketFrame.SCHEMA, Letter.SCHEMA, Receipt.SCHEMA, Greeting.SCHEMA));

    /** Most bytes in a {@link Letter}. */
    int LETTER_BYTES_MAX = BYTES_MAX
            - new Letter(new Channel(0, 1), 0, 1, Completes.NOTHING, ByteBuffer.allocate(0)).encodedSize();

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
            hash = (hash ^ Byte.toUnsignedInt(one)) * 0x100000001b3L;
        }
        return hash;
    }

    private static int checksum(ByteBuffer datagram) {
        CRC32C sum = new CRC32C();
        sum.update(datagram.duplicate().position(4));
        return (int) sum.getValue();
    }

    /** The whole datagram. */
    static ByteBuffer datagram(long tag, int from, Frame frame) {
        ByteBuffer datagram = ByteBuffer.allocate(ENVELOPE_BYTES + frame.encodedSize()).position(4).putLong(tag)
                .putInt(from);
        frame.encode(datagram);
        datagram.flip();
        return datagram.putInt(0, checksum(datagram));
    }

    /** Reads a datagram; null if it is none of this group's, damaged or malformed. What it holds shares the buffer. */
    static @Nullable Received decode(long tag, ByteBuffer datagram) {
        if (datagram.remaining() < ENVELOPE_BYTES || datagram.remaining() > DATAGRAM_BYTES_MAX) {
            return null;
        }
        ByteBuffer in = datagram.slice();
        if (in.getInt() != checksum(in.duplicate().position(0)) || in.getLong() != tag) {
            return null;
        }
        int from = in.getInt();
        try {
            return new Received(from, SET.decode(in));
        } catch (DecodeException malformed) {
            return null;
        }
    }
}
