package tutti.minha.jdk.util.concurrent;

import java.util.concurrent.TimeUnit;
import tutti.minha.jdk.lang.Thread;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.WaitList;

/**
 * The mirror of {@link java.util.concurrent.Semaphore}. If it is fair, who comes while others wait stands in line behind
 * them.
 */
public class Semaphore {
    private final WaitList waiting = new WaitList();
    private final boolean fair;
    private int permits;
    private int inLine;

    /** Not fair; the number may be negative. */
    public Semaphore(int permits) {
        this(permits, false);
    }

    /** Fair or not; the number may be negative. */
    public Semaphore(int permits, boolean fair) {
        this.permits = permits;
        this.fair = fair;
    }

    private boolean take(int wanted) {
        if (permits < wanted) {
            return false;
        }
        permits -= wanted;
        return true;
    }

    private boolean await(int wanted, long nanos, boolean interruptible) throws InterruptedException {
        if (wanted < 0) {
            throw new IllegalArgumentException(wanted + " permits");
        }
        Thread.settle();
        if (interruptible) {
            SimThread.current().checkInterrupt();
        }
        if ((inLine == 0 || !fair) && take(wanted)) {
            return true;
        }
        inLine++;
        try {
            return waiting.awaitTurn(() -> take(wanted), nanos, interruptible);
        } finally {
            inLine--;
            if (permits > 0) {
                // The next in line may want fewer.
                waiting.wakeOne();
            }
        }
    }

    /** Takes one; waits for it. */
    public void acquire() throws InterruptedException {
        acquire(1);
    }

    /** Takes so many; waits for them. */
    public void acquire(int wanted) throws InterruptedException {
        await(wanted, SimThread.FOREVER, true);
    }

    /** Takes one; waits for it, whatever happens. */
    public void acquireUninterruptibly() {
        acquireUninterruptibly(1);
    }

    /** Takes so many; waits for them, whatever happens. */
    public void acquireUninterruptibly(int wanted) {
        try {
            await(wanted, SimThread.FOREVER, false);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted where that cannot be", e);
        }
    }

    /** Takes one if there is one. */
    public boolean tryAcquire() {
        return tryAcquire(1);
    }

    /** Takes so many if there are. */
    public boolean tryAcquire(int wanted) {
        Thread.settle();
        return take(wanted);
    }

    /** Takes one; waits for it for a time. */
    public boolean tryAcquire(long timeout, TimeUnit unit) throws InterruptedException {
        return tryAcquire(1, timeout, unit);
    }

    /** Takes so many; waits for them for a time. */
    public boolean tryAcquire(int wanted, long timeout, TimeUnit unit) throws InterruptedException {
        return await(wanted, Math.max(0, unit.toNanos(timeout)), true);
    }

    /** Gives one back. */
    public void release() {
        release(1);
    }

    /** Gives so many back. */
    public void release(int given) {
        if (given < 0) {
            throw new IllegalArgumentException(given + " permits");
        }
        Thread.settle();
        permits += given;
        waiting.wakeOne();
    }

    /** How many there are. */
    public int availablePermits() {
        Thread.settle();
        return permits;
    }

    /** Takes all. */
    public int drainPermits() {
        Thread.settle();
        int drained = permits;
        permits = 0;
        return drained;
    }

    /** Whether it is fair. */
    public boolean isFair() {
        return fair;
    }

    /** Whether somebody waits. */
    public final boolean hasQueuedThreads() {
        return inLine > 0;
    }

    /** How many wait. */
    public final int getQueueLength() {
        return inLine;
    }

    @Override
    public String toString() {
        return "Semaphore[Permits = " + permits + "]";
    }
}
