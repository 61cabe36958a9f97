package tutti.group;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What this member wants ordered: a bounded queue of messages. One is numbered in this life when it is multicast for the
 * first time, and then stays until it is delivered back. What the log does not hold when a view begins is multicast in
 * that view, in turn, however often it was before: the log tells what became of it.
 *
 * <p>
 * <b>Semantic reliability</b> (the outlook of D5.1 section 2.3.3). A message may name a subject, and makes earlier ones about the
 * same subject obsolete. Of those, each that has never been multicast leaves the queue: it has no number yet, so it is as
 * if it had never been submitted, and whatever follows from total order holds for the rest. What has been multicast is
 * never taken back, since another member may have delivered it by now.
 */
final class Submissions {
    /** The key of an unsent message that is about a subject. Others have a key of their own. */
    private record Subject(long number) {}

    private final GroupParameters.Flow flow;
    /** By number: multicast in this view or an earlier one. */
    private final Ring<byte[]> undelivered = new Ring<>();
    /** Never multicast, in turn. */
    private final LinkedHashMap<Object, byte[]> unsent = new LinkedHashMap<>();
    /** Last number in each data message that was multicast in this view and is not delivered. */
    private final ArrayDeque<Long> underWay = new ArrayDeque<>();
    private long nextToSend = 1;
    private long queuedBytes;
    private long obsolete;

    Submissions(GroupParameters.Flow flow) {
        this.flow = flow;
    }

    /** Queues a message; false if the queue is full. */
    boolean submit(byte[] payload) {
        return submit(new Object(), payload);
    }

    /** Queues a message that makes earlier ones about this subject obsolete; false if the queue is full: they stay. */
    boolean submit(long subject, byte[] payload) {
        return submit(new Subject(subject), payload);
    }

    private boolean submit(Object key, byte[] payload) {
        byte[] earlier = unsent.get(key);
        long freed = earlier == null ? 0 : earlier.length;
        if (queuedBytes - freed + payload.length > flow.queueBytes()) {
            return false;
        }
        if (earlier != null) {
            unsent.remove(key);
            obsolete++;
        }
        unsent.put(key, payload);
        queuedBytes += payload.length - freed;
        return true;
    }

    /** Bytes submitted, not obsolete, and not delivered. */
    long queuedBytes() {
        return queuedBytes;
    }

    /** How many messages have left the queue in this life because a later one had made them obsolete. */
    long obsolete() {
        return obsolete;
    }

    /** A view begins with a log that holds this life's messages up to this number. */
    void begin(long lastInLog) {
        nextToSend = lastInLog + 1;
        underWay.clear();
    }

    /** Whether a data message may be multicast, as far as this queue is concerned. */
    boolean ready() {
        return peek() != null && underWay.size() < flow.windowMessages();
    }

    /** The next messages, as many as a packet takes, one at least. */
    Packet.Data next() {
        List<byte[]> batch = new ArrayList<>();
        long first = nextToSend;
        long bytes = 0;
        for (byte[] payload = peek(); payload != null
                && (batch.isEmpty() || bytes + payload.length <= flow.batchBytes()); payload = peek()) {
            if (nextToSend > undelivered.last()) {
                unsent.pollFirstEntry();
                undelivered.add(payload);
            }
            nextToSend++;
            batch.add(payload);
            bytes += payload.length;
        }
        underWay.addLast(nextToSend - 1);
        return new Packet.Data(first, batch);
    }

    private byte @Nullable [] peek() {
        if (nextToSend <= undelivered.last()) {
            return undelivered.get(nextToSend);
        }
        return unsent.isEmpty() ? null : unsent.firstEntry().getValue();
    }

    /** A message of this life has been delivered. */
    void delivered(long number) {
        if (number != undelivered.first()) {
            throw new IllegalStateException(
                    "message " + number + " was delivered, but " + undelivered.first() + " is the next");
        }
        queuedBytes -= undelivered.removeFirst().length;
        while (!underWay.isEmpty() && underWay.getFirst() <= number) {
            underWay.removeFirst();
        }
    }
}
