package tutti.sim.world.replica;

import java.nio.ByteBuffer;
import tutti.core.protocol.Message;

/**
 * What a replica puts into the order: a protocol's message, or one of its own.
 *
 * @param number of the message in the whole simulation, for those who check the order
 * @param content as its kind has it, positioned at its beginning
 */
record Envelope(Kind kind, long number, ByteBuffer content) {
    private static final int HEADER_BYTES = 1 + 8;

    enum Kind {
        /** A message of the protocol. */
        PROTOCOL,
        /** A replica began this life, and has caught up when it sees this. */
        HELLO,
        /** After a crash, a replica would need the order from this position on. */
        RESTART;

        private static final Kind[] VALUES = values();
    }

    static byte[] protocol(Message message) {
        ByteBuffer to = ByteBuffer.allocate(HEADER_BYTES + message.encodedSize());
        to.put((byte) Kind.PROTOCOL.ordinal()).putLong(0);
        message.encode(to);
        return to.array();
    }

    static byte[] hello(long life) {
        return ByteBuffer.allocate(HEADER_BYTES + Long.BYTES).put((byte) Kind.HELLO.ordinal()).putLong(0).putLong(life)
                .array();
    }

    static byte[] restart(long position) {
        return ByteBuffer.allocate(HEADER_BYTES + Long.BYTES).put((byte) Kind.RESTART.ordinal()).putLong(0)
                .putLong(position).array();
    }

    /** The same with its number filled in. */
    static byte[] numbered(byte[] envelope, long number) {
        ByteBuffer.wrap(envelope).putLong(1, number);
        return envelope;
    }

    static Envelope decode(ByteBuffer from) {
        Kind kind = Kind.VALUES[from.get()];
        return new Envelope(kind, from.getLong(), from);
    }
}
