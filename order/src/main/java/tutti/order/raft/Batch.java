package tutti.order.raft;

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
 * Several messages of one sender in one entry of the Raft log.
 *
 * @param incarnation of the sender
 * @param sequence number of the batch in it, from 1
 * @param messages at least one
 */
record Batch(int sender, long incarnation, long sequence, ByteStrings messages) implements Encoded {
    static final Schema<Batch> SCHEMA = Schema
            .message("batch", LogEntry.BATCH, Batch.class, "Several messages of one sender.").of(
                    Field.of("sender", Types.INT, Batch::sender),
                    Field.of("incarnation", Types.NATURAL, Batch::incarnation),
                    Field.of("sequence", Types.POSITIVE, Batch::sequence),
                    Field.of("messages", Types.byteStrings(1 << 24), Batch::messages), Batch::new);
    static final MessageSet<Batch> SET = new MessageSet<>("log entries",
            "In the entries of the Raft log: what they order.", List.of(SCHEMA));

    Batch {
        if (messages.count() < 1) {
            throw new IllegalArgumentException("a batch of no message");
        }
    }

    /**
     * Reads the body of an entry, of which it keeps a view.
     *
     * @throws DecodeException if it is no batch
     */
    static Batch of(byte[] body) {
        return SET.decode(ByteBuffer.wrap(body).asReadOnlyBuffer());
    }
}
