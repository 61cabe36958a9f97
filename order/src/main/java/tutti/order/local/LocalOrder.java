package tutti.order.local;

import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import tutti.order.DeliveringOrder;
import tutti.order.DeliveryLoop;

/** One node's part in a {@link LocalOrderGroup}: its queue, and the loop that delivers to it. */
final class LocalOrder extends DeliveringOrder implements DeliveryLoop.Source {
    private static final int DELIVERIES_PER_TURN = 256;
    /** Who appends a message delivers so many at most that others have appended. */
    private static final int DELIVERIES_OF_OTHERS = 4;

    private final LocalOrderGroup group;
    private final int node;
    private final boolean direct;
    private final ConcurrentLinkedQueue<byte[]> queue = new ConcurrentLinkedQueue<>();
    private final AtomicLong queuedBytes = new AtomicLong();
    private final AtomicBoolean started = new AtomicBoolean();
    private volatile boolean closed;
    /** The next position to be delivered; changed on the loop. */
    private volatile long next;
    /** Last position that was given out before this node came. */
    private volatile long replayed;

    LocalOrder(LocalOrderGroup group, int node, boolean direct) {
        super(node, group.payloadBytesMax());
        this.group = group;
        this.node = node;
        this.direct = direct;
    }

    int node() {
        return node;
    }

    @Override
    public void start(long after, Reader reader) throws TruncatedException {
        if (closed || !started.compareAndSet(false, true)) {
            throw new IllegalStateException("an order is started once");
        }
        next = after + 1;
        deliver(group.machine(), after, this, reader, _ -> leave());
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
            to.deliver(position, entry.sender(), readOnly(entry.payload()));
            if (entry.sender() == node && position > replayed) {
                queuedBytes.addAndGet(-entry.payload().length);
            }
            position++;
            next = position;
            entry = group.entry(position);
        }
        return entry != null;
    }

    /** The group has changed. */
    void sees(View now) {
        viewed(now);
    }

    void more(boolean here) {
        withDeliveries(to -> to.more(here));
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

    @Override
    public void multicast(byte[] payload, Set<Integer> nodes) {
        checkLength(payload);
        group.multicast(new LocalOrderGroup.Entry(node, payload), nodes);
    }

    /** Another node, or this one, has sent something outside of the order. */
    void received(LocalOrderGroup.Entry letter) {
        withDeliveries(to -> to.received(letter.sender(), readOnly(letter.payload()), false));
    }

    @Override
    public void truncate(long position) {
        group.truncate(position);
    }

    @Override
    public Status status() {
        return new Status(lastDelivered(), group.lastKnown(), group.firstRetained(), queuedBytes.get(),
                group.logBytes());
    }

    @Override
    public void close() {
        leave();
        withDeliveries(DeliveryLoop::close);
    }
}
