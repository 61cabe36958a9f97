package tutti.order.local;

import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Order;

/** One node's part in a {@link LocalOrderGroup}: its queue, and the thread that delivers to it. */
final class LocalOrder implements Order {
    private static final int DELIVERIES_PER_TURN = 256;

    private final LocalOrderGroup group;
    private final int node;
    private final ConcurrentLinkedQueue<byte[]> queue = new ConcurrentLinkedQueue<>();
    private final ConcurrentLinkedQueue<LocalOrderGroup.Entry> letters = new ConcurrentLinkedQueue<>();
    private final AtomicLong queuedBytes = new AtomicLong();
    private final AtomicReference<@Nullable View> changedView = new AtomicReference<>();
    private volatile View view;
    private volatile long lastDelivered;
    private volatile boolean closed;
    private @Nullable Thread thread;

    LocalOrder(LocalOrderGroup group, int node) {
        this.group = group;
        this.node = node;
        view = new View(Set.of(node), false, -1);
    }

    int node() {
        return node;
    }

    @Override
    public synchronized void start(long after, Listener listener) throws TruncatedException {
        if (thread != null || closed) {
            throw new IllegalStateException("an order is started once");
        }
        long replayed = group.join(this, after);
        Thread delivering = Thread.ofPlatform().daemon().name("order-" + node + "-deliver")
                .unstarted(() -> deliver(after, replayed, listener));
        thread = delivering;
        delivering.start();
    }

    private void deliver(long after, long replayed, Listener listener) {
        long next = after + 1;
        try {
            while (!closed) {
                View changed = changedView.getAndSet(null);
                if (changed != null) {
                    listener.view(changed);
                }
                int turn = 0;
                for (var letter = letters.poll(); letter != null && !closed; letter = letters.poll()) {
                    listener.received(letter.sender(), ByteBuffer.wrap(letter.payload()).asReadOnlyBuffer());
                }
                for (var entry = group.entry(next); entry != null && turn < DELIVERIES_PER_TURN
                        && !closed; entry = group
                                .entry(next)) {
                    listener.delivered(next, entry.sender(), ByteBuffer.wrap(entry.payload()).asReadOnlyBuffer());
                    lastDelivered = next;
                    if (entry.sender() == node && next > replayed) {
                        queuedBytes.addAndGet(-entry.payload().length);
                    }
                    next++;
                    turn++;
                }
                if (turn > 0) {
                    listener.batchEnd();
                } else if (changed == null) {
                    LockSupport.park(this);
                }
            }
        } catch (RuntimeException e) {
            group.leave(this);
            listener.failed(e);
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
        group.order();
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
    }
}
