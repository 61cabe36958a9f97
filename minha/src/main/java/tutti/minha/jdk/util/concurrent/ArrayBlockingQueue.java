package tutti.minha.jdk.util.concurrent;

import java.util.ArrayDeque;
import java.util.Collection;

/**
 * The mirror of {@link java.util.concurrent.ArrayBlockingQueue}.
 *
 * @param <E> what is in it
 */
public class ArrayBlockingQueue<E> extends QueueBase<E> {
    /** With a bound of at least 1. */
    public ArrayBlockingQueue(int capacity) {
        super(new ArrayDeque<>(), capacity);
    }

    /** With a bound of at least 1; who waits is served in order in any case. */
    public ArrayBlockingQueue(int capacity, boolean fair) {
        this(capacity);
    }

    /** With a bound of at least 1 and these elements. */
    public ArrayBlockingQueue(int capacity, boolean fair, Collection<? extends E> first) {
        super(new ArrayDeque<>(first), capacity);
        if (first.size() > capacity) {
            throw new IllegalArgumentException(first.size() + " elements for a queue of " + capacity);
        }
    }
}
