package tutti.core.protocol;

/**
 * What this replica asks for in the order again and again, until it sees that it is so. It does not ask again before it has been delivered what it
 * asked for last, which the order keeps until then: a replica that is cut off for days would else hold as many messages as it has asked times, and
 * have them all ordered when it is back.
 */
final class RepeatedProposal {
    private final int node;
    private final ReplicaWorld world;
    private boolean underWay;

    /** @param node this replica */
    RepeatedProposal(int node, ReplicaWorld world) {
        this.node = node;
        this.world = world;
    }

    /** Asks, unless it has and that is under way. */
    void order(Message message) {
        if (!underWay) {
            underWay = true;
            world.order(message);
        }
    }

    /** A message that asks for it was delivered. */
    void delivered(int sender) {
        underWay &= sender != node;
    }
}
