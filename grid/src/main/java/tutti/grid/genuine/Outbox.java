package tutti.grid.genuine;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.TreeMap;
import tutti.core.txn.TransactionId;

/** The messages that a node has sent: which of them it may have to send again, and who must be told that it will not. */
final class Outbox {
    static final int TICKS_BEFORE_REPETITION = 2;
    /** A life may send so many messages, as a power of two. What is left is enough for 131,072 changes of who leads. */
    static final int SERIAL_BITS = 38;

    /** By serial. */
    private final TreeMap<Long, Sent> unfinished = new TreeMap<>();
    /** By serial: the groups that messages went to which will not be sent again. */
    private final TreeMap<Long, int[]> finished = new TreeMap<>();
    private long nextSerial = Long.MIN_VALUE;

    private static final class Sent {
        private final GenuineMessage.Data data;
        private int ticks;

        Sent(GenuineMessage.Data data) {
            this.data = data;
        }
    }

    /** Since when the life is a member that has sent a message: see {@link Configuration.Member}. */
    static long lifeOf(TransactionId id) {
        return id.serial() >> SERIAL_BITS;
    }

    /** Messages will have serials from this one on, or they are of a life before. */
    void startAt(long serial) {
        nextSerial = serial;
    }

    /** Whether a message may come next. */
    boolean isNext(TransactionId id) {
        return id.serial() >= nextSerial;
    }

    void add(GenuineMessage.Data data) {
        nextSerial = data.id().serial() + 1;
        unfinished.put(data.id().serial(), new Sent(data));
    }

    /** It will not be sent again; whether that is news. */
    boolean finish(TransactionId id) {
        Sent sent = unfinished.remove(id.serial());
        if (sent != null) {
            finished.put(id.serial(), sent.data.groups());
        }
        return sent != null;
    }

    /** What may have to be sent again. */
    List<GenuineMessage.Data> all() {
        return unfinished.values().stream().map(sent -> sent.data).toList();
    }

    /** Time has passed: what to send again. */
    List<GenuineMessage.Data> due() {
        List<GenuineMessage.Data> due = new ArrayList<>();
        for (Sent sent : unfinished.values()) {
            if (++sent.ticks >= TICKS_BEFORE_REPETITION) {
                due.add(sent.data);
            }
        }
        return due;
    }

    /** The lowest serial that may be sent again, or for the first time. */
    long unfinished() {
        return unfinished.isEmpty() ? nextSerial : unfinished.firstKey();
    }

    /** Where messages went that will not be sent again, of which somebody has not been told: who is told now that those below a serial are over need not be told of them again. */
    Collection<int[]> told(long below) {
        List<int[]> to = new ArrayList<>(finished.values());
        finished.headMap(below).clear();
        return to;
    }

    int size() {
        return unfinished.size();
    }
}
