package tutti.order.local;

import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Order;

/**
 * One node's part in a {@link LocalOrderGroup}: its queue, and the thread that delivers to it.
 *
 * <p>
 * <b>Directly.</b> If the listener agrees to be called from inside {@link #submit}, then whoever submits a message delivers it
 * himself, provided that nobody delivers at the moment and that nothing else waits to be delivered. Otherwise the thread is
 * woken. Only who holds {@link #turn} delivers and moves {@link #next}, so the listener is called from one thread at a time,
 * in the order; and a call from inside the listener finds the turn taken, by itself, and is not nested.
 */
final class LocalOrder implements Order {
    private static final int DELIVERIES_PER_TURN = 256;

    private final LocalOrderGroup group;
    private final int node;
    private final boolean direct;
    private final ConcurrentLinkedQueue<byte[]> queue = new ConcurrentLinkedQueue<>();
    private final ConcurrentLinkedQueue<LocalOrderGroup.Entry> letters = new ConcurrentLinkedQueue<>();
    private final AtomicLong queuedBytes = new AtomicLong();
    private final AtomicReference<@Nullable View> changedView = new AtomicReference<>();
    private volatile View view;
    private volatile long lastDelivered;
    private volatile boolean closed;
    private @Nullable Thread thread;
    private final ReentrantLock turn = new ReentrantLock();
    /* Of the turn. */
    private @Nullable Listener listener;
    private long next;
    private long replayed;

    LocalOrder(LocalOrderGroup group, int node, boolean direct) {
        this.group = group;
        this.node = node;
        this.direct = direct;
        view = new View(Set.of(node), false, -1);
    }

    int node() {
        return node;
    }

    @Override
    public synchronized void start(long after, Listener heard) throws TruncatedException {
        if (thread != null || closed) {
            throw new IllegalStateException("an order is started once");
        }
        turn.lock();
        try {
            replayed = group.join(this, after);
            next = after + 1;
            listener = heard;
            Thread delivering = Thread.ofPlatform().daemon().name("order-" + node + "-deliver")
                    .unstarted(() -> deliver(heard));
            thread = delivering;
            delivering.start();
        } finally {
            turn.unlock();
        }
    }

    private void deliver(Listener to) {
        while (!closed) {
            boolean idle;
            turn.lock();
            try {
                idle = !deliverTurn(to);
            } finally {
                turn.unlock();
            }
            if (idle && !closed) {
                LockSupport.park(this);
            }
        }
    }

    /** Delivers some of what is there; answers whether there was any. In its turn. */
    private boolean deliverTurn(Listener to) {
        try {
            View changed = changedView.getAndSet(null);
            if (changed != null && !closed) {
                to.view(changed);
            }
            for (var letter = letters.poll(); letter != null && !closed; letter = letters.poll()) {
                to.received(letter.sender(), ByteBuffer.wrap(letter.payload()).asReadOnlyBuffer());
            }
            int count = 0;
            for (var entry = nextEntry(); entry != null && count < DELIVERIES_PER_TURN
                    && !closed; entry = nextEntry()) {
                deliverNext(to, entry);
                count++;
            }
            if (count > 0) {
                to.batchEnd();
            }
            return count > 0 || changed != null || changedView.get() != null;
        } catch (RuntimeException e) {
            fail(e);
            return false;
        }
    }

    /** What is to be delivered next; nothing before a view is told that allowed it to be ordered. */
    private LocalOrderGroup.@Nullable Entry nextEntry() {
        LocalOrderGroup.Entry entry = group.entry(next);
        return changedView.get() == null ? entry : null;
    }

    private void deliverNext(Listener to, LocalOrderGroup.Entry entry) {
        to.delivered(next, entry.sender(), ByteBuffer.wrap(entry.payload()).asReadOnlyBuffer());
        lastDelivered = next;
        if (entry.sender() == node && next > replayed) {
            queuedBytes.addAndGet(-entry.payload().length);
        }
        next++;
    }

    /** Delivers what was just submitted here, and only that; answers false if it is not so simple. */
    private boolean deliverDirectly() {
        if (!direct || turn.isHeldByCurrentThread() || !turn.tryLock()) {
            return false;
        }
        try {
            Listener to = listener;
            if (closed || to == null || !letters.isEmpty() || group.lastKnown() != next) {
                return false;
            }
            LocalOrderGroup.Entry entry = nextEntry();
            if (entry == null || entry.sender() != node) {
                return false;
            }
            deliverNext(to, entry);
            to.batchEnd();
            return true;
        } catch (RuntimeException e) {
            fail(e);
            return true;
        } finally {
            turn.unlock();
        }
    }

    /** In its turn. */
    private void fail(RuntimeException cause) {
        closed = true;
        group.leave(this);
        Listener to = listener;
        if (to != null) {
            to.failed(cause);
        }
    }

    void viewed(View now) {
        view = now;
        changedView.set(now);
        wake();
    }

    void wake() {
        LockSupport.unpark(thread);
    }

    byte @Nullable [] takeQueued() {
        return queue.poll();
    }

    @Override
    public void submit(byte[] payload) throws OverflowException {
        if (payload.length > group.payloadBytesMax()) {
            throw new IllegalArgumentException(
                    "a message of " + payload.length + " bytes, the limit is " + group.payloadBytesMax());
        }
        if (closed) {
            throw new IllegalStateException("the order at node " + node + " has stopped");
        }
        long now = queuedBytes.addAndGet(payload.length);
        if (now > group.queueBytes()) {
            queuedBytes.addAndGet(-payload.length);
            throw new OverflowException(now - payload.length, group.queueBytes());
        }
        queue.add(payload);
        group.order(this);
        if (!deliverDirectly()) {
            wake();
        }
    }

    @Override
    public void multicast(byte[] payload, Set<Integer> nodes) {
        if (payload.length > group.payloadBytesMax()) {
            throw new IllegalArgumentException(
                    "a message of " + payload.length + " bytes, the limit is " + group.payloadBytesMax());
        }
        group.multicast(new LocalOrderGroup.Entry(node, payload), nodes);
    }

    /** Another node, or this one, has sent something outside of the order. */
    void received(LocalOrderGroup.Entry letter) {
        letters.add(letter);
        wake();
    }

    @Override
    public int maxPayloadBytes() {
        return group.payloadBytesMax();
    }

    @Override
    public void truncate(long position) {
        group.truncate(position);
    }

    @Override
    public Status status() {
        return new Status(view, lastDelivered, group.lastKnown(), group.firstRetained(), queuedBytes.get(),
                group.logBytes());
    }

    @Override
    public void close() {
        closed = true;
        group.leave(this);
        Thread delivering;
        synchronized (this) {
            delivering = thread;
        }
        if (delivering != null && !delivering.equals(Thread.currentThread())) {
            LockSupport.unpark(delivering);
            try {
                delivering.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        awaitDirect();
    }

    /** Waits for whoever delivers directly, unless that is the caller: {@link #closed} keeps others from beginning. */
    private void awaitDirect() {
        turn.lock();
        try {
            listener = null;
        } finally {
            turn.unlock();
        }
    }
}
