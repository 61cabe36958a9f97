package tutti.group;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/**
 * Makes this member's log equal to another's up to some position: for the maker of a view, which takes the best log that
 * it was told of; for a member of a new view, which takes the log with which the view begins; and for one that is outside
 * the view and catches up with what is known to be stable at a majority.
 *
 * <p>
 * <b>How.</b> Logs have the matching property: if two of them have a message of the same view at the same position, they
 * are equal up to there. (Positions of a view are given by its sequencer alone, each once; who appends them has a log that
 * equals the sequencer's up to there.) So it is enough to find a position at which both agree on the view. The member
 * asks with the last position it has; if the other has another view there, it answers with the end of the last view
 * that is not later than the asked one, and the next question goes there, or lower: each question skips a view at least.
 * Then messages come from the position found on. Those that the member has are left alone, and the first one that differs
 * cuts the rest off.
 *
 * <p>
 * <b>Why cutting is safe.</b> A member cuts only against a log that holds everything that may be stable at a majority
 * ({@link Membership}): the best of a majority's, the one with which a view began, or such messages themselves. What
 * conflicts with it is in nobody's delivered prefix. And since nothing is cut that does not conflict, a message that is
 * at a majority stays there while logs are made equal.
 *
 * <p>
 * <b>A log that begins later.</b> A member that has forgotten its log fetches all that another has, also what its own state holds
 * already: a third one may need it. It begins after a position that the other has forgotten, and knows of that only that it
 * was delivered. So it is in every log that may be fetched from, and whatever view that has there is right.
 *
 * <p>
 * One question is under way at a time; it is asked again when the next sign of life is due.
 */
final class LogTransfer {
    private final MessageLog log;
    private final StableWriter writer;
    private final Links links;
    private final int fetchBytes;
    /** Told up to where this log is known to be stable at a majority. */
    private final LongConsumer committed;
    /** Up to where this member has the state, if not the messages. */
    private final LongSupplier delivered;

    private boolean active;
    private int source;
    private long view;
    private long target;
    private long targetView;
    private long probe;
    private boolean asked;

    LogTransfer(MessageLog log, StableWriter writer, Links links, int fetchBytes, LongSupplier delivered,
            LongConsumer committed) {
        this.delivered = delivered;
        this.log = log;
        this.writer = writer;
        this.links = links;
        this.fetchBytes = fetchBytes;
        this.committed = committed;
    }

    /** Whether this log holds that position of that view, and so everything before it. */
    boolean holds(long position, long positionView) {
        return position >= log.base() && position <= log.end() && log.viewAt(position) == positionView;
    }

    /** Begins to fetch the log of a view up to a position. */
    void begin(int from, long forView, long upTo, long upToView) {
        active = true;
        source = from;
        view = forView;
        target = upTo;
        targetView = upToView;
        probe = Math.max(log.base(), Math.min(log.end(), upTo));
        ask();
    }

    /** Fetches what is stable at a majority; ends when there is no more at present. */
    void catchUp(int from) {
        begin(from, 0, Long.MAX_VALUE, 0);
    }

    void stop() {
        active = false;
    }

    /** Whether something is being fetched. */
    boolean active() {
        return active;
    }

    /** Asks again if there was no answer since the last call. */
    void tick() {
        if (active && asked) {
            ask();
        }
        asked = true;
    }

    private void ask() {
        asked = false;
        probe = Math.max(probe, log.base());
        long known = log.viewAt(probe);
        links.send(source, new Packet.Fetch(view, probe, known < 0 ? Packet.ANY_VIEW : known));
    }

    /**
     * An answer came.
     *
     * @return whether the fetched log is complete
     */
    boolean received(int from, Packet.Entries answer) {
        if (!active || from != source || answer.view() != view || answer.after() != probe) {
            return false;
        }
        if (probe == log.base() && !log.knowsBase()) {
            log.base(answer.afterView());
        }
        if (!holds(probe, answer.afterView())) {
            return false;
        }
        long matched = probe;
        for (Ordered message : answer.messages()) {
            long position = message.position();
            ImpossiblePacket.unless(position == matched + 1, "positions do not follow each other");
            if (position > target) {
                break;
            }
            if (!holds(position, message.view())) {
                ImpossiblePacket.unless(position > Math.min(delivered.getAsLong(), log.end()),
                        "another message was delivered at that position");
                if (position <= log.end()) {
                    writer.write(new StableRecord.Cut(position - 1));
                }
                ImpossiblePacket.unless(log.follows(message), "it cannot be the next message");
                writer.append(message);
            }
            matched = position;
        }
        committed.accept(Math.min(answer.committed(), matched));
        boolean progress = matched > probe;
        probe = matched;
        if (view != 0 ? holds(target, targetView) : !progress) {
            active = false;
            return true;
        }
        if (progress) {
            ask();
        }
        return false;
    }

    /** The logs differ at the position asked for. Each answer is followed by at most one question, with a lower one. */
    void received(int from, Packet.Differs answer) {
        if (active && from == source && answer.view() == view && answer.after() == probe) {
            long lower = Math.max(log.base(), Math.min(answer.position(), log.endOfView(answer.positionView())));
            if (lower < probe) {
                probe = lower;
                ask();
            } else if (view == 0) {
                // All that the other knows to be at a majority has been forgotten here: it cannot help at present.
                active = false;
            }
        }
    }

    /** Whether the answer says that what is needed is gone. A member that has the state without the messages begins later. */
    boolean received(int from, Packet.Forgotten answer) {
        if (!active || from != source || answer.view() != view || answer.after() != probe) {
            return false;
        }
        ImpossiblePacket.unless(answer.firstRetained() > answer.after() + 1, "what follows is not forgotten");
        if (log.remembers() || answer.firstRetained() > delivered.getAsLong() + 1) {
            return true;
        }
        writer.begin(answer.firstRetained() - 1);
        probe = log.base();
        ask();
        return false;
    }

    /**
     * Answers a question.
     *
     * @param limit up to which position the asking member may have this log
     * @param committedHere up to which position it is known to be stable at a majority
     */
    void answer(int to, Packet.Fetch question, long limit, long committedHere) {
        links.send(to, answer(question, limit, committedHere));
    }

    private Packet answer(Packet.Fetch question, long limit, long committedHere) {
        long after = question.after();
        if (after < log.base()) {
            return new Packet.Forgotten(question.view(), after, log.base() + 1);
        }
        boolean any = question.afterView() == Packet.ANY_VIEW;
        if (after > limit || (!any && log.viewAt(after) != question.afterView())) {
            long position = Math.min(Math.min(after, limit), log.endOfView(question.afterView()));
            return new Packet.Differs(question.view(), after, position, log.viewAt(position));
        }
        List<Ordered> messages = new ArrayList<>();
        int bytes = 0;
        for (long position = after + 1; position <= limit && bytes < fetchBytes; position++) {
            Ordered message = log.get(position);
            messages.add(message);
            bytes += message.encodedSize();
        }
        return new Packet.Entries(question.view(), after, log.viewAt(after), committedHere,
                messages);
    }
}
