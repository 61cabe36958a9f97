package tutti.jgroups;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** Things to be done one after the other, in the order in which they were added, by whichever thread comes by. Any threads. */
final class Line {
    private final Queue<Runnable> waiting = new ConcurrentLinkedQueue<>();
    private final Consumer<Throwable> failed;
    private final AtomicInteger comings = new AtomicInteger();

    /** Tells which have failed; the others are done all the same. */
    Line(Consumer<Throwable> failed) {
        this.failed = failed;
    }

    /** Another one; not done before somebody {@linkplain #work works}. */
    void add(Runnable thing) {
        waiting.add(thing);
    }

    /** Does all there is, unless another thread, or this one further up, is at it and will. */
    void work() {
        if (comings.getAndIncrement() != 0) {
            return;
        }
        int seen = 1;
        while (seen != 0) {
            for (Runnable next = waiting.poll(); next != null; next = waiting.poll()) {
                try {
                    next.run();
                } catch (Throwable e) {
                    // An error, too: others could not be done any more.
                    failed.accept(e);
                }
            }
            seen = comings.addAndGet(-seen);
        }
    }

    /** Forgets what was not done. */
    void clear() {
        waiting.clear();
    }
}
