package tutti.sim.world.order;

import java.nio.ByteBuffer;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.core.spi.Order;

/** Passes everything on between a node and its order: for whoever stands between the two and changes or notes a part of it. */
public class PassingOrder implements Order, DurableLog {
    private final Order order;

    /** In front of an order. */
    public PassingOrder(Order order) {
        this.order = order;
    }

    /** What the log tells instead of the node's reader. */
    protected Reader between(Reader reader) {
        return reader;
    }

    @Override
    public DurableLog log() {
        return this;
    }

    @Override
    public Group group() {
        return order.group();
    }

    @Override
    public void start(long after, Reader reader) throws TruncatedException {
        order.log().start(after, between(reader));
    }

    @Override
    public void append(byte[] payload) throws OverflowException {
        order.log().append(payload);
    }

    @Override
    public int maxPayloadBytes() {
        return order.log().maxPayloadBytes();
    }

    @Override
    public void suspend() {
        order.log().suspend();
    }

    @Override
    public void resume() {
        order.log().resume();
    }

    @Override
    public void truncate(long position) {
        order.log().truncate(position);
    }

    @Override
    public Status status() {
        return order.log().status();
    }

    @Override
    public void close() {
        order.close();
    }

    /** Passes everything on that a log tells. */
    public static class PassingReader implements DurableLog.Reader {
        /** That is told. */
        protected final DurableLog.Reader reader;

        /** In front of a reader. */
        public PassingReader(DurableLog.Reader reader) {
            this.reader = reader;
        }

        @Override
        public void delivered(long position, int sender, ByteBuffer payload) {
            reader.delivered(position, sender, payload);
        }

        @Override
        public void tentative(int sender, ByteBuffer payload) {
            reader.tentative(sender, payload);
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
