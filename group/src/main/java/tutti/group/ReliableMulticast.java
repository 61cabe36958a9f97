package tutti.group;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Window-based reliable multicast within one view, initiated by receivers (D5.1 section 2.3.3): each member numbers what
 * it multicasts, receivers notice gaps and ask the sender for what is missing, and the sender keeps everything until it
 * is stable (received by the whole view, {@link Stability}). One instance lives as long as the view.
 *
 * <p>
 * <b>What it guarantees</b> between members of a view that stay in it: each stream is handed up in its order, without
 * gaps and each message once (only the successor of the last one handed up is); and all of it eventually, since a gap is
 * noticed at the latest when the sender tells how much it has sent, is asked for until it is closed, and the sender still
 * has what it lacks, because what one member lacks is not stable. It guarantees nothing across views: what matters of a
 * view is in the members' logs ({@link Membership}).
 *
 * <p>
 * <b>Bounds.</b> A sender has at most {@code window} messages, and {@code shareBytes} of them unless it is a single one,
 * that are not stable ({@link #room}). A receiver therefore never has to hold a message more than {@code window} above
 * the last one it handed up, and drops such ones.
 */
final class ReliableMulticast {
    private static final long NEVER = Long.MAX_VALUE;

    /** What one member has sent, as far as it has been seen here. */
    private static final class Incoming {
        /** By sequence number modulo the window: received, but not in turn. */
        final Packet.@Nullable Body[] early;
        /** All up to this number has been handed up. */
        long received;
        /** The sender has sent up to this number, as far as known. */
        long sent;
        long askAt = NEVER;

        Incoming(int window) {
            early = new Packet.Body[window];
        }
    }

    private final int self;
    private final int window;
    private final long shareBytes;
    private final long missingDelayNanos;
    private final long missingIntervalNanos;
    private final Incoming[] incoming;
    private final Ring<Packet.Body> unstable = new Ring<>();
    private long unstableBytes;

    /** @param self this member's place among the members of the view */
    ReliableMulticast(int members, int self, GroupParameters parameters) {
        this.self = self;
        window = parameters.flow().windowMessages();
        shareBytes = parameters.flow().bufferBytes() / parameters.members().size();
        missingDelayNanos = parameters.timing().missingDelayNanos();
        missingIntervalNanos = parameters.timing().missingIntervalNanos();
        incoming = new Incoming[members];
        Arrays.setAll(incoming, _ -> new Incoming(window));
    }

    /** Whether this member may multicast another message, using at most this many of its window. */
    boolean room(int ofWindow) {
        return unstable.size() < Math.min(ofWindow, window) && unstableBytes < shareBytes;
    }

    /** Takes a message to be multicast; its number is {@link #sent} afterwards. It counts as received here. */
    void send(Packet.Body body) {
        unstable.add(body);
        unstableBytes += body.encodedSize();
        incoming[self].received = unstable.last();
        incoming[self].sent = unstable.last();
    }

    /** The last number of this member's stream. */
    long sent() {
        return unstable.last();
    }

    /** Up to which number a member's stream has been handed up. */
    long received(int member) {
        return incoming[member].received;
    }

    /** A message of this member's stream that somebody lacks; null if it has been stable. */
    Packet.@Nullable Body again(long sequence) {
        return sequence >= unstable.first() && sequence <= unstable.last() ? unstable.get(sequence) : null;
    }

    /** This member's stream has been received by the whole view up to this number. */
    void stable(long upTo) {
        while (!unstable.isEmpty() && unstable.first() <= upTo) {
            unstableBytes -= unstable.removeFirst().encodedSize();
        }
    }

    /**
     * A member has sent a message.
     *
     * @return whether {@link #next} has something to hand up
     */
    boolean received(int member, long sequence, Packet.Body body, long now) {
        Incoming from = incoming[member];
        if (member == self || sequence <= from.received || sequence > from.received + window) {
            return false;
        }
        from.early[slot(sequence)] = body;
        told(member, sequence, now);
        return sequence == from.received + 1;
    }

    /** A member has sent messages up to this number. */
    void told(int member, long sent, long now) {
        Incoming from = incoming[member];
        if (member == self) {
            return;
        }
        from.sent = Math.max(from.sent, sent);
        if (from.received == from.sent || (from.received + 1 == from.sent && from.early[slot(from.sent)] != null)) {
            return;
        }
        if (from.askAt == NEVER) {
            from.askAt = now + missingDelayNanos;
        }
    }

    /** The next message of a member's stream, taken out; null if it has not been received. */
    Packet.@Nullable Body next(int member) {
        Incoming from = incoming[member];
        int slot = slot(from.received + 1);
        Packet.Body body = from.early[slot];
        if (body != null) {
            from.early[slot] = null;
            from.received++;
            if (from.received == from.sent) {
                from.askAt = NEVER;
            }
        }
        return body;
    }

    /** When {@link #missing} has something to ask for next; {@link Long#MAX_VALUE} if nothing is missing. */
    long askAt() {
        long at = NEVER;
        for (Incoming from : incoming) {
            at = Math.min(at, from.askAt);
        }
        return at;
    }

    /** What to ask a member for now; empty if nothing. */
    List<Packet.Range> missing(int member, long now) {
        Incoming from = incoming[member];
        if (from.askAt > now) {
            return List.of();
        }
        from.askAt = now + missingIntervalNanos;
        List<Packet.Range> ranges = new ArrayList<>();
        long last = Math.min(from.sent, from.received + window);
        long first = 0;
        for (long sequence = from.received + 1; sequence <= last + 1; sequence++) {
            boolean lacking = sequence <= last && from.early[slot(sequence)] == null;
            if (lacking && first == 0) {
                first = sequence;
            } else if (!lacking && first > 0) {
                ranges.add(new Packet.Range(first, sequence - 1));
                first = 0;
                if (ranges.size() == Packet.Missing.RANGES_MAX) {
                    break;
                }
            }
        }
        return ranges;
    }

    private int slot(long sequence) {
        return (int) (sequence % window);
    }
}
