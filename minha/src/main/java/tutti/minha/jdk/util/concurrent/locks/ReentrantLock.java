package tutti.minha.jdk.util.concurrent.locks;

import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;
import tutti.minha.jdk.lang.Thread;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.WaitList;

/**
 * The mirror of {@link java.util.concurrent.locks.ReentrantLock}. Waiting threads are woken in the order in which they
 * came. If it is not fair, a thread that asks before the woken one goes on is served first; if it is, that thread waits
 * behind all others.
 */
@SuppressWarnings("ReferenceEquality")
public class ReentrantLock implements Lock {
    private final WaitList waiting = new WaitList();
    private final boolean fair;
    private @Nullable Thread owner;
    private int holds;
    private int inLine;

    /** Not fair. */
    public ReentrantLock() {
        this(false);
    }

    /** Fair or not. */
    public ReentrantLock(boolean fair) {
        this.fair = fair;
    }

    private boolean take(Thread self) {
        if (owner == null || owner == self) {
            owner = self;
            holds++;
            return true;
        }
        return false;
    }

    /** Waits until it is this thread's; returns false if time is up first. */
    private boolean await(long nanos, boolean interruptible) throws InterruptedException {
        Thread.settle();
        Thread self = Thread.currentThread();
        if (interruptible) {
            SimThread.current().checkInterrupt();
        }
        if ((owner == self || inLine == 0 || !fair) && take(self)) {
            return true;
        }
        inLine++;
        try {
            return waiting.awaitTurn(() -> take(self), nanos, interruptible);
        } finally {
            inLine--;
        }
    }

    @Override
    public void lock() {
        try {
            await(SimThread.FOREVER, false);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted where that cannot be", e);
        }
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        await(SimThread.FOREVER, true);
    }

    @Override
    public boolean tryLock() {
        Thread.settle();
        return take(Thread.currentThread());
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return await(Math.max(0, unit.toNanos(time)), true);
    }

    @Override
    public void unlock() {
        Thread self = Thread.currentThread();
        if (owner != self) {
            if (SimThread.current().isKilled()) {
                return;
            }
            throw new IllegalMonitorStateException(self + " does not hold the lock, " + owner + " does");
        }
        Thread.settle();
        if (--holds == 0) {
            owner = null;
            waiting.wakeOne();
        }
    }

    @Override
    public Condition newCondition() {
        return new Waiters();
    }

    /** How often the calling thread holds it. */
    public int getHoldCount() {
        return isHeldByCurrentThread() ? holds : 0;
    }

    /** Whether the calling thread holds it. */
    public boolean isHeldByCurrentThread() {
        return owner == Thread.currentThread();
    }

    /** Whether somebody holds it. */
    public boolean isLocked() {
        Thread.settle();
        return owner != null;
    }

    /** Whether it is fair. */
    public final boolean isFair() {
        return fair;
    }

    /** Whether somebody waits for it. */
    public final boolean hasQueuedThreads() {
        return inLine > 0;
    }

    /** How many wait for it. */
    public final int getQueueLength() {
        return inLine;
    }

    /** Whether somebody waits for a condition of it; the calling thread must hold it. */
    public boolean hasWaiters(Condition condition) {
        return getWaitQueueLength(condition) > 0;
    }

    /** How many wait for a condition of it; the calling thread must hold it. */
    public int getWaitQueueLength(Condition condition) {
        if (!(condition instanceof Waiters waiters) || !waiters.isOf(this)) {
            throw new IllegalArgumentException("not owner");
        }
        waiters.requireHeld();
        return waiters.waiters.size();
    }

    @Override
    public String toString() {
        return "ReentrantLock[" + (owner == null ? "Unlocked" : "Locked by thread " + owner.getName()) + "]";
    }

    private final class Waiters implements Condition {
        private final WaitList waiters = new WaitList();

        private boolean isOf(ReentrantLock lock) {
            return lock == ReentrantLock.this;
        }

        private void requireHeld() {
            if (!isHeldByCurrentThread()) {
                throw new IllegalMonitorStateException(Thread.currentThread() + " does not hold the condition's lock");
            }
        }

        /** Gives the lock back, waits, and takes it again as often as it was held; returns whether it was woken. */
        private boolean releaseAndWait(long nanos, boolean interruptible) throws InterruptedException {
            requireHeld();
            Thread.settle();
            if (interruptible) {
                SimThread.current().checkInterrupt();
            }
            int held = holds;
            holds = 0;
            owner = null;
            waiting.wakeOne();
            try {
                return waiters.await(nanos, interruptible);
            } finally {
                if (!SimThread.current().isKilled()) {
                    lock();
                    holds = held;
                }
            }
        }

        @Override
        public void await() throws InterruptedException {
            releaseAndWait(SimThread.FOREVER, true);
        }

        @Override
        public void awaitUninterruptibly() {
            try {
                releaseAndWait(SimThread.FOREVER, false);
            } catch (InterruptedException e) {
                throw new IllegalStateException("interrupted where that cannot be", e);
            }
        }

        @Override
        public long awaitNanos(long nanosTimeout) throws InterruptedException {
            long end = SimThread.now() + nanosTimeout;
            releaseAndWait(Math.max(0, nanosTimeout), true);
            return end - SimThread.now();
        }

        @Override
        public boolean await(long time, TimeUnit unit) throws InterruptedException {
            return releaseAndWait(Math.max(0, unit.toNanos(time)), true);
        }

        @Override
        @SuppressWarnings({"JavaUtilDate", "WaitNotInLoop"})
        public boolean awaitUntil(Date deadline) throws InterruptedException {
            long millis = deadline.getTime() - Thread.currentThread().jvm().currentTimeMillis();
            return await(Math.max(0, millis), TimeUnit.MILLISECONDS);
        }

        @Override
        public void signal() {
            requireHeld();
            Thread.settle();
            waiters.wakeOne();
        }

        @Override
        public void signalAll() {
            requireHeld();
            Thread.settle();
            waiters.wakeAll();
        }
    }
}
