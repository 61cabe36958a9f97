package tutti.node;

import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * What a node keeps of a position of the order, so that it need not be delivered what came before: the protocol's state,
 * and which transactions have committed.
 *
 * @param position after which it was taken
 * @param digest of the message at that position ({@link LogContinuity#digest})
 * @param protocol what the protocol gave
 * @param outcomes which have committed
 * @param ballots which positions some node could not apply
 */
record NodeSnapshot(long position, int digest, byte[] protocol, Outcomes.Image outcomes,
        Ballots.Image ballots) implements Encoded {
    static final Schema<NodeSnapshot> SCHEMA = Schema
            .message("snapshot", 1, NodeSnapshot.class, "What a node keeps of a position.").of(
                    Field.of("position", Types.NATURAL, NodeSnapshot::position),
                    Field.of("digest", Types.INT, NodeSnapshot::digest),
                    Field.of("protocol", Types.bytes(Integer.MAX_VALUE), NodeSnapshot::protocol),
                    Field.of("outcomes", Outcomes.Image.SCHEMA, NodeSnapshot::outcomes),
                    Field.of("ballots", Ballots.Image.SCHEMA, NodeSnapshot::ballots), NodeSnapshot::new);
}
