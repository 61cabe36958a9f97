package tutti.group;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Changes a member's log in memory and asks the world to record the same, and knows how far the log in memory is on
 * stable storage. Messages appended during one event make one record.
 */
final class StableWriter {
    /** When this record is stable, the log is stable to this position. */
    private record Mark(long serial, long end) {}

    private final MessageLog log;
    private final GroupEffects effects;
    private final List<Ordered> appended = new ArrayList<>();
    private final ArrayDeque<Mark> marks = new ArrayDeque<>();
    private long issued;
    private long persisted;
    private long end;

    /** @param log all of it on stable storage */
    StableWriter(MessageLog log, GroupEffects effects) {
        this.log = log;
        this.effects = effects;
        end = log.end();
    }

    /** Appends a message; recorded with the next {@link #flush} or {@link #write}. */
    void append(Ordered message) {
        log.append(message);
        appended.add(message);
    }

    /** Makes any other change and returns the serial number of its record. */
    long write(StableRecord change) {
        flush();
        log.apply(change);
        if (change instanceof StableRecord.Cut(long lastKept)) {
            // What is on its way to stable storage may be of what was just cut: it must not be taken for what follows.
            end = Math.min(end, lastKept);
            int pending = marks.size();
            for (int i = 0; i < pending; i++) {
                Mark mark = marks.removeFirst();
                marks.addLast(new Mark(mark.serial, Math.min(mark.end, lastKept)));
            }
        }
        effects.persist(++issued, change);
        return issued;
    }

    /** Begins anew, in a world that keeps no messages: after a position that was delivered. */
    void begin(long after) {
        flush();
        log.begin(after);
        end = after;
        marks.clear();
    }

    /** Records what was appended. */
    void flush() {
        if (!appended.isEmpty()) {
            effects.persist(++issued, new StableRecord.Appended(appended));
            appended.clear();
            marks.addLast(new Mark(issued, log.end()));
        }
    }

    /** All records up to this one are on stable storage. */
    void persisted(long serial) {
        if (serial > issued) {
            throw new IllegalArgumentException("record " + serial + " of " + issued + " is on stable storage");
        }
        persisted = Math.max(persisted, serial);
        for (Mark first = marks.peekFirst(); first != null && first.serial <= persisted; first = marks.peekFirst()) {
            end = first.end;
            marks.removeFirst();
        }
    }

    /** Whether a record is on stable storage. */
    boolean stable(long serial) {
        return serial <= persisted;
    }

    /** Up to which position the log in memory is on stable storage. */
    long stableEnd() {
        return end;
    }
}
