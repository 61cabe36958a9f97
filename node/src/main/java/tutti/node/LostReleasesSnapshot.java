package tutti.node;

import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * A {@link NodeSnapshot}, or what one is wrapped in, of a position behind one that was left out and changed rows.
 *
 * @param snapshot as bytes
 * @param lost as of its position, or a later one
 */
record LostReleasesSnapshot(byte[] snapshot, LostReleases.Image lost) implements Encoded {
    static final Schema<LostReleasesSnapshot> SCHEMA = Schema
            .message("lost-releases-snapshot", 9, LostReleasesSnapshot.class,
                    "A snapshot, of a position behind one that was left out and changed rows.")
            .of(Field.of("snapshot", Types.bytes(Integer.MAX_VALUE), LostReleasesSnapshot::snapshot),
                    Field.of("rows", LostReleases.Image.SCHEMA, LostReleasesSnapshot::lost), LostReleasesSnapshot::new);
}
