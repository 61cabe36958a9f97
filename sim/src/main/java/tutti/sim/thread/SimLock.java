package tutti.sim.thread;

import java.time.Duration;
import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

/**
 * A lock of simulated threads, re-entrant: what {@code synchronized} and {@code ReentrantLock} are outside. Waiting threads
 * are woken in the order in which they came; a thread that asks between the wake-up and the event in which the woken one
 * goes on is served first. A thread that is ended gives its locks back through its own finally blocks.
 */
public final class SimLock implements Lock {
    private final WaitList waiting = new WaitList();
    private @Nullable SimThread owner;
    private int holds;

    @Override
    public void lock() {
        SimThread self = SimThread.current();
        while (!take(self)) {
            waiting.awaitUninterruptibly();
        }
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        SimThread self = SimThread.current();
        self.checkInterrupt();
        while (!take(self)) {
            waiting.await(SimThread.FOREVER, true);
        }
    }

    @Override
    public boolean tryLock() {
        return take(SimThread.current());
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        SimThread self = SimThread.current();
        self.checkInterrupt();
        long end = SimThread.now() + unit.toNanos(time);
        while (!take(self)) {
            long left = end - SimThread.now();
            if (left <= 0) {
                return false;
            }
            waiting.await(left, true);
        }
        return true;
    }

    /** Takes it if it is free or was handed to this thread. */
    private boolean take(SimThread self) {
        if (owner == null || owner == self) {
            owner = self;
            holds++;
            return true;
        }
        return false;
    }

    @Override
    public void unlock() {
        SimThread self = SimThread.current();
        if (owner != self) {
            if (self.isKilled()) {
                return;
            }
            throw new IllegalMonitorStateException(self + " does not hold the lock, " + owner + " does");
        }
        if (--holds == 0) {
            owner = null;
            waiting.wakeOne();
        }
    }

    /** Whether the current thread holds it. */
    public boolean isHeld() {
        return owner == SimThread.current();
    }

    @Override
    public Condition newCondition() {
        return new SimCondition();
    }

    private final class SimCondition implements Condition {
        private final WaitList waiters = new WaitList();

        private int release() {
            requireHeld();
            int held = holds;
            holds = 0;
            owner = null;
            waiting.wakeOne();
            return held;
        }

        private void takeBack(int held) {
            if (!SimThread.current().isKilled()) {
                lock();
                holds = held;
            }
        }

        private void requireHeld() {
            if (!isHeld()) {
                throw new IllegalMonitorStateException(SimThread.current() + " does not hold the condition's lock");
            }
        }

        private boolean releaseAndWait(long nanos, boolean interruptible) throws InterruptedException {
            int held = release();
            try {
                return waiters.await(nanos, interruptible);
            } finally {
                takeBack(held);
            }
        }

        @Override
        public void await() throws InterruptedException {
            releaseAndWait(SimThread.FOREVER, true);
        }

        @Override
        public void awaitUninterruptibly() {
            int held = release();
            try {
                waiters.awaitUninterruptibly();
            } finally {
                takeBack(held);
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

        /** Against the wall clock, of which there is none here. */
        @Override
        public boolean awaitUntil(Date deadline) {
            throw new UnsupportedOperationException(
                    "there are no dates in the simulation: wait for a " + Duration.class.getSimpleName());
        }

        @Override
        public void signal() {
            requireHeld();
            waiters.wakeOne();
        }

        @Override
        public void signalAll() {
            requireHeld();
            waiters.wakeAll();
        }
    }
}
