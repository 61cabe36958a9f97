package tutti.node;

import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * A {@link NodeSnapshot}, or one of a cluster whose members have changed, of a position behind one that was left out.
 *
 * @param snapshot as bytes
 * @param lost as of its position, or a later one
 */
record LostKeysSnapshot(byte[] snapshot, LostKeys.Image lost) implements Encoded {
    static final Schema<LostKeysSnapshot> SCHEMA = Schema
            .message("lost-keys-snapshot", 6, LostKeysSnapshot.class,
                    "A snapshot, of a position behind one that was left out.")
            .of(Field.of("snapshot", Types.bytes(Integer.MAX_VALUE), LostKeysSnapshot::snapshot),
                    Field.of("keys", LostKeys.Image.SCHEMA, LostKeysSnapshot::lost), LostKeysSnapshot::new);
}
