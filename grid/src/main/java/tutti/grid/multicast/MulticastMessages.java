package tutti.grid.multicast;

import java.util.List;
import tutti.core.schema.Schema;
import tutti.core.schema.Type;
import tutti.core.schema.Types;

/** What is common to the declarations of multicast's messages. */
public final class MulticastMessages {
    /** Largest payload, in bytes. */
    public static final int PAYLOAD_BYTES_MAX = 1 << 26;
    static final Type<int[]> DESTINATIONS = Types.ints(LamportClock.NODES_MAX);
    static final Type<byte[]> PAYLOAD = Types.bytes(PAYLOAD_BYTES_MAX);

    private MulticastMessages() {}

    /** All of them. */
    public static List<Schema<? extends MulticastMessage>> schemas() {
        return List.of(MulticastMessage.Data.SCHEMA, MulticastMessage.Propose.SCHEMA, MulticastMessage.Order.SCHEMA,
                MulticastMessage.Ack.SCHEMA, MulticastMessage.Query.SCHEMA, MulticastMessage.State.SCHEMA,
                MulticastMessage.Renew.SCHEMA, MulticastMessage.Renewed.SCHEMA);
    }
}
