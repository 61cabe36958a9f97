package tutti.sim.world.node;

import java.nio.ByteBuffer;
import tutti.core.spi.Order;
import tutti.sim.world.order.PassingOrder;

/** Has it taken down what a node asks its order for and is given by it: each message bears a number of its own. */
final class RecordingOrder extends PassingOrder {
    private static final int NUMBER_BYTES = Long.BYTES;

    /** Hears of it. */
    interface Tap {
        /** The node begins to read behind a position. */
        void started(long after);

        /** A message is about to be handed in; answers the number that it shall have. */
        long sends();

        /** It was handed in. */
        void sent(long message);

        /** What is up to a position may be forgotten. */
        void forgets(long position);

        /** A message was delivered. */
        void delivered(long position, long message);
    }

    private final Tap tap;

    RecordingOrder(Order order, Tap tap) {
        super(order);
        this.tap = tap;
    }

    @Override
    public void start(long after, Reader reader) throws TruncatedException {
        tap.started(after);
        super.start(after, reader);
    }

    @Override
    protected Reader between(Reader right) {
        return new PassingReader(right) {
            @Override
            public void delivered(long position, int sender, ByteBuffer payload) {
                tap.delivered(position, payload.getLong());
                super.delivered(position, sender, payload);
            }

            @Override
            public void tentative(int sender, ByteBuffer payload) {
                payload.getLong();
                super.tentative(sender, payload);
            }
        };
    }

    @Override
    public void append(byte[] payload) throws OverflowException {
        long message = tap.sends();
        super.append(ByteBuffer.allocate(NUMBER_BYTES + payload.length).putLong(message).put(payload).array());
        tap.sent(message);
    }

    @Override
    public void truncate(long position) {
        tap.forgets(position);
        super.truncate(position);
    }

    @Override
    public int maxPayloadBytes() {
        return super.maxPayloadBytes() - NUMBER_BYTES;
    }
}
