package tutti.engine.jdbc;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Lets an applier that has met local transactions go first: while it holds the gate no client's statement runs, so those
 * that are in its way stay the same, can be found by their keys, and are gone once they have been rolled back. Rolling
 * back and committing need no gate.
 *
 * <p>
 * <b>No deadlock.</b> A statement holds the gate open only while it runs, and for waits on other transactions' rows only
 * in short slices ({@link JdbcSession}), of which a batch may need many: so appliers wait for the gate in
 * short slices too, and name local transactions in between. An applier that holds the gate waits for nothing but the ends of transactions.
 * Safe for use from any thread.
 */
final class StatementGate {
    /** Longest wait for {@link #first} at a time, before local transactions are named. */
    static final long FIRST_MILLIS = 20;
    /** Longest time between looks, should an end go unnoticed. */
    private static final long LOOK_MILLIS = 5;

    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    private final ReentrantLock ends = new ReentrantLock();
    private final Condition ended = ends.newCondition();
    private long endCount;

    /** Held by a client's statement. */
    Lock statement() {
        return lock.readLock();
    }

    /** Held by an applier that goes first. */
    Lock first() {
        return lock.writeLock();
    }

    /** A client's transaction has ended. */
    void transactionEnded() {
        ends.lock();
        try {
            endCount++;
            ended.signalAll();
        } finally {
            ends.unlock();
        }
    }

    /** How many have ended so far. */
    long ended() {
        ends.lock();
        try {
            return endCount;
        } finally {
            ends.unlock();
        }
    }

    /** Waits until more have ended than {@code seen}, or for a few milliseconds. */
    void awaitEnd(long seen) throws InterruptedException {
        ends.lock();
        try {
            long nanos = TimeUnit.MILLISECONDS.toNanos(LOOK_MILLIS);
            while (endCount == seen && nanos > 0) {
                nanos = ended.awaitNanos(nanos);
            }
        } finally {
            ends.unlock();
        }
    }
}
