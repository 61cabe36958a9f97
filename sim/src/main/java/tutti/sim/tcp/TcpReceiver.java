package tutti.sim.tcp;

import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;

/**
 * The receiving half of a connection: puts what arrives into order.
 *
 * <p>
 * <b>Why the reader gets the stream and nothing else.</b> {@code next} is the first position that has not arrived. A
 * segment's bytes go to the reader only from {@code next} on, and {@code next} moves by as many, so each position is given
 * once and in order; what is ahead of it waits in {@code later} under its own position. The end is given when {@code next}
 * has come to it, that is, after everything before it.
 */
final class TcpReceiver {
    private final ByteQueue ready = new ByteQueue();
    private final TreeMap<Long, byte[]> later = new TreeMap<>();
    private final int capacity;
    private long next;
    private long end = Long.MAX_VALUE;
    private boolean ended;
    private boolean discarding;

    TcpReceiver(long next, int capacity) {
        this.next = next;
        this.capacity = capacity;
    }

    /** The first position that has not arrived. */
    long next() {
        return next;
    }

    /** Room for bytes from {@link #next}. */
    int window() {
        return discarding ? capacity : capacity - ready.size();
    }

    /** Whether a segment holds something between {@link #next} and the end of the window, or is empty and lies there. */
    boolean accepts(long seq, int length) {
        int window = window();
        if (length == 0) {
            return seq == next || (seq > next && seq < next + window);
        }
        return window > 0 && seq < next + window && seq + length > next;
    }

    /** Takes what is new of a segment; returns whether it came in order, and nothing is missing before what has come. */
    boolean take(long seq, byte[] data, boolean fin) {
        long limit = next + window();
        if (fin && seq + data.length <= limit) {
            end = seq + data.length;
        }
        int from = (int) Math.min(data.length, Math.max(0, next - seq));
        int to = (int) Math.min(data.length, Math.max(from, limit - seq));
        boolean inOrder = seq + from <= next;
        if (to > from) {
            byte[] bytes = from == 0 && to == data.length ? data : Arrays.copyOfRange(data, from, to);
            if (inOrder) {
                give(bytes);
            } else {
                later.merge(seq + from, bytes, (one, other) -> one.length >= other.length ? one : other);
            }
        }
        boolean filled = !later.isEmpty();
        joinLater();
        if (!ended && next == end) {
            ended = true;
            next++;
        }
        return inOrder && !filled;
    }

    private void give(byte[] bytes) {
        next += bytes.length;
        if (!discarding) {
            ready.add(bytes);
        }
    }

    private void joinLater() {
        while (!later.isEmpty() && later.firstKey() <= next) {
            Map.Entry<Long, byte[]> first = later.pollFirstEntry();
            byte[] bytes = first.getValue();
            int known = (int) Math.min(bytes.length, next - first.getKey());
            if (known < bytes.length) {
                give(Arrays.copyOfRange(bytes, known, bytes.length));
            }
        }
    }

    /** Bytes for the reader. */
    int available() {
        return ready.size();
    }

    int read(byte[] to, int offset, int length) {
        return ready.read(to, offset, length);
    }

    /** Whether the other side has ended its stream, and all of it has arrived. */
    boolean hasEnded() {
        return ended;
    }

    /** Nobody reads any more. */
    void discard() {
        discarding = true;
        ready.clear();
    }
}
