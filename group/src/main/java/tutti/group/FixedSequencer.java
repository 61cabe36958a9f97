package tutti.group;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/**
 * Total order within one view by a fixed sequencer (D5.1 section 2.3.3): members multicast their messages, one of them
 * multicasts in which order they count, and everybody puts them into the log in that order. One instance lives as long
 * as the view.
 *
 * <p>
 * <b>Why all logs of a view agree.</b> Only the sequencer's stream carries decisions, and everybody reads it in its order
 * and without gaps ({@link ReliableMulticast}); a decision names the next messages of streams that everybody reads alike.
 * So from equal logs at the beginning of the view, which {@link Membership} sees to, every member's log is at any time a
 * prefix of the sequencer's. The sequencer dies for the view when it crashes: a later life of it never acts in the view.
 *
 * <p>
 * <b>Each sender's messages in turn, each once.</b> In its stream a sender begins with the message after its last one in
 * the log with which the view begins, and goes on from there, so the sequencer need not look for doubles; that the
 * numbers fit is checked when the log is written.
 */
final class FixedSequencer {
    private final long view;
    private final int[] memberIds;
    private final long[] incarnations;
    /** By place in the view: messages received and not yet in the log. */
    private final List<ArrayDeque<Packet.Data>> waiting = new ArrayList<>();
    /** A run decided on, and its first position if it is the first of a decision, else 0. */
    private record Decided(Packet.Run run, long position) {}

    private final ArrayDeque<Decided> decided = new ArrayDeque<>();
    /** What was decided first cannot be, and so nothing behind it. */
    private boolean impossible;
    /** How many of the first run's data messages are not in the log. */
    private int ofFirst;
    private long nextDecided;
    /** At the sequencer: what arrived and is not decided on, in turn. */
    private final ArrayDeque<Packet.Run> arrived = new ArrayDeque<>();
    private final boolean sequencer;

    /**
     * @param memberIds of the view's members, by their place in it
     * @param incarnations likewise
     * @param start last position of the log with which the view begins
     */
    FixedSequencer(long view, int[] memberIds, long[] incarnations, long start, boolean sequencer) {
        this.view = view;
        this.memberIds = memberIds;
        this.incarnations = incarnations;
        this.sequencer = sequencer;
        nextDecided = start + 1;
        for (int i = 0; i < memberIds.length; i++) {
            waiting.add(new ArrayDeque<>());
        }
    }

    /** A member's next messages. */
    void data(int member, Packet.Data data) {
        waiting.get(member).addLast(data);
        if (!sequencer) {
            return;
        }
        Packet.Run last = arrived.peekLast();
        if (last != null && last.member() == member) {
            arrived.removeLast();
            arrived.addLast(new Packet.Run(member, last.firstNumber(), last.dataMessages() + 1));
        } else {
            arrived.addLast(new Packet.Run(member, data.firstNumber(), 1));
        }
    }

    /** Whether the sequencer has something to decide on. */
    boolean undecided() {
        return !arrived.isEmpty();
    }

    /**
     * The sequencer's next decision, on all that has arrived, or the first runs of it. It must be passed to
     * {@link #decided} here like everywhere.
     */
    Packet.Order decide(int runsMax) {
        List<Packet.Run> runs = new ArrayList<>();
        while (runs.size() < runsMax && !arrived.isEmpty()) {
            runs.add(arrived.removeFirst());
        }
        return new Packet.Order(nextDecided, runs);
    }

    /** The sequencer's next decision has come. */
    void decided(Packet.Order order) {
        long position = order.firstPosition();
        for (Packet.Run run : order.runs()) {
            decided.addLast(new Decided(run, position));
            position = 0;
        }
        if (ofFirst == 0) {
            ofFirst = decided.getFirst().run().dataMessages();
        }
    }

    /**
     * Puts into the log what is decided on and has been received, in order, up to what the sequencer cannot have decided.
     *
     * @param log takes each message, or says that it cannot be the next one
     * @param next the position after the log's last
     */
    void drain(long next, Predicate<Ordered> log) {
        long position = next;
        for (Decided first = decided.peekFirst(); first != null && !impossible; first = decided.peekFirst()) {
            Packet.Run run = first.run();
            Packet.Data data = waiting.get(run.member()).peekFirst();
            if (data == null) {
                break;
            }
            impossible = ofFirst == run.dataMessages() && !fits(first, data, position);
            if (impossible) {
                break;
            }
            long number = data.firstNumber();
            for (byte[] payload : data.payloads()) {
                impossible |= !log.test(new Ordered(position, view, memberIds[run.member()],
                        incarnations[run.member()], number++, payload));
                if (impossible) {
                    nextDecided = position;
                    return;
                }
                position++;
            }
            waiting.get(run.member()).removeFirst();
            if (--ofFirst == 0) {
                decided.removeFirst();
                Decided following = decided.peekFirst();
                ofFirst = following == null ? 0 : following.run().dataMessages();
            }
        }
        nextDecided = position;
    }

    private static boolean fits(Decided first, Packet.Data data, long position) {
        return data.firstNumber() == first.run().firstNumber()
                && (first.position() == 0 || first.position() == position);
    }

    /** Whether the sequencer has decided what cannot be: nothing is put into the log any more. */
    boolean impossible() {
        return impossible;
    }
}
