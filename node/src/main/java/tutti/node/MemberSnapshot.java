package tutti.node;

import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.spi.Group;

/**
 * A {@link NodeSnapshot} of a cluster whose members have changed.
 *
 * @param snapshot as bytes
 * @param members as of its position
 */
record MemberSnapshot(byte[] snapshot, Group.Members members) implements Encoded {
    static final Schema<MemberSnapshot> SCHEMA = Schema
            .message("member-snapshot", 4, MemberSnapshot.class, "A snapshot, of a cluster whose members have changed.")
            .of(Field.of("snapshot", Types.bytes(Integer.MAX_VALUE), MemberSnapshot::snapshot),
                    Field.of("members", Group.Members.SCHEMA, MemberSnapshot::members), MemberSnapshot::new);
}
