package tutti.group;

import java.util.List;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * One change of what a member must not forget. The world writes the records of a member to its stable storage in the
 * order in which it is given them, and acknowledges them in that order; a crash may lose any number of the last ones
 * that were not acknowledged, but none from the middle. {@link MessageLog#apply} folds them to a state to restart from.
 */
public sealed interface StableRecord extends Encoded {
    /** The member began a new life. */
    record Started(long incarnation) implements StableRecord {
        static final Schema<Started> SCHEMA = Schema
                .message("started", 1, Started.class, "The member began a new life.").of(
                        Field.of("incarnation", Types.NATURAL, Started::incarnation), Started::new);
    }

    /** The member takes no part in views below this one any more. */
    record Promised(long view) implements StableRecord {
        static final Schema<Promised> SCHEMA = Schema
                .message("promised", 2, Promised.class, "It takes no part in lower views any more.").of(
                        Field.of("view", Types.NATURAL, Promised::view), Promised::new);
    }

    /** The member's log holds all that this view began with. */
    record Accepted(long view) implements StableRecord {
        static final Schema<Accepted> SCHEMA = Schema
                .message("accepted", 3, Accepted.class, "Its log holds all that this view began with.").of(
                        Field.of("view", Types.NATURAL, Accepted::view), Accepted::new);
    }

    /** Messages at the end of the log, at least one. */
    record Appended(List<Ordered> messages) implements StableRecord {
        public Appended {
            messages = List.copyOf(messages);
        }

        static final Schema<Appended> SCHEMA = Schema
                .message("appended", 4, Appended.class, "Messages at the end of the log.").of(
                        Field.of("messages", Types.list(Ordered.SCHEMA, Packet.COUNT_MAX), Appended::messages),
                        Appended::new);
    }

    /** The messages after this position are given up: another view decided otherwise before a majority had them. */
    record Cut(long lastKept) implements StableRecord {
        static final Schema<Cut> SCHEMA = Schema
                .message("cut", 5, Cut.class, "The messages after this position are given up.").of(
                        Field.of("lastKept", Types.NATURAL, Cut::lastKept), Cut::new);
    }

    /** The messages up to this position are not needed by anybody any more. */
    record Forgotten(long upTo) implements StableRecord {
        static final Schema<Forgotten> SCHEMA = Schema
                .message("forgotten", 6, Forgotten.class, "The messages up to this position are not needed any more.")
                .of(
                        Field.of("upTo", Types.NATURAL, Forgotten::upTo), Forgotten::new);
    }

    /** All of them. */
    MessageSet<StableRecord> SET = new MessageSet<>("group records", "In the stable storage of a member of a group.",
            List.of(Started.SCHEMA, Promised.SCHEMA, Accepted.SCHEMA, Appended.SCHEMA, Cut.SCHEMA, Forgotten.SCHEMA));
}
