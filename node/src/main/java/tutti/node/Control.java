package tutti.node;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Message;
import tutti.core.txn.TransactionId;

/**
 * What nodes tell each other through the total order besides the protocol's own messages, and the envelope that keeps the
 * two apart: one leading byte.
 */
sealed interface Control {
    /** The envelope byte of a protocol message. */
    byte PROTOCOL = 0;
    /** The envelope byte of {@link Hello}. */
    byte HELLO = 1;
    /** The envelope byte of {@link Restart}. */
    byte RESTART = 2;
    /** The envelope byte of {@link Question}. */
    byte QUESTION = 3;
    /** The envelope byte of {@link Ended}. */
    byte ENDED = 4;
    /** The envelope byte of {@link Fence}. */
    byte FENCE = 5;
    /** The envelope byte of {@link Mark}. */
    byte MARK = 6;

    /**
     * A node has started. When it has been delivered to itself and all before it is visible, the node has caught up.
     *
     * @param incarnation of the node, larger than any before
     * @param mark of this life alone: a node that has lost count of its lives knows its own by it
     * @param protocol name of the protocol it runs
     */
    record Hello(long incarnation, long mark, String protocol) implements Control {}

    /**
     * After a crash now, the node would need the log from behind this position, and nothing before.
     *
     * @param position of a protocol snapshot in the node's files, restart in its engine
     */
    record Restart(long position) implements Control {}

    /** Somebody wants to know what became of a transaction: its node is to end it if need be, and say so. */
    record Question(TransactionId transaction) implements Control {}

    /** A transaction of the sender has ended: if it has committed, that was ordered before this. */
    record Ended(TransactionId transaction) implements Control {}

    /** From here on nothing counts that this life of a node has sent; see {@link Outcomes}. */
    record Fence(int node, long incarnation) implements Control {}

    /** The sender wants to know when it has caught up with this. */
    record Mark(long number) implements Control {}

    /** The bytes of a protocol message in its envelope. */
    static byte[] envelope(Message message) {
        ByteBuffer to = ByteBuffer.allocate(1 + message.encodedSize());
        to.put(PROTOCOL);
        message.encode(to);
        return to.array();
    }

    /** The bytes of a control message. */
    default byte[] encode() {
        return switch (this) {
            case Hello hello -> {
                byte[] protocol = hello.protocol().getBytes(StandardCharsets.UTF_8);
                yield ByteBuffer.allocate(1 + 8 + 8 + protocol.length).put(HELLO).putLong(hello.incarnation())
                        .putLong(hello.mark()).put(protocol).array();
            }
            case Restart restart -> ByteBuffer.allocate(1 + 8).put(RESTART).putLong(restart.position()).array();
            case Question question -> encode(QUESTION, question.transaction());
            case Ended ended -> encode(ENDED, ended.transaction());
            case Fence fence -> ByteBuffer.allocate(1 + 4 + 8).put(FENCE).putInt(fence.node())
                    .putLong(fence.incarnation()).array();
            case Mark mark -> ByteBuffer.allocate(1 + 8).put(MARK).putLong(mark.number()).array();
        };
    }

    private static byte[] encode(byte tag, TransactionId transaction) {
        ByteBuffer to = ByteBuffer.allocate(1 + TransactionId.ENCODED_BYTES).put(tag);
        transaction.encode(to);
        return to.array();
    }

    /** Reads a control message, or answers null, the envelope byte consumed, if it is one of the protocol's. */
    static @Nullable Control decode(ByteBuffer from) {
        byte tag = from.get();
        return switch (tag) {
            case PROTOCOL -> null;
            case HELLO -> {
                long incarnation = from.getLong();
                long mark = from.getLong();
                byte[] protocol = new byte[from.remaining()];
                from.get(protocol);
                yield new Hello(incarnation, mark, new String(protocol, StandardCharsets.UTF_8));
            }
            case RESTART -> new Restart(from.getLong());
            case QUESTION -> new Question(TransactionId.decode(from));
            case ENDED -> new Ended(TransactionId.decode(from));
            case FENCE -> new Fence(from.getInt(), from.getLong());
            case MARK -> new Mark(from.getLong());
            default -> throw new IllegalArgumentException("message with unknown envelope " + tag
                    + ": is a node of a newer version in the cluster?");
        };
    }
}
