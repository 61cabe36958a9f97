package tutti.engine.jdbc;

import java.sql.SQLException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * Lets nobody begin a transaction until all open ones have ended, for something that must find none; and gives that up
 * after a while, so that one client that leaves its transaction open does not stop a node.
 *
 * <p>
 * <b>The steps, and why nobody waits for ever.</b> First no client begins, and nothing is prepared without a position, until none
 * of those is open. Appliers begin as always meanwhile: the commit of a client that is open may wait for earlier positions.
 * Then appliers of positions beyond the highest one that any has begun do not begin. Those that are open wait for the
 * commits of earlier positions only. An earlier position is committed by a client or has been prepared, and then it has
 * ended, since none is open; or by an applier, which has begun or is free to begin, its position being below that highest
 * one. So the earliest of them waits for nobody, and all of them end. The work of the engine itself, which waits for
 * nobody, is held back in the last step only, when nothing is open any more and the task runs.
 *
 * <p>
 * What can last is a client that says nothing, a long statement, a prepared transaction whose decision waits for another node
 * (which may be in the first step, too, and hold back what we wait for), or a client that waits for its own second
 * session. For those there is the limit in time; when it has passed, everybody goes on as if nothing had been.
 *
 * <p>
 * Safe for use from any thread. Nobody may begin something in here while the thread has a transaction open in the same engine,
 * or holds a lock that others need in order to end theirs.
 */
final class Quiescence {
    /** In place of a position: what is prepared before it has one. */
    static final long NO_POSITION = 0;

    private enum Step {
        /** Everybody begins as they like. */
        NONE,
        /** Clients, and what has no position, do not begin. */
        CLIENTS_END,
        /** Nor do appliers of positions beyond the limit. */
        APPLIERS_END,
        /** Nobody begins anything. */
        STILL
    }

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private Step step = Step.NONE;
    /** Open transactions of clients, and prepared ones. */
    private int clients;
    private int appliers;
    private int own;
    /** Copies of the whole database that are being read: not worth waiting for. */
    private int copies;
    /** Highest position that an applier has begun. */
    private long highestBegun;
    private long limit;
    private boolean closed;

    /** A client's transaction is about to begin. Waits while it may not. */
    void beginClient() throws SQLException {
        lock.lock();
        try {
            awaitStep(() -> step == Step.NONE, () -> false);
            clients++;
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new SQLException("interrupted while the database was being written anew", "57014", interrupted);
        } finally {
            lock.unlock();
        }
    }

    /** It has ended. */
    void endClient() {
        lock.lock();
        try {
            clients--;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * An applier is about to begin a transaction. Waits while it may not.
     *
     * @param position first one of its changes, or {@link #NO_POSITION}
     * @param givenUp whether it need not wait any more; looked at after {@link #wake}
     * @return whether it may begin; if not, it has been given up
     */
    boolean beginApplier(long position, BooleanSupplier givenUp) throws InterruptedException {
        lock.lock();
        try {
            if (position == NO_POSITION) {
                if (!awaitStep(() -> step == Step.NONE, givenUp)) {
                    return false;
                }
                clients++;
            } else {
                if (!awaitStep(() -> step == Step.NONE || step == Step.CLIENTS_END
                        || (step == Step.APPLIERS_END && position <= limit), givenUp)) {
                    return false;
                }
                appliers++;
                highestBegun = Math.max(highestBegun, position);
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    /**
     * It has ended.
     *
     * @param position as when it began
     */
    void endApplier(long position) {
        lock.lock();
        try {
            if (position == NO_POSITION) {
                clients--;
            } else {
                appliers--;
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** A short transaction of the engine's own begins, which waits for nobody. */
    void beginOwn() {
        lock.lock();
        try {
            while (step == Step.STILL) {
                changed.awaitUninterruptibly();
            }
            own++;
        } finally {
            lock.unlock();
        }
    }

    /** It has ended. */
    void endOwn() {
        lock.lock();
        try {
            own--;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** A transaction that copies the database begins: while it lasts, {@link #attempt} does not try. */
    void beginCopy() throws SQLException {
        beginClient();
        lock.lock();
        try {
            copies++;
        } finally {
            lock.unlock();
        }
    }

    /** It has ended. */
    void endCopy() {
        lock.lock();
        try {
            copies--;
        } finally {
            lock.unlock();
        }
        endClient();
    }

    /** Whether it is allowed; if not, it has been given up. */
    private boolean awaitStep(BooleanSupplier allowed, BooleanSupplier givenUp) throws InterruptedException {
        while (!allowed.getAsBoolean()) {
            if (givenUp.getAsBoolean()) {
                return false;
            }
            changed.await();
        }
        return true;
    }

    /** Has those who wait look whether they still want to. */
    void wake() {
        lock.lock();
        try {
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until nothing is open, and runs a task then. One at a time.
     *
     * @param patienceNanos how long to wait
     * @param task must not begin anything in here
     * @return whether the task ran; if not, something has stayed open for too long
     * @throws SQLException as the task does
     */
    boolean attempt(long patienceNanos, JdbcEngine.Step task) throws SQLException, InterruptedException {
        lock.lock();
        try {
            if (copies > 0 || step != Step.NONE) {
                return false;
            }
            boolean still = false;
            long deadline = System.nanoTime() + patienceNanos;
            try {
                step = Step.CLIENTS_END;
                if (awaitNone(() -> clients == 0, deadline)) {
                    step = Step.APPLIERS_END;
                    limit = highestBegun;
                    still = awaitNone(() -> appliers == 0 && own == 0, deadline);
                }
            } finally {
                step = still ? Step.STILL : Step.NONE;
                changed.signalAll();
            }
            if (!still) {
                return false;
            }
        } finally {
            lock.unlock();
        }
        try {
            task.run();
        } finally {
            lock.lock();
            try {
                step = Step.NONE;
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }
        return true;
    }

    /** Waits until there are none; false if they last too long, or if this is being closed. */
    private boolean awaitNone(BooleanSupplier none, long deadlineNanos) throws InterruptedException {
        while (!none.getAsBoolean()) {
            long left = deadlineNanos - System.nanoTime();
            if (left <= 0 || closed) {
                return false;
            }
            changed.awaitNanos(left);
        }
        return !closed;
    }

    /** From now on no task begins any more, so nobody waits for one that has not begun. */
    void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
