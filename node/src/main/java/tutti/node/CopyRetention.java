package tutti.node;

import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.runtime.Loop;

/**
 * Has this node, while it gives another one a copy, tell nothing that would let any node forget the log behind the copy, and forget
 * nothing itself: until the receiver has told from where on it would need the log, or for ten minutes after the copy was complete, or
 * until the log is larger than {@code order.retention-bytes}. Of the replica's loop.
 */
final class CopyRetention {
    private static final Logger LOG = LoggerFactory.getLogger(CopyRetention.class);
    private static final long GRACE_NANOS = TimeUnit.MINUTES.toNanos(10);
    private static final int NOBODY = -1;

    private final int self;
    private long bytesMax;
    private final Loop loop;
    private final Runnable released;
    private int receiver = NOBODY;
    private boolean complete;
    private Loop.Timer grace = () -> {};

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
        return receiver != NOBODY;
    }

    /** A copy is begun. */
    void begin(int node) {
        grace.cancel();
        receiver = node;
        complete = false;
    }

    /** It has ended; without effect if it is not the last that was begun. */
    void end(int node, boolean isComplete) {
        if (node != receiver) {
            return;
        }
        complete = isComplete;
        if (complete) {
            grace = loop.schedule(GRACE_NANOS, this::release);
        } else {
            release();
        }
    }

    /** A node has told from where on it would need the log. */
    void told(int node) {
        if (node == receiver && complete) {
            release();
        }
    }

    /** The log takes so many bytes. */
    void review(long logBytes) {
        if (keeps() && logBytes > bytesMax) {
            LOG.warn(
                    "node {}: the order's log takes {} bytes, more than order.retention-bytes, and is no longer kept for node {},"
                            + " which is given a copy: it may need another",
                    self, logBytes, receiver);
            release();
        }
    }

    private void release() {
        grace.cancel();
        receiver = NOBODY;
        released.run();
    }
}
