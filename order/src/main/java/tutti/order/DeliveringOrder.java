package tutti.order;

import java.nio.ByteBuffer;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.core.spi.Order;
import tutti.runtime.Machine;

/** What all orders of this room have in common: log and group in one, a view, and a loop that delivers. Any thread. */
public abstract class DeliveringOrder implements Order, DurableLog, Group {
    private final int self;
    private final int payloadBytesMax;
    private volatile View view;
    private volatile @Nullable Listener listener;
    private volatile @Nullable DeliveryLoop deliveries;

    /** Of a node, which sees only itself as yet. */
    protected DeliveringOrder(int self, int payloadBytesMax) {
        this.self = self;
        this.payloadBytesMax = payloadBytesMax;
        view = new View(Set.of(self), false, -1);
    }

    @Override
    public final DurableLog log() {
        return this;
    }

    @Override
    public final Group group() {
        return this;
    }

    @Override
    public final void join(Listener hears) {
        listener = hears;
    }

    @Override
    public final View view() {
        return view;
    }

    @Override
    public final int maxPayloadBytes() {
        return payloadBytesMax;
    }

    @Override
    public final void suspend() {
        withDeliveries(DeliveryLoop::suspend);
    }

    @Override
    public final void resume() {
        withDeliveries(DeliveryLoop::resume);
    }

    @Override
    public abstract void close();

    /** Opens the loop that delivers what is behind a position; parameters as {@link DeliveryLoop} has them. */
    protected final void deliver(Machine machine, long after, DeliveryLoop.Source source, Reader reader,
            Consumer<Throwable> onFailure) {
        deliveries = new DeliveryLoop(machine, "order-" + self + "-deliver", after, source, reader, listener,
                onFailure);
    }

    /** Does something with that loop, if it is open. */
    protected final void withDeliveries(Consumer<DeliveryLoop> does) {
        DeliveryLoop to = deliveries;
        if (to != null) {
            does.accept(to);
        }
    }

    /** The group has changed. */
    protected final void viewed(View now) {
        view = now;
        withDeliveries(to -> to.viewed(now, false));
    }

    /** The last position that was delivered; 0 before the loop is open. */
    protected final long lastDelivered() {
        DeliveryLoop from = deliveries;
        return from == null ? 0 : from.lastDelivered();
    }

    /** Refuses a message that is too long. */
    protected final void checkLength(byte[] payload) {
        if (payload.length > payloadBytesMax) {
            throw new IllegalArgumentException(
                    "a message of " + payload.length + " bytes, the limit is " + payloadBytesMax);
        }
    }

    /** A payload as readers and listeners get it. */
    protected static ByteBuffer readOnly(byte[] payload) {
        return ByteBuffer.wrap(payload).asReadOnlyBuffer();
    }
}
