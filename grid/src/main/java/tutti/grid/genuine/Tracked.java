package tutti.grid.genuine;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;

/** What a member knows of a message. Changed by {@link GroupMulticast} only. */
final class Tracked {
    final TransactionId id;
    int[] groups = new int[0];
    byte[] payload = new byte[0];
    /** The stamp that the own group's leader has proposed in the ballot that this member has joined; 0 if none. */
    long proposal;
    /** Whether the proposals of all groups were accepted here, once: then this member's group keeps its proposal for ever. */
    boolean accepted;
    /** The final stamp, or 0. */
    long stamp;
    boolean delivered;
    /** How often {@link GroupMulticast#tick} has seen it without its being delivered. */
    int ticks;
    /** By group: the proposal of the highest ballot. */
    final Map<Integer, GenuineMessage.Accept> accepts = new HashMap<>();
    /** By node: what it has acknowledged last. */
    final Map<Integer, GenuineMessage.Ack> acks = new HashMap<>();
    /** The ballots that this member has acknowledged. */
    long @Nullable [] acknowledged;

    Tracked(TransactionId id) {
        this.id = id;
    }

    /** Its final stamp; as long as that is not known, a bound that it will not be below. */
    long bound() {
        return stamp > 0 ? stamp : proposal;
    }

    GenuineMessage.Entry entry() {
        return new GenuineMessage.Entry(id, groups, payload, proposal, stamp);
    }

    @Override
    public String toString() {
        return id + (stamp > 0 ? " ordered at " + stamp : " proposed at " + proposal) + (accepted ? ", accepted" : "")
                + (delivered ? ", delivered" : "");
    }
}
