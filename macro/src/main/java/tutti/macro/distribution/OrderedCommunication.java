package tutti.macro.distribution;

import java.nio.ByteBuffer;
import tutti.core.spi.DurableLog;
import tutti.macro.WorkQueueFullException;

/**
 * Group communication over an ordered log alone. A unicast is an ordered message that all nodes but one ignore: reliable
 * as the order is, across crashes of either side, at the price of a broadcast. Where point-to-point messages are frequent,
 * keep them away: calls at a node that has the component need none.
 */
final class OrderedCommunication implements GroupCommunication {
    private static final byte BROADCAST = 0;
    private static final byte UNICAST = 1;
    private static final int HEADER = 1 + Integer.BYTES;

    private final DurableLog log;
    private final int self;

    OrderedCommunication(DurableLog log, int self) {
        this.log = log;
        this.self = self;
    }

    void start(long after, Receiver receiver) throws DurableLog.TruncatedException {
        log.start(after, new DurableLog.Reader() {
            @Override
            public void delivered(long position, int sender, ByteBuffer payload) {
                byte kind = payload.get();
                int destination = payload.getInt();
                if (kind == BROADCAST || destination == self) {
                    byte[] message = new byte[payload.remaining()];
                    payload.get(message);
                    receiver.onDelivery(message, sender, position, kind == BROADCAST);
                }
            }

            @Override
            public void failed(Throwable cause) {
                receiver.failed(cause);
            }
        });
    }

    private void submit(byte kind, int destination, byte[] message) {
        byte[] framed = ByteBuffer.allocate(HEADER + message.length).put(kind).putInt(destination).put(message).array();
        if (framed.length > log.maxPayloadBytes()) {
            throw new EncodingException("a message of " + message.length + " bytes; the order takes up to "
                    + (log.maxPayloadBytes() - HEADER));
        }
        try {
            log.append(framed);
        } catch (DurableLog.OverflowException e) {
            WorkQueueFullException full = new WorkQueueFullException("nothing was sent: " + e.getMessage());
            full.initCause(e);
            throw full;
        }
    }

    @Override
    public void totalOrderBroadcast(byte[] message) {
        submit(BROADCAST, -1, message);
    }

    @Override
    public void reliableUnicast(byte[] message, int destination) {
        submit(UNICAST, destination, message);
    }

    @Override
    public int localAddress() {
        return self;
    }
}
