package tutti.minha.jdk.util.concurrent;

import java.util.ArrayDeque;
import java.util.Collection;

/**
 * The mirror of {@link java.util.concurrent.LinkedBlockingQueue}.
 *
 * @param <E> what is in it
 */
public class LinkedBlockingQueue<E> extends QueueBase<E> {
    /** Without a bound. */
    public LinkedBlockingQueue() {
        this(Integer.MAX_VALUE);
    }

    /** With a bound of at least 1. */
    public LinkedBlockingQueue(int capacity) {
        super(new ArrayDeque<>(), capacity);
    }

    /** With these elements, without a bound. */
    public LinkedBlockingQueue(Collection<? extends E> first) {
        super(new ArrayDeque<>(first), Integer.MAX_VALUE);
    }
}
