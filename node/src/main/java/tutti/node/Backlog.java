package tutti.node;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Keeps the bytes that the order has delivered and that are not yet visible within bounds, by making the order's thread wait.
 * Safe for use by several threads.
 */
final class Backlog {
    private final long bytesMax;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition shrank = lock.newCondition();
    private long bytes;
    private boolean open;

    /** One of at most so many bytes, or of a single larger message. */
    Backlog(long bytesMax) {
        this.bytesMax = bytesMax;
    }

    /**
     * Adds what has been delivered, when there is room.
     *
     * @param mayWait false on the node's loop, which makes room and so must not wait: on it arrives only what this node has
     *            just submitted itself, and each of its sessions waits for its answer
     */
    void add(int added, boolean mayWait) {
        lock.lock();
        try {
            while (bytes > bytesMax && !open && mayWait) {
                shrank.awaitUninterruptibly();
            }
            bytes += added;
        } finally {
            lock.unlock();
        }
    }

    /** What is not yet visible, as of now; deliveries in between are counted from zero again. */
    void measured(long now) {
        lock.lock();
        try {
            bytes = now;
            shrank.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Nobody waits any more. */
    void open() {
        lock.lock();
        try {
            open = true;
            shrank.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
