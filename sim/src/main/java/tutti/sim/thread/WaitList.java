package tutti.sim.thread;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.BooleanSupplier;

/**
 * Threads that wait for the same thing, in the order in which they came: the one place where waiting is done. Whoever is
 * woken must look again whether what it waited for is so, since another thread may have been first.
 */
public final class WaitList {
    private final Deque<Waiter> waiters = new ArrayDeque<>();

    /** Nobody waits. */
    public WaitList() {}

    private static final class Waiter {
        private final SimThread thread;
        private boolean woken;

        Waiter(SimThread thread) {
            this.thread = thread;
        }
    }

    /**
     * Lets the current thread wait to be woken.
     *
     * @param nanos at most so long, or {@link SimThread#FOREVER}
     * @return whether it was woken in time
     * @throws InterruptedException if it was interrupted before it was woken, and {@code interruptible}
     */
    public boolean await(long nanos, boolean interruptible) throws InterruptedException {
        Waiter waiter = new Waiter(SimThread.current());
        waiters.add(waiter);
        try {
            if (interruptible) {
                try {
                    waiter.thread.parkInterruptibly(nanos);
                } catch (InterruptedException e) {
                    if (waiter.woken) {
                        // It was given what it waited for first: it must take that, and hears of the interrupt later.
                        waiter.thread.interrupt();
                        return true;
                    }
                    throw e;
                }
            } else {
                waiter.thread.park(nanos);
            }
            return waiter.woken;
        } finally {
            if (!waiter.woken) {
                waiters.remove(waiter);
            } else if (waiter.thread.isKilled()) {
                // It dies with what it was given; somebody else may have it.
                wakeOne();
            }
        }
    }

    /**
     * Lets the current thread wait until it has what it waits for.
     *
     * @param take takes it if it can be had; asked each time that the thread has been woken
     * @param nanos at most so long, or {@link SimThread#FOREVER}
     * @return whether it has been taken in time
     * @throws InterruptedException as {@link #await} does
     */
    public boolean awaitTurn(BooleanSupplier take, long nanos, boolean interruptible) throws InterruptedException {
        long end = nanos == SimThread.FOREVER ? 0 : SimThread.now() + nanos;
        while (true) {
            long left = nanos == SimThread.FOREVER ? SimThread.FOREVER : Math.max(0, end - SimThread.now());
            if (left == 0) {
                return false;
            }
            await(left, interruptible);
            if (take.getAsBoolean()) {
                return true;
            }
        }
    }

    /** {@link #await} without an end and without being interrupted. */
    public void awaitUninterruptibly() {
        try {
            await(SimThread.FOREVER, false);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted where that cannot be", e);
        }
    }

    /** How many wait and were not woken yet. */
    public int size() {
        return waiters.size();
    }

    /** Wakes the one that has waited longest, if there is one. */
    public boolean wakeOne() {
        Waiter first = waiters.poll();
        while (first != null && first.thread.isKilled()) {
            first = waiters.poll();
        }
        if (first == null) {
            return false;
        }
        first.woken = true;
        first.thread.unpark();
        return true;
    }

    /** Wakes all, in the order in which they came. */
    public void wakeAll() {
        boolean woken;
        do {
            woken = wakeOne();
        } while (woken);
    }
}
