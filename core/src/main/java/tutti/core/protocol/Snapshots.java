package tutti.core.protocol;

import java.nio.ByteBuffer;
import java.util.List;
import tutti.core.schema.Encoded;
import tutti.core.schema.MessageSet;

/** What protocols keep in their snapshots. */
final class Snapshots {
    static final MessageSet<Encoded> SET = new MessageSet<>("protocol states",
            "What a protocol has decided from, in the snapshots of nodes.",
            List.of(SnapshotIsolation.Snapshot.SCHEMA, DatabaseStateMachine.Snapshot.SCHEMA, PostgresR.Snapshot.SCHEMA,
                    ActiveReplication.Snapshot.SCHEMA, PassiveReplication.Snapshot.SCHEMA, ClassPlaces.SCHEMA,
                    Epochs.Snapshot.SCHEMA, Wice.Snapshot.SCHEMA,
                    HybridMessage.Snapshot.SCHEMA));

    private Snapshots() {}

    /**
     * Reads one.
     *
     * @throws IllegalArgumentException if it is none of this protocol, or of a version that this build does not read
     */
    static <T extends Encoded> T open(byte[] snapshot, Class<T> of) {
        return SET.decode(ByteBuffer.wrap(snapshot), of);
    }
}
