package tutti.order.group;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.group.Packet;

/**
 * What nodes of a group put into a datagram, in an {@linkplain Envelopes envelope}. A datagram that is longer than
 * {@link #DATAGRAM_BYTES_MAX} is not read.
 */
sealed interface Frame extends Encoded {
    /** Longest datagram. A local network carries it in a dozen packets. */
    int DATAGRAM_BYTES_MAX = 16 << 10;

    /** Longest frame. */
    int BYTES_MAX = DATAGRAM_BYTES_MAX - Envelopes.BYTES;

    /** A packet of the group communication. */
    record PacketFrame(Packet packet) implements Frame {
        static final Schema<PacketFrame> SCHEMA = Schema
                .message("packet", 1, PacketFrame.class, "A packet of the group communication.")
                .of(Field.of("packet", Packet.SET, PacketFrame::packet), PacketFrame::new);
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
    }

    /** See {@link ReliableUnicast}. */
    record Receipt(Channel channel, long number) implements Frame {
        static final Schema<Receipt> SCHEMA = Schema
                .message("receipt", 3, Receipt.class, "The sender has this letter of the channel.").of(
                        Field.of("channel", Channel.SCHEMA, Receipt::channel),
                        Field.of("number", Types.POSITIVE, Receipt::number), Receipt::new);
    }

    /** See {@link ReliableUnicast}. */
    record Greeting(Channel channel, long life) implements Frame {
        static final Schema<Greeting> SCHEMA = Schema
                .message("greeting", 4, Greeting.class,
                        "Answers a letter that is for another life of the sender than this.")
                .of(
                        Field.of("channel", Channel.SCHEMA, Greeting::channel),
                        Field.of("life", Types.NATURAL, Greeting::life), Greeting::new);
    }

    /** All of them. */
    MessageSet<Frame> SET = new MessageSet<>("group frames",
            "In the datagrams between the nodes of a group order, each behind an envelope that no schema declares. Without"
                    + " keys: CRC-32C of all that follows, of 4 bytes; FNV-1a, of 8 bytes, of the words that name the group's"
                    + " cluster and members; the sender's id, of 4 bytes. With keys: HMAC-SHA-256 of all that follows, its first 16"
                    + " bytes; FNV-1a and sender as before; the receiver's id or -1, of 4 bytes; the sender's life and the"
                    + " datagram's number, of 8 bytes each. What a node cannot read"
                    + " it drops, as if it were lost, and says so in its log.",
            List.of(PacketFrame.SCHEMA, Letter.SCHEMA, Receipt.SCHEMA, Greeting.SCHEMA));

    /** Most bytes in a {@link Letter}. */
    int LETTER_BYTES_MAX = BYTES_MAX
            - new Letter(new Channel(0, 1), 0, 1, Completes.NOTHING, ByteBuffer.allocate(0)).encodedSize();

    /** What tells a group's datagrams from others'. */
    static long tag(String group) {
        long hash = 0xcbf29ce484222325L;
        for (byte one : group.getBytes(StandardCharsets.UTF_8)) {
            hash = (hash ^ Byte.toUnsignedInt(one)) * 0x100000001b3L;
        }
        return hash;
    }
}
