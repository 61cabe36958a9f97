package tutti.minha.jdk.util.concurrent;

import java.util.concurrent.TimeUnit;
import tutti.minha.jdk.lang.Thread;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.WaitList;

/** The mirror of {@link java.util.concurrent.CountDownLatch}. */
public class CountDownLatch {
    private final WaitList waiting = new WaitList();
    private long count;

    /** Opens after so many. */
    public CountDownLatch(int count) {
        if (count < 0) {
            throw new IllegalArgumentException("count < 0");
        }
        this.count = count;
    }

    /** Waits until it opens. */
    public void await() throws InterruptedException {
        await(SimThread.FOREVER);
    }

    /** Waits until it opens; returns whether it did in time. */
    public boolean await(long timeout, TimeUnit unit) throws InterruptedException {
        return await(Math.max(0, unit.toNanos(timeout)));
    }

    private boolean await(long nanos) throws InterruptedException {
        Thread.settle();
        SimThread.current().checkInterrupt();
        return count == 0 || waiting.await(nanos, true);
    }

    /** One more has happened. */
    public void countDown() {
        Thread.settle();
        if (count > 0 && --count == 0) {
            waiting.wakeAll();
        }
    }

    /** How many are missing. */
    public long getCount() {
        Thread.settle();
        return count;
    }

    @Override
    public String toString() {
        return "CountDownLatch[Count = " + count + "]";
    }
}
