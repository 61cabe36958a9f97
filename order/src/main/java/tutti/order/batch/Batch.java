package tutti.order.batch;

import java.nio.ByteBuffer;
import java.util.List;
import tutti.core.schema.ByteStrings;
import tutti.core.schema.DecodeException;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * Several messages of one sender in one entry of a log.
 *
 * @param incarnation of the sender
 * @param sequence number of the batch in it, from 1
 * @param messages at least one
 */
public record Batch(int sender, long incarnation, long sequence, ByteStrings messages) implements Encoded {
    /** Number of the message. */
    public static final byte KIND = 2;
    /** As it is written. */
    public static final Schema<Batch> SCHEMA = Schema
            .message("batch", KIND, Batch.class, "Several messages of one sender.").of(
                    Field.of("sender", Types.INT, Batch::sender),
                    Field.of("incarnation", Types.NATURAL, Batch::incarnation),
                    Field.of("sequence", Types.POSITIVE, Batch::sequence),
                    Field.of("messages", Types.byteStrings(1 << 24), Batch::messages), Batch::new);
    /** It alone. */
    public static final MessageSet<Batch> SET = new MessageSet<>("log entries",
            "In the entries of the Raft log and of ledgers: what they order.", List.of(SCHEMA));

    /** Checks that there is a message. */
    public Batch {
        if (messages.count() < 1) {
            throw new IllegalArgumentException("a batch of no message");
        }
    }

    /**
     * Reads the body of an entry, of which it keeps a view.
     *
     * @throws DecodeException if it is no batch
     */
    public static Batch of(byte[] body) {
        return SET.decode(ByteBuffer.wrap(body).asReadOnlyBuffer());
    }
}
