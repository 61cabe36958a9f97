package tutti.grid.commit;

import java.nio.ByteBuffer;
import java.util.List;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.TransactionId;
import tutti.grid.multicast.MulticastMessages;

/** What is ordered among groups of owners by {@link GroupCommit}. */
public sealed interface GroupPayload extends Encoded {
    /** As the payload of a message. */
    static MessageSet<GroupPayload> set() {
        return Holder.SET;
    }

    /** Made when it is first used, after the messages. */
    final class Holder {
        private static final MessageSet<GroupPayload> SET = new MessageSet<>("grid group payloads",
                "Inside of the message group data, and of those that repeat it, of grid messages.",
                List.of(Commit.SCHEMA, Floor.SCHEMA));

        private Holder() {}
    }

    /**
     * A transaction.
     *
     * @param request a {@link CommitRequest}
     */
    record Commit(TransactionId id, byte[] request) implements GroupPayload {
        static final Schema<Commit> SCHEMA = Schema
                .message("commit", 1, Commit.class, "A transaction is to be committed.").of(
                        Field.of("id", TransactionId.SCHEMA, Commit::id),
                        Field.of("request", Types.bytes(MulticastMessages.PAYLOAD_BYTES_MAX), Commit::request),
                        Commit::new);
    }

    /** To one group: what is behind it may not need anything below a stamp. */
    record Floor(long horizon) implements GroupPayload {
        static final Schema<Floor> SCHEMA = Schema.message("floor", 2, Floor.class,
                "To one group: versions that only snapshots below this stamp would find may be dropped.").of(
                        Field.of("horizon", Types.NATURAL, Floor::horizon), Floor::new);
    }

    static GroupPayload decode(byte[] payload) {
        return set().decode(ByteBuffer.wrap(payload));
    }
}
