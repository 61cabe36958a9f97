package tutti.group;

/**
 * Optimistic delivery: tells of each message when it is first received, before its position is known (D5.1 section 2.3.3,
 * "optimistic total order"). Each sender's messages in turn, each at most once, and none that has been delivered.
 */
final class SpontaneousOrder {
    private final Links links;
    private final GroupEffects effects;
    private final long[] incarnation;
    private final long[] number;

    SpontaneousOrder(Links links, GroupEffects effects) {
        this.links = links;
        this.effects = effects;
        incarnation = new long[links.configured()];
        number = new long[links.configured()];
    }

    /** A member's messages have been received. */
    void received(int member, long ofIncarnation, Packet.Data data) {
        long next = data.firstNumber();
        for (byte[] payload : data.payloads()) {
            if (advance(member, ofIncarnation, next)) {
                effects.optimistic(links.id(member), ofIncarnation, next, payload);
            }
            next++;
        }
    }

    /** A message is being delivered. */
    void delivered(int member, Ordered message) {
        advance(member, message.incarnation(), message.number());
    }

    private boolean advance(int member, long ofIncarnation, long to) {
        if (ofIncarnation < incarnation[member] || (ofIncarnation == incarnation[member] && to <= number[member])) {
            return false;
        }
        incarnation[member] = ofIncarnation;
        number[member] = to;
        return true;
    }
}
