package tutti.minha.jdk.util.concurrent;

import java.util.PriorityQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.TimeUnit;

/**
 * The mirror of {@link java.util.concurrent.DelayQueue}: an element can be taken when its delay is over.
 *
 * @param <E> what is in it
 */
public class DelayQueue<E extends Delayed> extends QueueBase<E> {
    /** Empty. */
    public DelayQueue() {
        super(new PriorityQueue<>(), Integer.MAX_VALUE);
    }

    @Override
    long delay(E first) {
        return first.getDelay(TimeUnit.NANOSECONDS);
    }
}
