package tutti.node;

import java.nio.ByteBuffer;

/**
 * What a node keeps of a position of the order, so that it need not be delivered what came before: the protocol's state,
 * and which transactions have committed. Snapshots that were written before there was the second are read, too.
 *
 * @param protocol what the protocol gave
 * @param outcomes what {@link Outcomes} gave; empty if it is not known
 */
record NodeSnapshot(byte[] protocol, byte[] outcomes) {
    /** No protocol's snapshot begins so. */
    private static final long MAGIC = 0x5475_7474_6953_6e32L;

    byte[] encode() {
        return ByteBuffer.allocate(8 + 4 + protocol.length + outcomes.length).putLong(MAGIC).putInt(protocol.length)
                .put(protocol).put(outcomes).array();
    }

    static NodeSnapshot of(byte[] bytes) {
        ByteBuffer from = ByteBuffer.wrap(bytes);
        if (bytes.length < 12 || from.getLong() != MAGIC) {
            return new NodeSnapshot(bytes, new byte[0]);
        }
        byte[] protocol = new byte[from.getInt()];
        from.get(protocol);
        byte[] outcomes = new byte[from.remaining()];
        from.get(outcomes);
        return new NodeSnapshot(protocol, outcomes);
    }

    void restore(Outcomes into) {
        if (outcomes.length > 0) {
            into.decode(ByteBuffer.wrap(outcomes));
        }
    }
}
