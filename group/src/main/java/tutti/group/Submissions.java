package tutti.group;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * What this member wants ordered: a bounded queue of messages numbered in its life. Each stays until it is delivered
 * back. What the log does not hold when a view begins is multicast in that view, in turn, however often it was before:
 * the log tells what became of it.
 */
final class Submissions {
    private final GroupParameters.Flow flow;
    private final Ring<byte[]> undelivered = new Ring<>();
    /** Last number in each data message that was multicast in this view and is not delivered. */
    private final ArrayDeque<Long> underWay = new ArrayDeque<>();
    private long nextToSend = 1;
    private long queuedBytes;

    Submissions(GroupParameters.Flow flow) {
        this.flow = flow;
    }

    /** Queues a message; false if the queue is full. */
    boolean submit(byte[] payload) {
        if (queuedBytes + payload.length > flow.queueBytes()) {
            return false;
        }
        undelivered.add(payload);
        queuedBytes += payload.length;
        return true;
    }

    /** Bytes submitted and not delivered. */
    long queuedBytes() {
        return queuedBytes;
    }

    /** A view begins with a log that holds this life's messages up to this number. */
    void begin(long lastInLog) {
        nextToSend = lastInLog + 1;
        underWay.clear();
    }

    /** Whether a data message may be multicast, as far as this queue is concerned. */
    boolean ready() {
        return nextToSend <= undelivered.last() && underWay.size() < flow.windowMessages();
    }

    /** The next messages, as many as a packet takes, one at least. */
    Packet.Data next() {
        List<byte[]> batch = new ArrayList<>();
        long first = nextToSend;
        int bytes = 0;
        do {
            byte[] payload = undelivered.get(nextToSend++);
            batch.add(payload);
            bytes += payload.length;
        } while (nextToSend <= undelivered.last()
                && bytes + undelivered.get(nextToSend).length <= flow.batchBytes());
        underWay.addLast(nextToSend - 1);
        return new Packet.Data(first, batch);
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
