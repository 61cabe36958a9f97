package tutti.bookkeeper;

import java.util.List;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.order.batch.Batch;
import tutti.runtime.Frames;

/** What the nodes of an order whose log is in BookKeeper tell each other, each in one of {@link Frames}. */
sealed interface LedgerMessage extends Encoded {
    /**
     * A batch for the node that writes the log.
     *
     * @param batch bytes of a {@link Batch}
     */
    record Submit(byte[] batch) implements LedgerMessage {
        static final Schema<Submit> SCHEMA = Schema
                .message("submit", 1, Submit.class, "A batch for the node that writes the log.").of(
                        Field.of("batch", Types.bytes(Types.BYTES_MAX), Submit::batch), Submit::read);

        private static Submit read(byte[] batch) {
            Batch.of(batch);
            return new Submit(batch);
        }
    }

    /** What the sender's caller told this node outside of the order. */
    record Letter(byte[] payload) implements LedgerMessage {
        static final Schema<Letter> SCHEMA = Schema
                .message("letter", 2, Letter.class, "What the sender's node tells this one outside of the order.").of(
                        Field.of("payload", Types.bytes(Types.BYTES_MAX), Letter::payload), Letter::new);
    }

    /**
     * The sender writes the log.
     *
     * @param ledger to which it writes
     * @param entry the last one that enough bookies have
     * @param positions the last position up to there
     */
    record Written(long ledger, long entry, long positions) implements LedgerMessage {
        static final Schema<Written> SCHEMA = Schema
                .message("written", 3, Written.class, "The sender writes the log, and has got so far.").of(
                        Field.of("ledger", Types.NATURAL, Written::ledger),
                        Field.of("entry", Types.NATURAL, Written::entry),
                        Field.of("positions", Types.NATURAL, Written::positions), Written::new);
    }

    /**
     * The sender does not write the log at present, or no more.
     *
     * @param ledger to which it wrote
     */
    record Stopped(long ledger) implements LedgerMessage {
        static final Schema<Stopped> SCHEMA = Schema
                .message("stopped", 4, Stopped.class, "The sender does not write at present, or no more.").of(
                        Field.of("ledger", Types.NATURAL, Stopped::ledger), Stopped::new);
    }

    /** All of them. */
    MessageSet<LedgerMessage> SET = new MessageSet<>("ledger messages",
            "Between the nodes of an order whose log is in BookKeeper, behind the greeting, each in a frame: its length of 4 bytes, a"
                    + " CRC-32C of 4 bytes, and the message.",
            List.of(Submit.SCHEMA, Letter.SCHEMA, Written.SCHEMA, Stopped.SCHEMA));
}
