package tutti.node;

import java.util.Map;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * A {@link NodeSnapshot} of a cluster in which tables were placed on some nodes only.
 *
 * @param snapshot as bytes
 * @param tables as of its position ({@link Placements#tables})
 */
record PlacementSnapshot(byte[] snapshot, Map<Long, Placements.Table> tables) implements Encoded {
    static final Schema<PlacementSnapshot> SCHEMA = Schema
            .message("placement-snapshot", 8, PlacementSnapshot.class,
                    "A snapshot, of a cluster in which tables were placed on some nodes only.")
            .of(Field.of("snapshot", Types.bytes(Integer.MAX_VALUE), PlacementSnapshot::snapshot),
                    Field.of("tables", Types.map(Types.LONG, Placements.Table.SCHEMA, Placements.TABLES_MAX),
                            PlacementSnapshot::tables),
                    PlacementSnapshot::new);
}
