package tutti.minha.jdk.util.concurrent;

import java.util.AbstractQueue;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.Iterator;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import tutti.minha.jdk.lang.Thread;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.WaitList;

/**
 * The mirror of {@link java.util.concurrent.SynchronousQueue}: whoever gives waits for one who takes. Both are served in
 * the order in which they came.
 *
 * @param <E> what is handed over
 */
public class SynchronousQueue<E> extends AbstractQueue<E> implements BlockingQueue<E> {
    private final WaitList takers = new WaitList();
    /** Given to takers that were woken for it and have not gone on yet. */
    private final Deque<E> handed = new ArrayDeque<>();
    private final Deque<Offer<E>> offers = new ArrayDeque<>();

    private static final class Offer<E> {
        private final E element;
        private final WaitList giver = new WaitList();
        private boolean taken;

        Offer(E element) {
            this.element = element;
        }
    }

    /** Nobody waits. */
    public SynchronousQueue() {}

    /** Nobody waits; who does is served in order in any case. */
    public SynchronousQueue(boolean fair) {
        this();
    }

    @Override
    public boolean offer(E element) {
        Objects.requireNonNull(element);
        Thread.settle();
        if (takers.size() == 0) {
            return false;
        }
        handed.add(element);
        takers.wakeOne();
        return true;
    }

    @Override
    public void put(E element) throws InterruptedException {
        give(element, SimThread.FOREVER);
    }

    @Override
    public boolean offer(E element, long timeout, TimeUnit unit) throws InterruptedException {
        return give(element, Math.max(0, unit.toNanos(timeout)));
    }

    private boolean give(E element, long nanos) throws InterruptedException {
        if (offer(element)) {
            return true;
        }
        Offer<E> offer = new Offer<>(element);
        offers.add(offer);
        try {
            offer.giver.await(nanos, true);
            return offer.taken;
        } finally {
            offers.remove(offer);
        }
    }

    @Override
    public @Nullable E poll() {
        Thread.settle();
        Offer<E> first = offers.poll();
        if (first == null) {
            return null;
        }
        first.taken = true;
        first.giver.wakeOne();
        return first.element;
    }

    private @Nullable E take(long nanos) throws InterruptedException {
        E element = poll();
        if (element != null) {
            return element;
        }
        return takers.await(nanos, true) ? handed.poll() : null;
    }

    @Override
    public E take() throws InterruptedException {
        return Objects.requireNonNull(take(SimThread.FOREVER));
    }

    @Override
    public @Nullable E poll(long timeout, TimeUnit unit) throws InterruptedException {
        return take(Math.min(Math.max(0, unit.toNanos(timeout)), Long.MAX_VALUE / 4));
    }

    @Override
    public @Nullable E peek() {
        return null;
    }

    @Override
    public int size() {
        return 0;
    }

    @Override
    public int remainingCapacity() {
        return 0;
    }

    @Override
    public Iterator<E> iterator() {
        return Collections.emptyIterator();
    }

    @Override
    public int drainTo(Collection<? super E> to) {
        return drainTo(to, Integer.MAX_VALUE);
    }

    @Override
    public int drainTo(Collection<? super E> to, int most) {
        int drained = 0;
        for (E element = drained < most ? poll() : null; element != null; element = drained < most ? poll() : null) {
            to.add(element);
            drained++;
        }
        return drained;
    }
}
