package tutti.order.group;

import java.util.List;
import java.util.Set;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.schema.Versions;
import tutti.core.spi.Group;
import tutti.order.SpokenVersions;

/**
 * How a node of a group makes itself known in each of its lives: it announces itself to every other one until that has
 * announced itself, too. Announcements never change, so that nodes of all releases can tell each other what they speak.
 *
 * @param life of the sender, 0 and up; what an earlier life has announced counts no more
 * @param speaks versions of all other messages
 * @param capabilities names of what it can do besides
 * @param asks whether it has not heard what the receiver speaks, which is to say so
 */
record Announcement(long life, Versions speaks, Set<String> capabilities, boolean asks) implements Encoded {
    /** What this node can do that is not said by the versions. */
    static final Set<String> CAPABILITIES = Set.of(Group.COLUMNS, Group.LARGE_OBJECTS, Group.TRACES, Group.PLACEMENTS,
            Group.DATABASES);

    static final Schema<Announcement> SCHEMA = Schema.message("announcement", 1, Announcement.class,
            "A node begins to talk to another, or answers one that asks.").of(
                    Field.of("life", Types.NATURAL, Announcement::life),
                    Field.of("speaks", Versions.SCHEMA, Announcement::speaks),
                    Field.of("capabilities", SpokenVersions.CAPABILITIES, Announcement::capabilities),
                    Field.of("asks", Types.BOOLEAN, Announcement::asks), Announcement::new);

    /** It alone. */
    static final MessageSet<Announcement> SET = new MessageSet<>("group announcements",
            "With which nodes of a group order begin to talk, in datagrams like all others but for the hash of the group, which"
                    + " is inverted. They stay as they are, whatever versions there will be.",
            Versions.FOREVER, List.of(SCHEMA));

    /** One of this build. */
    Announcement(long life, boolean asks) {
        this(life, Versions.SPOKEN, CAPABILITIES, asks);
    }

    /** One of a node that says so of itself what it can do besides. */
    Announcement(long life, SpokenVersions spoken, boolean asks) {
        this(life, Versions.SPOKEN, spoken.told(CAPABILITIES), asks);
    }
}
