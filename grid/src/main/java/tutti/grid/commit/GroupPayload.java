package tutti.grid.commit;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Set;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Type;
import tutti.core.schema.Types;
import tutti.core.txn.TransactionId;
import tutti.grid.genuine.Configuration;
import tutti.grid.genuine.Groups;
import tutti.grid.multicast.MulticastMessages;
import tutti.grid.store.Sorted;

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
                List.of(Commit.SCHEMA, Floor.SCHEMA, Move.SCHEMA, Copied.SCHEMA));

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

    /**
     * To all groups that own keys: a group more, or one less, from a layout on. In vain if there is another one by then.
     *
     * @param base the layout
     * @param group that is founded or dissolved
     * @param nodes that may be members of the group that is founded; none if it is dissolved
     * @param first members of the group that is founded
     */
    record Move(long base, int group, Set<Integer> nodes, Configuration first) implements GroupPayload {
        private static final Type<Integer> NUMBER = Types.integer(0, Groups.GROUPS_MAX - 1);
        static final Schema<Move> SCHEMA = Schema
                .message("move", 3, Move.class, "To all groups that own keys: a group more, or one less.").of(
                        Field.of("base", Types.NATURAL, Move::base), Field.of("group", NUMBER, Move::group),
                        Field.of("nodes", Types.set(NUMBER, Groups.GROUPS_MAX), Move::nodes),
                        Field.of("first", Configuration.SCHEMA, Move::first), Move::new);

        public Move {
            nodes = Sorted.copy(nodes);
        }
    }

    /** To all groups that own keys, or will: all members of a group have what it gets in a layout, and so will have all later ones. */
    record Copied(long layout, int group) implements GroupPayload {
        static final Schema<Copied> SCHEMA = Schema
                .message("copied", 4, Copied.class, "To all groups: all members of a group have the keys that it gets.")
                .of(Field.of("layout", Types.NATURAL, Copied::layout),
                        Field.of("group", Types.integer(0, Groups.GROUPS_MAX - 1), Copied::group), Copied::new);
    }

    static GroupPayload decode(byte[] payload) {
        return set().decode(ByteBuffer.wrap(payload));
    }
}
