package tutti.minha.jdk.util.concurrent.locks;

import java.util.IdentityHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import org.jspecify.annotations.Nullable;
import tutti.minha.jdk.lang.Thread;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.WaitList;

/**
 * The mirror of {@link java.util.concurrent.locks.ReentrantReadWriteLock}. New readers wait behind a writer that waits,
 * unless they read already; a writer may take the read lock as well. Conditions of the write lock are not supported.
 */
@SuppressWarnings("ReferenceEquality")
public class ReentrantReadWriteLock implements ReadWriteLock {
    private final WaitList waiting = new WaitList();
    private final IdentityHashMap<Thread, Integer> readers = new IdentityHashMap<>();
    private final ReadLock readLock = new ReadLock();
    private final WriteLock writeLock = new WriteLock();
    private final boolean fair;
    private @Nullable Thread writer;
    private int writeHolds;
    private int writersWaiting;

    /** Not fair. */
    public ReentrantReadWriteLock() {
        this(false);
    }

    /** Fair or not; here both prefer writers that wait. */
    public ReentrantReadWriteLock(boolean fair) {
        this.fair = fair;
    }

    @Override
    public ReadLock readLock() {
        return readLock;
    }

    @Override
    public WriteLock writeLock() {
        return writeLock;
    }

    /** Whether it was made as a fair one. */
    public final boolean isFair() {
        return fair;
    }

    /** How many threads read. */
    public int getReadLockCount() {
        return readers.values().stream().mapToInt(Integer::intValue).sum();
    }

    /** Whether somebody writes. */
    public boolean isWriteLocked() {
        return writer != null;
    }

    /** Whether the calling thread writes. */
    public boolean isWriteLockedByCurrentThread() {
        return writer == Thread.currentThread();
    }

    /** How often the calling thread reads. */
    public int getReadHoldCount() {
        return readers.getOrDefault(Thread.currentThread(), 0);
    }

    /** How often the calling thread writes. */
    public int getWriteHoldCount() {
        return isWriteLockedByCurrentThread() ? writeHolds : 0;
    }

    private boolean takeRead(Thread self, boolean polite) {
        boolean again = readers.containsKey(self) || writer == self;
        if ((writer != null && writer != self) || (polite && writersWaiting > 0 && !again)) {
            return false;
        }
        readers.merge(self, 1, Integer::sum);
        return true;
    }

    private boolean takeWrite(Thread self) {
        boolean onlyReader = readers.isEmpty();
        if (writer == self || (writer == null && onlyReader)) {
            writer = self;
            writeHolds++;
            return true;
        }
        return false;
    }

    /** What both halves do alike. */
    abstract class Half implements Lock {
        abstract boolean take(Thread self, boolean polite);

        abstract void waits(int change);

        boolean await(long nanos, boolean interruptible) throws InterruptedException {
            Thread.settle();
            Thread self = Thread.currentThread();
            if (interruptible) {
                SimThread.current().checkInterrupt();
            }
            if (take(self, true)) {
                return true;
            }
            waits(1);
            try {
                return waiting.awaitTurn(() -> take(self, true), nanos, interruptible);
            } finally {
                waits(-1);
                if (writer == null) {
                    // Those who waited behind this writer may go, whether it has given up or reads now.
                    waiting.wakeAll();
                }
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
            return take(Thread.currentThread(), false);
        }

        @Override
        public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
            return await(Math.max(0, unit.toNanos(time)), true);
        }

        @Override
        public Condition newCondition() {
            throw new UnsupportedOperationException(
                    "conditions of a read-write lock are not simulated; use those of a ReentrantLock");
        }
    }

    /** Shared. */
    public final class ReadLock extends Half {
        private ReadLock() {}

        @Override
        boolean take(Thread self, boolean polite) {
            return takeRead(self, polite);
        }

        @Override
        void waits(int change) {
            // Readers keep nobody out.
        }

        @Override
        public void unlock() {
            Thread self = Thread.currentThread();
            if (!readers.containsKey(self)) {
                if (SimThread.current().isKilled()) {
                    return;
                }
                throw new IllegalMonitorStateException("attempt to unlock read lock, not locked by current thread");
            }
            Thread.settle();
            readers.computeIfPresent(self, (_, holds) -> holds == 1 ? null : holds - 1);
            if (readers.isEmpty()) {
                waiting.wakeAll();
            }
        }
    }

    /** Exclusive. */
    public final class WriteLock extends Half {
        private WriteLock() {}

        @Override
        boolean take(Thread self, boolean polite) {
            return takeWrite(self);
        }

        @Override
        void waits(int change) {
            writersWaiting += change;
        }

        @Override
        public void unlock() {
            if (writer != Thread.currentThread()) {
                if (SimThread.current().isKilled()) {
                    return;
                }
                throw new IllegalMonitorStateException("attempt to unlock write lock, not locked by current thread");
            }
            Thread.settle();
            if (--writeHolds == 0) {
                writer = null;
                waiting.wakeAll();
            }
        }

        /** Whether the calling thread holds it. */
        public boolean isHeldByCurrentThread() {
            return isWriteLockedByCurrentThread();
        }
    }
}
