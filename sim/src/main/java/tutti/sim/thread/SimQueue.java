package tutti.sim.thread;

import java.util.AbstractQueue;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A bounded first-in-first-out queue between simulated threads. What does not wait ({@link #offer(Object)},
 * {@link #poll()}) may be called by events too; what waits is for simulated threads.
 *
 * @param <E> what is in it
 */
public final class SimQueue<E> extends AbstractQueue<E> implements BlockingQueue<E> {
    private final Deque<E> elements = new ArrayDeque<>();
    private final int capacity;
    private final WaitList takers = new WaitList();
    private final WaitList putters = new WaitList();

    /**
     * An empty queue.
     *
     * @param capacity how many it holds at most, at least 1
     */
    public SimQueue(int capacity) {
        if (capacity < 1) {
            throw new IllegalArgumentException("a queue for " + capacity + " elements");
        }
        this.capacity = capacity;
    }

    @Override
    public boolean offer(E element) {
        if (elements.size() == capacity) {
            return false;
        }
        elements.add(element);
        takers.wakeOne();
        return true;
    }

    @Override
    public void put(E element) throws InterruptedException {
        while (!offer(element)) {
            putters.await(SimThread.FOREVER, true);
        }
    }

    @Override
    public boolean offer(E element, long timeout, TimeUnit unit) throws InterruptedException {
        long end = SimThread.now() + unit.toNanos(timeout);
        while (!offer(element)) {
            long left = end - SimThread.now();
            if (left <= 0) {
                return false;
            }
            putters.await(left, true);
        }
        return true;
    }

    @Override
    public @Nullable E poll() {
        E element = elements.poll();
        if (element != null) {
            putters.wakeOne();
        }
        return element;
    }

    @Override
    public E take() throws InterruptedException {
        while (true) {
            E element = poll();
            if (element != null) {
                return element;
            }
            takers.await(SimThread.FOREVER, true);
        }
    }

    @Override
    public @Nullable E poll(long timeout, TimeUnit unit) throws InterruptedException {
        long end = SimThread.now() + unit.toNanos(timeout);
        while (true) {
            E element = poll();
            long left = end - SimThread.now();
            if (element != null || left <= 0) {
                return element;
            }
            takers.await(left, true);
        }
    }

    @Override
    public @Nullable E peek() {
        return elements.peek();
    }

    @Override
    public int size() {
        return elements.size();
    }

    @Override
    public int remainingCapacity() {
        return capacity - elements.size();
    }

    @Override
    public int drainTo(Collection<? super E> to) {
        return drainTo(to, Integer.MAX_VALUE);
    }

    @Override
    public int drainTo(Collection<? super E> to, int most) {
        int drained = 0;
        while (drained < most) {
            E element = poll();
            if (element == null) {
                break;
            }
            to.add(element);
            drained++;
        }
        return drained;
    }

    /** Over a copy of what is in it now; does not remove. */
    @Override
    public Iterator<E> iterator() {
        return List.copyOf(elements).iterator();
    }
}
