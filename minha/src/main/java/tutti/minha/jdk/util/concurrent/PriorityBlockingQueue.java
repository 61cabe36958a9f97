package tutti.minha.jdk.util.concurrent;

import java.util.Collection;
import java.util.Comparator;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * The mirror of {@link java.util.concurrent.PriorityBlockingQueue}.
 *
 * @param <E> what is in it
 */
public class PriorityBlockingQueue<E> extends QueueBase<E> {
    /** In the natural order. */
    public PriorityBlockingQueue() {
        super(new PriorityQueue<>(), Integer.MAX_VALUE);
    }

    /** In the natural order. */
    public PriorityBlockingQueue(int initialCapacity) {
        super(new PriorityQueue<>(initialCapacity), Integer.MAX_VALUE);
    }

    /** In an order. */
    public PriorityBlockingQueue(int initialCapacity, @Nullable Comparator<? super E> order) {
        super(new PriorityQueue<>(initialCapacity, order), Integer.MAX_VALUE);
    }

    /** With these elements, in the order of their collection if it has one. */
    public PriorityBlockingQueue(Collection<? extends E> first) {
        super(new PriorityQueue<>(first), Integer.MAX_VALUE);
    }
}
