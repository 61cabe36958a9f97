package tutti.minha.jdk.util.concurrent;

import java.util.AbstractQueue;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import tutti.minha.jdk.lang.Thread;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.WaitList;

/** A queue of the JDK with waiting around it. */
abstract class QueueBase<E> extends AbstractQueue<E> implements BlockingQueue<E> {
    private final Queue<E> elements;
    private final int capacity;
    private final WaitList takers = new WaitList();
    private final WaitList putters = new WaitList();

    QueueBase(Queue<E> elements, int capacity) {
        if (capacity < 1) {
            throw new IllegalArgumentException("a queue for " + capacity + " elements");
        }
        this.elements = elements;
        this.capacity = capacity;
    }

    private static void begin(@Nullable Object element) throws InterruptedException {
        Objects.requireNonNull(element);
        Thread.settle();
        SimThread.current().checkInterrupt();
    }

    @Override
    public boolean offer(E element) {
        Objects.requireNonNull(element);
        Thread.settle();
        if (elements.size() >= capacity) {
            return false;
        }
        elements.add(element);
        takers.wakeOne();
        return true;
    }

    @Override
    public void put(E element) throws InterruptedException {
        begin(element);
        while (!offer(element)) {
            putters.await(SimThread.FOREVER, true);
        }
    }

    @Override
    public boolean offer(E element, long timeout, TimeUnit unit) throws InterruptedException {
        begin(element);
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

    /** How long until the first element may be taken, in nanoseconds; 0 or less is now. */
    long delay(E first) {
        return 0;
    }

    @Override
    public @Nullable E poll() {
        Thread.settle();
        E first = elements.peek();
        if (first == null || delay(first) > 0) {
            return null;
        }
        E taken = elements.poll();
        putters.wakeOne();
        if (!elements.isEmpty()) {
            // Who was woken for one element may have found another; somebody else may wait for the next.
            takers.wakeOne();
        }
        return taken;
    }

    @Override
    public E take() throws InterruptedException {
        begin(this);
        while (true) {
            E element = poll();
            if (element != null) {
                return element;
            }
            takers.await(patience(SimThread.FOREVER), true);
        }
    }

    @Override
    public @Nullable E poll(long timeout, TimeUnit unit) throws InterruptedException {
        begin(this);
        long nanos = unit.toNanos(timeout);
        long end = nanos > Long.MAX_VALUE / 4 ? Long.MAX_VALUE : SimThread.now() + nanos;
        while (true) {
            E element = poll();
            long left = end - SimThread.now();
            if (element != null || left <= 0) {
                return element;
            }
            takers.await(patience(Math.min(left, Long.MAX_VALUE / 4)), true);
        }
    }

    /** For how long it is worth waiting, at most so long. */
    private long patience(long most) {
        E first = elements.peek();
        if (first == null) {
            return most;
        }
        long delay = Math.max(0, delay(first));
        return most == SimThread.FOREVER ? delay : Math.min(most, delay);
    }

    @Override
    public @Nullable E peek() {
        Thread.settle();
        return elements.peek();
    }

    @Override
    public int size() {
        Thread.settle();
        return elements.size();
    }

    @Override
    public int remainingCapacity() {
        return capacity == Integer.MAX_VALUE ? capacity : capacity - elements.size();
    }

    @Override
    public boolean remove(Object element) {
        Thread.settle();
        boolean removed = elements.remove(element);
        if (removed) {
            putters.wakeOne();
        }
        return removed;
    }

    @Override
    public void clear() {
        Thread.settle();
        elements.clear();
        putters.wakeAll();
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

    /** Over a copy of what is in it now. */
    @Override
    public Iterator<E> iterator() {
        List<E> copy = new ArrayList<>(elements);
        Iterator<E> each = copy.iterator();
        return new Iterator<>() {
            private @Nullable E last;

            @Override
            public boolean hasNext() {
                return each.hasNext();
            }

            @Override
            public E next() {
                E next = each.next();
                last = next;
                return next;
            }

            @Override
            public void remove() {
                if (last == null) {
                    throw new IllegalStateException("nothing to remove");
                }
                QueueBase.this.remove(last);
                last = null;
            }
        };
    }
}
