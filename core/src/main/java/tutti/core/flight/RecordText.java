package tutti.core.flight;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.function.Function;
import tutti.core.protocol.Message;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.TransactionRequest;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** Records of a tape as a person reads them. */
final class RecordText {
    private static final int SHOWN_MAX = 300;

    private RecordText() {}

    static String shortened(Object value) {
        String text = value.toString();
        return text.length() <= SHOWN_MAX ? text : text.substring(0, SHOWN_MAX) + "…";
    }

    static String of(WriteSet writes) {
        return writes.keys().size() + " keys, " + writes.changes().length + " bytes of changes";
    }

    static String of(TransactionRequest request) {
        return switch (request) {
            case TransactionRequest.Interactive interactive -> "interactive, " + shortened(interactive.classes());
            case TransactionRequest.Whole whole ->
                "whole request for " + whole.placement() + ", " + shortened(whole.classes()) + ", "
                        + whole.statement().length + " bytes";
        };
    }

    /**
     * An effect in words.
     *
     * @param messages reads those of the protocol
     */
    static String ofEffect(RecordKind kind, ByteBuffer payload, Function<ByteBuffer, Message> messages) {
        ByteBuffer from = payload.duplicate();
        try {
            return kind.words() + " " + rest(kind, from, messages);
        } catch (BufferUnderflowException | IllegalArgumentException damaged) {
            return kind.words() + ", unreadable: " + damaged.getMessage();
        }
    }

    private static String rest(RecordKind kind, ByteBuffer from, Function<ByteBuffer, Message> messages) {
        return switch (kind) {
            case RUN -> TransactionId.SCHEMA.read(from) + " " + ReplicaWorld.Priority.values()[from.get()];
            case PREPARE -> {
                TransactionId transaction = TransactionId.SCHEMA.read(from);
                from.getLong();
                yield transaction + ": " + keysAndDigest(from);
            }
            case APPLY, COMMIT ->
                TransactionId.SCHEMA.read(from) + " at " + from.getLong() + ": " + keysAndDigest(from);
            case EXECUTE -> TransactionId.SCHEMA.read(from) + " at " + from.getLong() + ": request of " + digest(from);
            case UNDERTAKE -> {
                TransactionId transaction = TransactionId.SCHEMA.read(from);
                from.getLong();
                yield transaction + ": request of " + digest(from);
            }
            case INCLUDES -> TransactionId.SCHEMA.read(from) + " at " + from.getLong();
            case RESPOND -> TransactionId.SCHEMA.read(from) + ": " + digest(from);
            case SKIP -> Long.toString(from.getLong());
            case ABORT -> TransactionId.SCHEMA.read(from).toString();
            case ANSWER -> {
                TransactionId transaction = TransactionId.SCHEMA.read(from);
                long position = from.getLong();
                String reason = Events.text(from);
                yield transaction + ": " + (position < 0 ? "aborted, " + reason : "committed at " + position);
            }
            case ORDER -> message(from, messages);
            case MULTICAST -> "to " + Events.nodes(from) + ": " + message(from, messages);
            case SET_TIMER -> from.getLong() + " in " + from.getLong() + " ns";
            case SNAPSHOT_TAKEN -> digest(from);
            case THREW -> Events.text(from);
            default -> throw new IllegalArgumentException("not an effect: " + kind);
        };
    }

    private static String keysAndDigest(ByteBuffer from) {
        return from.getInt() + " keys, " + digest(from);
    }

    private static String digest(ByteBuffer from) {
        return from.getInt() + " bytes with checksum " + Integer.toHexString(from.getInt());
    }

    private static String message(ByteBuffer from, Function<ByteBuffer, Message> messages) {
        return from.get() == 1 ? shortened(messages.apply(from)) : "message of " + digest(from);
    }
}
