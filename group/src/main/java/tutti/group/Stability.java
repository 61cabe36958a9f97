package tutti.group;

/**
 * Which messages of a view's streams have been received by the whole view, so that their senders can forget them: the
 * gossip of D5.1 section 2.3.3 (after Guo, "Scalable Message Stability Detection Protocols", 1998). Works in asynchronous
 * rounds. Each member keeps S, the sequence numbers known to be stable, W, who has voted in the round, and M, the numbers
 * up to which all that voted had received the streams; it votes by adding itself to W and lowering M to what it has
 * received, and gossips all three. When W is everybody, M is stable.
 *
 * <p>
 * <b>Why that is right.</b> M of a round is at any member the smallest of what the members in its W had received when
 * they voted in that round: true when a member votes, kept when two states of one round are joined (union and
 * minimum), and a state of a later round replaces an earlier one as a whole. What was received stays received, so M is
 * stable when W is full. Any state of a round with votes lost is harmless: votes are repeated with every gossip.
 *
 * <p>
 * This decides on buffers only. Whether a message may be delivered is decided from how far the members' logs have reached
 * stable storage ({@link GroupMember}).
 */
final class Stability {
    private final int self;
    private final long everybody;
    private long round = 1;
    private long voted;
    private final long[] stable;
    private final long[] received;

    Stability(int members, int self) {
        this.self = self;
        everybody = (1L << members) - 1;
        stable = new long[members];
        received = new long[members];
    }

    /** Up to which number a member's stream is known to be received by all. */
    long stable(int member) {
        return stable[member];
    }

    /** Votes in the present round if this member has not, and ends the round if that was the last vote. */
    void vote(ReliableMulticast streams) {
        if ((voted & 1L << self) != 0) {
            return;
        }
        for (int i = 0; i < received.length; i++) {
            long here = streams.received(i);
            received[i] = voted == 0 ? here : Math.min(received[i], here);
        }
        voted |= 1L << self;
        endRound(streams);
    }

    /** Joins what another member says, then votes. */
    void heard(Packet.Gossip other, ReliableMulticast streams) {
        for (int i = 0; i < stable.length; i++) {
            stable[i] = Math.max(stable[i], other.stable()[i]);
        }
        if (other.round() > round) {
            round = other.round();
            voted = other.voted();
            System.arraycopy(other.received(), 0, received, 0, received.length);
        } else if (other.round() == round) {
            for (int i = 0; i < received.length; i++) {
                received[i] = voted == 0 ? other.received()[i] : Math.min(received[i], other.received()[i]);
            }
            voted |= other.voted();
        }
        vote(streams);
        endRound(streams);
    }

    private void endRound(ReliableMulticast streams) {
        if (voted == everybody) {
            for (int i = 0; i < stable.length; i++) {
                stable[i] = Math.max(stable[i], received[i]);
            }
            round++;
            voted = 0;
            if (everybody != 1) {
                vote(streams);
            }
        }
    }

    /** What to tell the others. */
    Packet.Gossip gossip(long view, long sent, long logged) {
        return new Packet.Gossip(view, sent, logged, round, stable.clone(), voted, received.clone());
    }

    /** Whether everything that has been received here is known to be received by all. */
    boolean settled(ReliableMulticast streams) {
        for (int i = 0; i < stable.length; i++) {
            if (stable[i] < streams.received(i)) {
                return false;
            }
        }
        return true;
    }
}
