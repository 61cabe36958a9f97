package tutti.order.local;

import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.core.spi.Order;
import tutti.order.DeliveryLoop;

/** One node's part in a {@link LocalOrderGroup}: its queue, and the loop that delivers to it. */
final class LocalOrder implements Order, DurableLog, Group, DeliveryLoop.Source {
    private static final int DELIVERIES_PER_TURN = 256;
    /** Who appends a message delivers so many at most that others have appended. */
    private static final int DELIVERIES_OF_OTHERS = 4;

    private final LocalOrderGroup group;
    private final int node;
    private final boolean direct;
    private final ConcurrentLinkedQueue<byte[]> queue = new ConcurrentLinkedQueue<>();
    private final AtomicLong queuedBytes = new AtomicLong();
    private final AtomicBoolean started = new AtomicBoolean();
    private volatile View view;
    private volatile @Nullable Listener listener;
    private volatile @Nullable DeliveryLoop deliveries;
    private volatile boolean closed;
    /** The next position to be delivered; changed on the loop. */
    private volatile long next;
    /** Last position that was given out before this node came. */
    private volatile long replayed;

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
    public DurableLog log() {
        return this;
    }

    @Override
    public Group group() {
        return this;
    }

    @Override
    public void join(Listener hears) {
        listener = hears;
    }

    @Override
    public void start(long after, Reader reader) throws TruncatedException {
        if (closed || !started.compareAndSet(false, true)) {
            throw new IllegalStateException("an order is started once");
        }
        next = after + 1;
        deliveries = new DeliveryLoop(group.machine(), "order-" + node + "-deliver", after, this, reader, listener,
                _ -> leave());
        group.join(this, after);
        more(false);
    }

    /** The group takes it in; on the way to the view that says so. */
    void joined(long lastKnown) {
        replayed = lastKnown;
    }

    private void leave() {
        closed = true;
        group.leave(this);
    }

    @Override
    public boolean deliverSome(DeliveryLoop to) {
        long position = next;
        LocalOrderGroup.Entry entry = group.entry(position);
        // The entry is looked at before the view: nothing is delivered before a view is told that allowed it to be ordered.
        for (int count = 0; entry != null && to.mayDeliver() && count < DELIVERIES_PER_TURN; count++) {
            to.deliver(position, entry.sender(), ByteBuffer.wrap(entry.payload()).asReadOnlyBuffer());
            if (entry.sender() == node && position > replayed) {
                queuedBytes.addAndGet(-entry.payload().length);
            }
            position++;
            next = position;
            entry = group.entry(position);
        }
        return entry != null;
    }

    void viewed(View now) {
        view = now;
        DeliveryLoop to = deliveries;
        if (to != null) {
            to.viewed(now, false);
        }
    }

    void more(boolean here) {
        DeliveryLoop to = deliveries;
        if (to != null) {
            to.more(here);
        }
    }

    byte @Nullable [] takeQueued() {
        return queue.poll();
    }

    @Override
    public void append(byte[] payload) throws OverflowException {
        checkLength(payload);
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
        more(direct && group.lastKnown() - next <= DELIVERIES_OF_OTHERS);
    }

    private void checkLength(byte[] payload) {
        if (payload.length > group.payloadBytesMax()) {
            throw new IllegalArgumentException(
                    "a message of " + payload.length + " bytes, the limit is " + group.payloadBytesMax());
        }
    }

    @Override
    public void multicast(byte[] payload, Set<Integer> nodes) {
        checkLength(payload);
        group.multicast(new LocalOrderGroup.Entry(node, payload), nodes);
    }

    /** Another node, or this one, has sent something outside of the order. */
    void received(LocalOrderGroup.Entry letter) {
        DeliveryLoop to = deliveries;
        if (to != null) {
            to.received(letter.sender(), ByteBuffer.wrap(letter.payload()).asReadOnlyBuffer(), false);
        }
    }

    @Override
    public View view() {
        return view;
    }

    @Override
    public void suspend() {
        DeliveryLoop to = deliveries;
        if (to != null) {
            to.suspend();
        }
    }

    @Override
    public void resume() {
        DeliveryLoop to = deliveries;
        if (to != null) {
            to.resume();
        }
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
        DeliveryLoop to = deliveries;
        return new Status(to == null ? 0 : to.lastDelivered(), group.lastKnown(), group.firstRetained(),
                queuedBytes.get(), group.logBytes());
    }

    @Override
    public void close() {
        leave();
        DeliveryLoop to = deliveries;
        if (to != null) {
            to.close();
        }
    }
}
