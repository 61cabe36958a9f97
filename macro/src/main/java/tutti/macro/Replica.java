package tutti.macro;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.StampedLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import tutti.macro.call.DirectRead;
import tutti.macro.call.Invoker;

/**
 * One implementation, with its place in the order of calls. Whoever holds the lock exclusively may let it get on; whoever
 * holds it shared may read. Both are done by the replica's executor and by callers.
 */
final class Replica implements DirectRead {
    /** One of so many writes is timed. */
    private static final int WRITES_PER_SAMPLE = 32;

    private final String name;
    private final Object implementation;
    private final boolean exclusiveReads;
    private final StampedLock lock = new StampedLock();
    private final Costs costs;
    /** By which costs are measured, in nanoseconds. */
    private final LongSupplier clock;
    private final BlockingQueue<ReadTask> reads;
    private final AtomicInteger faults = new AtomicInteger();

    private volatile ReplicaStatus.State state;
    private volatile long applied;
    private volatile @Nullable ReplicaExecutor executor;
    /** Who executes calls of the order; others read it without a lock, to compare it with themselves only. */
    private @Nullable Thread executedBy;

    /** One whose state is not complete yet. */
    Replica(String name, Object implementation, boolean exclusiveReads, int operations, int readsMax,
            LongSupplier clock) {
        this.name = name;
        this.implementation = implementation;
        this.exclusiveReads = exclusiveReads;
        this.clock = clock;
        state = ReplicaStatus.State.COPYING;
        costs = new Costs(operations);
        reads = new ArrayBlockingQueue<>(readsMax);
    }

    String name() {
        return name;
    }

    Costs costs() {
        return costs;
    }

    boolean exclusiveReads() {
        return exclusiveReads;
    }

    BlockingQueue<ReadTask> reads() {
        return reads;
    }

    boolean active() {
        return state == ReplicaStatus.State.ACTIVE;
    }

    ReplicaStatus.State state() {
        return state;
    }

    void become(ReplicaStatus.State next) {
        state = next;
    }

    /** Position of the last call of the order that the implementation shows. */
    long applied() {
        return applied;
    }

    void startAfter(long position) {
        applied = position;
    }

    int faults() {
        return faults.get();
    }

    int countFault() {
        return faults.incrementAndGet();
    }

    void executor(ReplicaExecutor of) {
        executor = of;
    }

    @Nullable
    ReplicaExecutor executor() {
        return executor;
    }

    StampedLock lock() {
        return lock;
    }

    @Override
    public Object implementation() {
        return implementation;
    }

    /** Leave to read directly, if the replica is free and has executed all that has a place. */
    boolean tryBeginRead(WorkQueue queue) {
        if (applied != queue.sequenced() || exclusiveReads || lock.tryReadLock() == 0) {
            return false;
        }
        // Asked again under the lock: after it was removed, its owner may do with it what he likes.
        if (state != ReplicaStatus.State.ACTIVE) {
            lock.tryUnlockRead();
            return false;
        }
        return true;
    }

    @Override
    public void endRead() {
        lock.tryUnlockRead();
    }

    /** Whether this thread is executing a call of the order here. */
    boolean isExecutedBy(Thread thread) {
        return thread.equals(executedBy);
    }

    /** Executes the next calls of the order up to a position. The caller holds the lock exclusively. */
    void advance(long upTo, WorkQueue queue, Invoker invoker, UnlockActions after) {
        executedBy = Thread.currentThread();
        try {
            execute(upTo, queue, invoker, after);
        } finally {
            executedBy = null;
        }
    }

    private void execute(long upTo, WorkQueue queue, Invoker invoker, UnlockActions after) {
        for (long next = applied + 1; next <= upTo; next++) {
            SequencedCall call = queue.at(next);
            if (call == null || state == ReplicaStatus.State.REMOVED) {
                // The queue keeps calls for members only; whoever was removed stays as it is.
                return;
            }
            boolean timed = ThreadLocalRandom.current().nextInt(WRITES_PER_SAMPLE) == 0
                    || costs.nanos(call.operation.index()) == 0;
            long begun = timed ? clock.getAsLong() : 0;
            Object value = null;
            Throwable thrown = null;
            try {
                value = call.operation.detach(
                        invoker.invoke(call.operation.index(), implementation, call.arguments));
            } catch (Throwable e) {
                // Whatever it is, it is the answer: the caller gets it.
                thrown = e;
            }
            if (timed) {
                costs.observeWrite(call.operation.index(), clock.getAsLong() - begun);
            }
            // In this order: who has the answer, or sees the effects, must find that reads see them too.
            applied = next;
            queue.completed(next);
            call.answered(this, value, thrown, after);
            if (call.given()) {
                after.answered(call);
            }
        }
    }

    /**
     * Gets leave to read the state after a position or a later one, executing what is missing.
     *
     * @param waitNanos how long to wait for the lock, 0 not to wait
     * @return the lock's stamp, or 0 if the lock was not free or the replica has been removed
     */
    long acquireRead(long required, long waitNanos, WorkQueue queue, Invoker invoker, UnlockActions after) {
        if (!exclusiveReads && applied >= required) {
            long stamp = waitNanos == 0 ? lock.tryReadLock() : waitRead(waitNanos);
            return stamp != 0 && state == ReplicaStatus.State.REMOVED ? release(stamp) : stamp;
        }
        long stamp = acquireExclusively(waitNanos);
        if (stamp == 0) {
            return 0;
        }
        advance(required, queue, invoker, after);
        if (applied < required || state == ReplicaStatus.State.REMOVED) {
            return release(stamp);
        }
        return exclusiveReads ? stamp : lock.tryConvertToReadLock(stamp);
    }

    private long release(long stamp) {
        lock.unlock(stamp);
        return 0;
    }

    /** Waits for the lock; interrupts are kept for later. Returns 0 if the time is up. */
    long acquireExclusively(long waitNanos) {
        long stamp = lock.tryWriteLock();
        return stamp != 0 || waitNanos == 0 ? stamp : waitFor(waitNanos, lock::tryWriteLock);
    }

    private long waitRead(long waitNanos) {
        return waitFor(waitNanos, lock::tryReadLock);
    }

    private interface TimedLock {
        long tryLock(long time, TimeUnit unit) throws InterruptedException;
    }

    private static long waitFor(long waitNanos, TimedLock timed) {
        long deadline = System.nanoTime() + waitNanos;
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return timed.tryLock(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
                } catch (InterruptedException _) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
