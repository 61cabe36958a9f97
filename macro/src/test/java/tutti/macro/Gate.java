package tutti.macro;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A counter that can be held up in the middle of a call. */
final class Gate extends Counter.Plain {
    private volatile CountDownLatch open = new CountDownLatch(0);
    private volatile CountDownLatch reached = new CountDownLatch(1);

    void shut() {
        reached = new CountDownLatch(1);
        open = new CountDownLatch(1);
    }

    void open() {
        open.countDown();
    }

    /** Waits until a call is held up. */
    void awaitCall() throws InterruptedException {
        if (!reached.await(20, TimeUnit.SECONDS)) {
            throw new AssertionError("no call came");
        }
    }

    private void pass() {
        reached.countDown();
        try {
            if (!open.await(20, TimeUnit.SECONDS)) {
                throw new AssertionError("nobody opened");
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public long add(long amount) {
        pass();
        return super.add(amount);
    }

    @Override
    public long get() {
        pass();
        return super.get();
    }
}
