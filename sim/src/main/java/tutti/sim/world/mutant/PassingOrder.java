package tutti.sim.world.mutant;

import java.nio.ByteBuffer;
import java.util.Set;
import tutti.core.spi.DurableLog;
import tutti.sim.world.order.SimOrder;

/** Passes everything on between a replica and its order. */
class PassingOrder implements SimOrder {
    private final SimOrder order;

    PassingOrder(SimOrder order) {
        this.order = order;
    }

    /** What the replica is told instead. */
    Reader between(Reader reader) {
        return reader;
    }

    @Override
    public void onTentative(Tentative listener) {
        order.onTentative(listener);
    }

    @Override
    public void join(Listener listener) {
        order.join(listener);
    }

    @Override
    public void start(long after, Reader reader) throws TruncatedException {
        order.start(after, between(reader));
    }

    @Override
    public void append(byte[] payload) throws OverflowException {
        order.append(payload);
    }

    @Override
    public void suspend() {
        order.suspend();
    }

    @Override
    public void resume() {
        order.resume();
    }

    @Override
    public View view() {
        return order.view();
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

    /** Passes everything on that a log tells. */
    static class PassingReader implements DurableLog.Reader {
        final DurableLog.Reader reader;

        PassingReader(DurableLog.Reader reader) {
            this.reader = reader;
        }

        @Override
        public void delivered(long position, int sender, ByteBuffer payload) {
            reader.delivered(position, sender, payload);
        }

        @Override
        public void batchEnd() {
            reader.batchEnd();
        }

        @Override
        public void failed(Throwable cause) {
            reader.failed(cause);
        }
    }
}
