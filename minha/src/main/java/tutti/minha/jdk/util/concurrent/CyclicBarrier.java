package tutti.minha.jdk.util.concurrent;

import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import tutti.minha.jdk.lang.Thread;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.WaitList;

/** The mirror of {@link java.util.concurrent.CyclicBarrier}. */
public class CyclicBarrier {
    private final int parties;
    private final @Nullable Runnable action;
    private Generation generation = new Generation();
    private int missing;

    private static final class Generation {
        private final WaitList waiting = new WaitList();
        private boolean broken;
        private boolean tripped;
    }

    /** Opens when so many wait. */
    public CyclicBarrier(int parties) {
        this(parties, null);
    }

    /** Opens when so many wait and the last of them has done something. */
    public CyclicBarrier(int parties, @Nullable Runnable action) {
        if (parties < 1) {
            throw new IllegalArgumentException("a barrier for " + parties);
        }
        this.parties = parties;
        this.missing = parties;
        this.action = action;
    }

    /** Waits for the others; returns how many were missing then. */
    public int await() throws InterruptedException, BrokenBarrierException {
        try {
            return await(SimThread.FOREVER);
        } catch (TimeoutException e) {
            throw new IllegalStateException("time does not end", e);
        }
    }

    /** Waits for the others for a time; returns how many were missing then. */
    public int await(long timeout, TimeUnit unit) throws InterruptedException, BrokenBarrierException,
            TimeoutException {
        return await(Math.max(0, unit.toNanos(timeout)));
    }

    private int await(long nanos) throws InterruptedException, BrokenBarrierException, TimeoutException {
        Thread.settle();
        Generation mine = generation;
        if (mine.broken) {
            throw new BrokenBarrierException();
        }
        if (Thread.interrupted()) {
            breakIt(mine);
            throw new InterruptedException();
        }
        int index = --missing;
        if (index == 0) {
            trip(mine);
            return 0;
        }
        boolean woken = false;
        try {
            woken = mine.waiting.await(nanos, true);
        } finally {
            if (!woken && !mine.tripped) {
                breakIt(mine);
            }
        }
        if (mine.tripped) {
            return index;
        }
        if (!woken) {
            throw new TimeoutException();
        }
        throw new BrokenBarrierException();
    }

    private void trip(Generation mine) {
        boolean well = action == null;
        try {
            if (action != null) {
                action.run();
                well = true;
            }
        } finally {
            if (!well) {
                breakIt(mine);
            }
        }
        mine.tripped = true;
        mine.waiting.wakeAll();
        renew();
    }

    private void breakIt(Generation which) {
        which.broken = true;
        which.waiting.wakeAll();
        if (which == generation) {
            missing = parties;
        }
    }

    private void renew() {
        generation = new Generation();
        missing = parties;
    }

    /** Makes it new; who waits is told that it is broken. */
    public void reset() {
        Thread.settle();
        breakIt(generation);
        renew();
    }

    /** How many must wait. */
    public int getParties() {
        return parties;
    }

    /** How many wait. */
    public int getNumberWaiting() {
        return parties - missing;
    }

    /** Whether somebody gave up. */
    public boolean isBroken() {
        return generation.broken;
    }
}
