package tutti.node;

import java.util.Map;
import java.util.Set;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * A {@link NodeSnapshot} of a position behind one that some node could not apply and that changes tables which some nodes lack.
 *
 * @param snapshot as bytes
 * @param tables of its ballots, by position ({@link Ballots#tables})
 */
record BallotTablesSnapshot(byte[] snapshot, Map<Long, Set<Long>> tables) implements Encoded {
    static final Schema<BallotTablesSnapshot> SCHEMA = Schema
            .message("ballot-tables-snapshot", 7, BallotTablesSnapshot.class,
                    "A snapshot, of a position behind one that some node could not apply and that changes tables which some nodes lack.")
            .of(Field.of("snapshot", Types.bytes(Integer.MAX_VALUE), BallotTablesSnapshot::snapshot),
                    Field.of("tables", Types.map(Types.NATURAL, Control.InapplicableToKeepers.TABLES, 1 << 20),
                            BallotTablesSnapshot::tables),
                    BallotTablesSnapshot::new);
}
