package tutti.macro.distribution;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Controls when requests may start (MacroDDB, section 4.2.3.3, figure 4.3): many readers or one writer. Thread safe.
 */
public interface LockService {
    /** {@code BARRIER}: waits until the request may start. */
    void barrier(boolean isUpdate);

    /** {@code FINISHREAD}: a request that was let in as a reader has ended. */
    void finishRead();

    /** {@code FINISHWRITE}: the request that was let in as the writer has ended. */
    void finishWrite();

    /**
     * Readers and writers, first come first served. The figure's code, with three corrections: a thread that was woken looks
     * again (another may have been faster, or two may have waited), all that wait are woken when a writer ends (readers may
     * start together), and a reader does not overtake a writer that waits (readers without a gap would keep it waiting for
     * ever).
     */
    static LockService readersOrWriter() {
        return new ReadersOrWriter();
    }

    /** Lets everything start at once: for components that are thread safe and linearizable, as a Macro-component is. */
    static LockService none() {
        return new LockService() {
            @Override
            public void barrier(boolean isUpdate) {}

            @Override
            public void finishRead() {}

            @Override
            public void finishWrite() {}
        };
    }

    /** See {@link #readersOrWriter}. */
    final class ReadersOrWriter implements LockService {
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition condition = lock.newCondition();
        private boolean isWriting;
        private int readCount;
        /** Tickets: whoever comes takes the next, and starts when all before have started. */
        private long nextTicket;
        private long nextToStart;

        private ReadersOrWriter() {}

        @Override
        public void barrier(boolean isUpdate) {
            lock.lock();
            try {
                long ticket = nextTicket++;
                while (ticket != nextToStart || isWriting || (isUpdate && readCount > 0)) {
                    condition.awaitUninterruptibly();
                }
                nextToStart++;
                if (isUpdate) {
                    isWriting = true;
                } else {
                    readCount++;
                }
                condition.signalAll();
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void finishRead() {
            lock.lock();
            try {
                if (readCount == 0) {
                    throw new IllegalStateException("nobody reads");
                }
                readCount--;
                if (readCount == 0) {
                    condition.signalAll();
                }
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void finishWrite() {
            lock.lock();
            try {
                if (!isWriting) {
                    throw new IllegalStateException("nobody writes");
                }
                isWriting = false;
                condition.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }
}
