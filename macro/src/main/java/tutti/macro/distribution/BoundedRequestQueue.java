package tutti.macro.distribution;

import java.util.Comparator;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** The request queues, which differ in which request comes first. */
final class BoundedRequestQueue implements RequestQueue {
    private record Numbered(long number, Request request) {}

    private final int capacity;
    private final PriorityQueue<Numbered> queue;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition notEmpty = lock.newCondition();
    private final Condition notFull = lock.newCondition();
    private long numbers;
    private boolean closed;

    BoundedRequestQueue(int capacity, Comparator<Request> first) {
        if (capacity < 1) {
            throw new IllegalArgumentException("a request queue must take at least one request, not " + capacity);
        }
        this.capacity = capacity;
        queue = new PriorityQueue<>(Comparator.comparing(Numbered::request, first).thenComparingLong(Numbered::number));
    }

    @Override
    public boolean insertRequest(Request request) {
        lock.lock();
        try {
            while (queue.size() >= capacity && !closed) {
                notFull.awaitUninterruptibly();
            }
            if (closed) {
                return false;
            }
            queue.add(new Numbered(numbers++, request));
            notEmpty.signal();
            return true;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public Optional<Request> getRequest() {
        lock.lock();
        try {
            while (queue.isEmpty() && !closed) {
                notEmpty.awaitUninterruptibly();
            }
            if (closed) {
                return Optional.empty();
            }
            notFull.signal();
            return Optional.of(queue.remove().request());
        } finally {
            lock.unlock();
        }
    }

    @Override
    public int size() {
        lock.lock();
        try {
            return queue.size();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            notEmpty.signalAll();
            notFull.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
