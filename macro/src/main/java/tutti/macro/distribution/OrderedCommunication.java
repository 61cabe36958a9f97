package tutti.macro.distribution;

import java.nio.ByteBuffer;
import java.util.Set;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.core.spi.Order;
import tutti.macro.WorkQueueFullException;

/**
 * Group communication over an {@link Order}. A broadcast is a message of the log. A unicast goes to its receiver alone, outside of
 * the log ({@link Group#multicast}); only while this node does not see the receiver does it go by the log, which keeps it until
 * the receiver is back, and which all other nodes ignore it in.
 *
 * <p>
 * A unicast that is under way when the receiver dies or is cut off is lost, or, if the sender did not see that yet, not sent again:
 * a request may have been executed already, so nobody repeats it. Who waits for the reply finds out by its time limit.
 */
final class OrderedCommunication implements GroupCommunication {
    private static final byte BROADCAST = 0;
    private static final byte UNICAST = 1;
    private static final int HEADER = 1 + Integer.BYTES;

    private final DurableLog log;
    private final Group group;
    private final int self;

    OrderedCommunication(Order order, int self) {
        log = order.log();
        group = order.group();
        this.self = self;
    }

    void start(long after, Receiver receiver) throws DurableLog.TruncatedException {
        group.join(new Group.Listener() {
            @Override
            public void received(int sender, ByteBuffer payload) {
                receiver.onDelivery(bytes(payload), sender, 0, false);
            }

            @Override
            public void view(Group.View view) {
                // Asked for when something is to be sent.
            }
        });
        log.start(after, new DurableLog.Reader() {
            @Override
            public void delivered(long position, int sender, ByteBuffer payload) {
                byte kind = payload.get();
                int destination = payload.getInt();
                if (kind == BROADCAST) {
                    receiver.onDelivery(bytes(payload), sender, position, true);
                } else if (destination == self) {
                    receiver.onDelivery(bytes(payload), sender, 0, false);
                }
            }

            @Override
            public void failed(Throwable cause) {
                receiver.failed(cause);
            }
        });
    }

    private static byte[] bytes(ByteBuffer payload) {
        byte[] bytes = new byte[payload.remaining()];
        payload.get(bytes);
        return bytes;
    }

    private void order(byte kind, int destination, byte[] message) {
        byte[] framed = ByteBuffer.allocate(HEADER + message.length).put(kind).putInt(destination).put(message).array();
        try {
            log.append(framed);
        } catch (DurableLog.OverflowException e) {
            WorkQueueFullException full = new WorkQueueFullException("nothing was sent: " + e.getMessage());
            full.initCause(e);
            throw full;
        }
    }

    private void checkLength(byte[] message) {
        if (message.length > log.maxPayloadBytes() - HEADER) {
            throw new EncodingException("a message of " + message.length + " bytes; the order takes up to "
                    + (log.maxPayloadBytes() - HEADER));
        }
    }

    @Override
    public void totalOrderBroadcast(byte[] message) {
        checkLength(message);
        order(BROADCAST, -1, message);
    }

    @Override
    public void reliableUnicast(byte[] message, int destination) {
        checkLength(message);
        if (destination == self || group.view().members().contains(destination)) {
            group.multicast(message, Set.of(destination));
        } else {
            order(UNICAST, destination, message);
        }
    }

    @Override
    public int localAddress() {
        return self;
    }
}
