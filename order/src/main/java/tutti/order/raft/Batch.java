package tutti.order.raft;

import java.nio.ByteBuffer;
import java.util.List;

/**
 * Several messages of one sender in one entry of the Raft log.
 *
 * <pre>
 * sender 4 | incarnation of the sender 8 | number of the batch in it, from 1, 8 | messages 4 | (length 4 | bytes)...
 * </pre>
 */
final class Batch {
    static final int HEADER_BYTES = 24;
    /** What a message takes besides its own bytes. */
    static final int MESSAGE_HEADER_BYTES = 4;

    private Batch() {}

    static byte[] encode(int sender, long incarnation, long sequence, List<byte[]> messages, int messageBytes) {
        ByteBuffer out = ByteBuffer.allocate(HEADER_BYTES + MESSAGE_HEADER_BYTES * messages.size() + messageBytes);
        out.putInt(sender).putLong(incarnation).putLong(sequence).putInt(messages.size());
        for (byte[] message : messages) {
            out.putInt(message.length).put(message);
        }
        return out.array();
    }

    /** Whether these bytes are a batch. */
    static boolean isWhole(ByteBuffer bytes) {
        if (bytes.limit() < HEADER_BYTES || messages(bytes) < 1) {
            return false;
        }
        long at = HEADER_BYTES;
        for (int count = messages(bytes); count > 0; count--) {
            if (at > bytes.limit() - MESSAGE_HEADER_BYTES || bytes.getInt((int) at) < 0) {
                return false;
            }
            at += MESSAGE_HEADER_BYTES + bytes.getInt((int) at);
        }
        return at == bytes.limit();
    }

    static int sender(ByteBuffer batch) {
        return batch.getInt(0);
    }

    static long incarnation(ByteBuffer batch) {
        return batch.getLong(4);
    }

    static long sequence(ByteBuffer batch) {
        return batch.getLong(12);
    }

    static int messages(ByteBuffer batch) {
        return batch.getInt(20);
    }
}
