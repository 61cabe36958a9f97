package tutti.group;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;

/**
 * What a member must remember: the ordered messages since the last forgotten one, the view it has promised, the view it
 * has accepted, its incarnation, and how far each sender's messages have been ordered. The member keeps one in memory;
 * the world keeps another, made of the records that have reached stable storage ({@link #apply}), from a copy of which a
 * restarted member begins. Every operation takes constant time per message added or removed. Not thread safe.
 */
public final class MessageLog {
    /** A run of positions that were ordered in one view. */
    private record Run(long view, long first) {}

    private record Sender(long incarnation, long lastNumber) {
        static final Sender UNHEARD = new Sender(0, 0);
    }

    private final Ring<Ordered> messages = new Ring<>();
    /** For each message what was known of its sender before it, to go back to when it is cut. */
    private final Ring<Sender> before = new Ring<>();
    private final ArrayDeque<Run> runs = new ArrayDeque<>();
    private final Map<Integer, Sender> senders = new HashMap<>();
    private static final long UNKNOWN = -1;

    private long baseView;
    private long bytes;
    private long incarnation;
    private long promised;
    private long accepted;

    /** Whether there were messages before the first that this log ever had. */
    private boolean beginsLater;
    private boolean remembers = true;

    /** The log of a member that has never been started. */
    public MessageLog() {}

    /**
     * The log of a member without stable storage for messages that has promised a view in an earlier life, or begins with a copy of
     * another member's state.
     *
     * @param lives number of its last life; no life may have the number of an earlier one
     */
    public static MessageLog forgotten(long lives) {
        MessageLog log = empty(lives);
        log.remembers = false;
        return log;
    }

    /**
     * The log of a member that has never promised a view, and begins with nothing.
     *
     * @param lives as for {@link #forgotten}
     */
    public static MessageLog empty(long lives) {
        MessageLog log = new MessageLog();
        log.incarnation = lives;
        return log;
    }

    /** An independent copy; the messages themselves are shared. */
    public MessageLog copy() {
        MessageLog copy = new MessageLog();
        copy.messages.restart(messages.first());
        copy.before.restart(messages.first());
        for (long position = messages.first(); position <= messages.last(); position++) {
            copy.messages.add(messages.get(position));
            copy.before.add(before.get(position));
        }
        copy.runs.addAll(runs);
        copy.senders.putAll(senders);
        copy.baseView = baseView;
        copy.bytes = bytes;
        copy.incarnation = incarnation;
        copy.promised = promised;
        copy.accepted = accepted;
        copy.beginsLater = beginsLater;
        copy.remembers = remembers;
        return copy;
    }

    /**
     * Makes a change that was recorded.
     *
     * @throws IllegalArgumentException if the record cannot follow those before it
     */
    public void apply(StableRecord record) {
        switch (record) {
            case StableRecord.Started(long now) -> incarnation = increased(incarnation, now, record);
            case StableRecord.Promised(long view) -> promised = increased(promised, view, record);
            case StableRecord.Accepted(long view) -> {
                accepted = increased(accepted, view, record);
                remembers = true;
            }
            case StableRecord.Appended(var added) -> added.forEach(this::append);
            case StableRecord.Cut(long lastKept) -> cut(lastKept);
            case StableRecord.Forgotten(long upTo) -> forget(upTo);
        }
    }

    private static long increased(long from, long to, StableRecord by) {
        if (to <= from) {
            throw new IllegalArgumentException(by + " after " + from);
        }
        return to;
    }

    /** The position before the first message that is still here; 0 if nothing was forgotten. */
    public long base() {
        return messages.first() - 1;
    }

    /** The last position; {@link #base} if there is no message. */
    public long end() {
        return messages.last();
    }

    /** Bytes of the messages that are here. */
    long bytes() {
        return bytes;
    }

    /** Number of the member's latest life, 0 before the first. */
    public long incarnation() {
        return incarnation;
    }

    /** The member takes no part in views below this one; 0 before the first. */
    public long promised() {
        return promised;
    }

    /** The last view whose beginning this log is known to hold; 0 before the first. */
    public long accepted() {
        return accepted;
    }

    /**
     * Whether all that the member has ever promised and acknowledged is known here. A member that has forgotten that remembers
     * again once it has accepted a view ({@link Membership}).
     */
    public boolean remembers() {
        return remembers;
    }

    /** Whether it is known in which view {@link #base} was ordered. */
    boolean knowsBase() {
        return baseView != UNKNOWN;
    }

    /** Begins anew, after a position that was delivered. */
    void begin(long after) {
        messages.restart(after + 1);
        before.restart(after + 1);
        bytes = 0;
        runs.clear();
        senders.clear();
        beginsLater = true;
        baseView = UNKNOWN;
    }

    /** Notes in which view {@link #base} was ordered, which was not known. */
    void base(long view) {
        baseView = view;
    }

    /** The message at a position above {@link #base} and not above {@link #end}. */
    public Ordered get(long position) {
        return messages.get(position);
    }

    /** In which view a position, from {@link #base} to {@link #end}, was ordered; negative if that is not known. */
    long viewAt(long position) {
        return position == base() ? baseView : messages.get(position).view();
    }

    /** The last position ordered in this view or one below it; {@link #base} if there is none. */
    long endOfView(long view) {
        long end = end();
        for (var at = runs.descendingIterator(); at.hasNext();) {
            Run run = at.next();
            if (run.view() <= view) {
                return end;
            }
            end = run.first() - 1;
        }
        return base();
    }

    /** Number of the last message of a sender's incarnation in this log or forgotten from it; 0 if there is none. */
    long lastNumber(int sender, long ofIncarnation) {
        Sender known = sender(sender);
        return known.incarnation() == ofIncarnation ? known.lastNumber() : 0;
    }

    /**
     * Whether this is the next message of its sender: the successor of the last, or the first of a later life. A log that begins
     * later does not know what was before, and takes a sender's first message as it comes.
     */
    boolean next(int sender, long ofIncarnation, long number) {
        Sender known = sender(sender);
        if (beginsLater && known.equals(Sender.UNHEARD)) {
            return number > 0;
        }
        if (ofIncarnation > known.incarnation()) {
            return number == 1;
        }
        return ofIncarnation == known.incarnation() && number == known.lastNumber() + 1;
    }

    private Sender sender(int id) {
        return senders.getOrDefault(id, Sender.UNHEARD);
    }

    /** Whether a message can be appended. */
    boolean follows(Ordered message) {
        return message.position() == end() + 1 && message.view() >= viewAt(end())
                && next(message.sender(), message.incarnation(), message.number());
    }

    void append(Ordered message) {
        if (!follows(message)) {
            throw new IllegalArgumentException("message " + message.number() + " of incarnation "
                    + message.incarnation() + " of member " + message.sender() + " cannot have position "
                    + message.position() + " of view " + message.view() + " after position " + end() + " of view "
                    + viewAt(end()) + " and " + sender(message.sender()));
        }
        if (message.view() > viewAt(end()) || runs.isEmpty()) {
            runs.addLast(new Run(message.view(), message.position()));
        }
        messages.add(message);
        bytes += message.encodedSize();
        before.add(sender(message.sender()));
        senders.put(message.sender(), new Sender(message.incarnation(), message.number()));
    }

    /** Gives up what is after a position. */
    void cut(long lastKept) {
        if (lastKept < base() || lastKept > end()) {
            throw new IllegalArgumentException("cut to " + lastKept + " of " + base() + " to " + end());
        }
        while (end() > lastKept) {
            Ordered removed = messages.removeLast();
            bytes -= removed.encodedSize();
            senders.put(removed.sender(), before.removeLast());
        }
        while (!runs.isEmpty() && runs.getLast().first() > lastKept) {
            runs.removeLast();
        }
    }

    void forget(long upTo) {
        if (upTo > end()) {
            throw new IllegalArgumentException("forget to " + upTo + " of " + base() + " to " + end());
        }
        while (base() < upTo) {
            Ordered forgotten = messages.removeFirst();
            baseView = forgotten.view();
            bytes -= forgotten.encodedSize();
            before.removeFirst();
        }
        while (!runs.isEmpty()) {
            Run run = runs.removeFirst();
            Run following = runs.peekFirst();
            long last = following == null ? end() : following.first() - 1;
            if (last > base()) {
                runs.addFirst(run);
                return;
            }
        }
    }
}
