package tutti.sim.world.mutant;

import java.nio.ByteBuffer;
import java.util.Set;
import tutti.core.spi.Order;
import tutti.sim.world.order.SimOrder;

/** Passes everything on between a replica and its order. */
class PassingOrder implements SimOrder {
    private final SimOrder order;

    PassingOrder(SimOrder order) {
        this.order = order;
    }

    /** What the replica is told instead. */
    Listener between(Listener listener) {
        return listener;
    }

    @Override
    public void onTentative(Tentative listener) {
        order.onTentative(listener);
    }

    @Override
    public void start(long after, Listener listener) throws TruncatedException {
        order.start(after, between(listener));
    }

    @Override
    public void submit(byte[] payload) throws OverflowException {
        order.submit(payload);
    }

    @Override
    public void multicast(byte[] payload, Set<Integer> nodes) {
        order.multicast(payload, nodes);
    }

    @Override
    public int maxPayloadBytes() {
        return order.maxPayloadBytes();
    }

    @Override
    public void truncate(long position) {
        order.truncate(position);
    }

    @Override
    public Status status() {
        return order.status();
    }

    @Override
    public void close() {
        order.close();
    }

    /** Passes everything on that an order tells. */
    static class PassingListener implements Order.Listener {
        final Order.Listener listener;

        PassingListener(Order.Listener listener) {
            this.listener = listener;
        }

        @Override
        public void delivered(long position, int sender, ByteBuffer payload) {
            listener.delivered(position, sender, payload);
        }

        @Override
        public void received(int sender, ByteBuffer payload) {
            listener.received(sender, payload);
        }

        @Override
        public void batchEnd() {
            listener.batchEnd();
        }

        @Override
        public void view(Order.View view) {
            listener.view(view);
        }

        @Override
        public void failed(Throwable cause) {
            listener.failed(cause);
        }
    }
}
