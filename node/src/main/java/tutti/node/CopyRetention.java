package tutti.node;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.runtime.Loop;

/**
 * Has this node, while it gives others copies, tell nothing that would let any node forget the log behind the copy, and forget
 * nothing itself: until each receiver has told from where on it would need the log, or for ten minutes after its copy was complete, or
 * until the log is larger than {@code order.retention-bytes}. A receiver tells nothing before it has a snapshot of its own, which takes
 * longer than that in a cluster with little to do. Of the replica's loop.
 */
final class CopyRetention {
    private static final Logger LOG = LoggerFactory.getLogger(CopyRetention.class);
    private static final long GRACE_NANOS = TimeUnit.MINUTES.toNanos(10);

    /** Of which receiver, and by which number. */
    private record Making(int receiver, long number) {}

    private final int self;
    private long bytesMax;
    private final Loop loop;
    private final Runnable released;
    private @Nullable Making making;
    /** By receivers whose copies are complete: when it is no longer kept for them. */
    private final Map<Integer, Loop.Timer> made = new TreeMap<>();

    /**
     * That keeps nothing yet.
     *
     * @param bytesMax that the log may take
     * @param released told when nothing is kept any more
     */
    CopyRetention(int self, long bytesMax, Loop loop, Runnable released) {
        this.self = self;
        this.bytesMax = bytesMax;
        this.loop = loop;
        this.released = released;
    }

    /** The log may take so many bytes from now on. */
    void limit(long bytes) {
        bytesMax = bytes;
    }

    /** Whether the log is kept. */
    boolean keeps() {
        return isMaking() || !made.isEmpty();
    }

    /** Whether a copy is being made. */
    boolean isMaking() {
        return making != null;
    }

    /** A copy is begun. The log is no longer kept for another one that is not complete. */
    void begin(int node, long number) {
        forget(node);
        making = new Making(node, number);
    }

    /** The one with this number has ended; without effect if it is not the last that was begun. */
    void end(long number, boolean complete) {
        Making ended = making;
        if (ended == null || ended.number != number) {
            return;
        }
        making = null;
        int node = ended.receiver;
        if (complete) {
            made.put(node, loop.schedule(GRACE_NANOS, () -> release(node)));
        } else {
            tellReleased();
        }
    }

    /** A node has told from where on it would need the log. */
    void told(int node) {
        if (made.containsKey(node)) {
            release(node);
        }
    }

    /** The log takes so many bytes. */
    void review(long logBytes) {
        if (keeps() && logBytes > bytesMax) {
            LOG.warn(
                    "node {}: the order's log takes {} bytes, more than order.retention-bytes, and is no longer kept for nodes {},"
                            + " which are given copies: they may need others",
                    self, logBytes, receivers());
            List.copyOf(made.keySet()).forEach(this::forget);
            making = null;
            released.run();
        }
    }

    private List<Integer> receivers() {
        return Stream.concat(made.keySet().stream(), Stream.ofNullable(making).map(Making::receiver)).toList();
    }

    private void forget(int node) {
        Loop.Timer grace = made.remove(node);
        if (grace != null) {
            grace.cancel();
        }
    }

    private void release(int node) {
        forget(node);
        tellReleased();
    }

    private void tellReleased() {
        if (!keeps()) {
            released.run();
        }
    }
}
