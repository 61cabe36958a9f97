package tutti.node;

import java.nio.ByteBuffer;

/**
 * What a node keeps of a position of the order, so that it need not be delivered what came before: the protocol's state,
 * and which transactions have committed.
 *
 * @param position after which it was taken
 * @param digest of the message at that position ({@link LogContinuity#digest})
 * @param protocol what the protocol gave
 * @param outcomes what {@link Outcomes} gave
 */
record NodeSnapshot(long position, int digest, byte[] protocol, byte[] outcomes) {
    private static final int VERSION = 1;

    byte[] encode() {
        return ByteBuffer.allocate(4 + 8 + 4 + 4 + protocol.length + outcomes.length).putInt(VERSION).putLong(position)
                .putInt(digest).putInt(protocol.length).put(protocol).put(outcomes).array();
    }

    /**
     * Reads what {@link #encode} wrote.
     *
     * @throws IllegalArgumentException if it is something else
     */
    static NodeSnapshot of(byte[] bytes) {
        ByteBuffer from = ByteBuffer.wrap(bytes);
        int version = bytes.length < 4 ? 0 : from.getInt();
        if (version != VERSION || from.remaining() < 8 + 4 + 4) {
            throw new IllegalArgumentException("a node's snapshot of version " + version + ", known is " + VERSION);
        }
        long position = from.getLong();
        int digest = from.getInt();
        int size = from.getInt();
        if (size < 0 || size > from.remaining()) {
            throw new IllegalArgumentException("a protocol's state of " + size + " bytes in a snapshot that has "
                    + from.remaining());
        }
        byte[] protocol = new byte[size];
        from.get(protocol);
        byte[] outcomes = new byte[from.remaining()];
        from.get(outcomes);
        return new NodeSnapshot(position, digest, protocol, outcomes);
    }
}
