package tutti.order.peer;

import java.nio.ByteBuffer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.order.CopiedOrder;
import tutti.runtime.Network;

/**
 * A connection that was accepted, until its first eight bytes have told what it is for: greeting a node of the order, or something
 * else ({@link CopiedOrder#VISIT}). Of the network's loop.
 */
final class Arrival implements Network.StreamListener {
    private final Network.Stream stream;
    private final Supplier<Network.@Nullable Acceptor> visits;
    private final ByteBuffer first = ByteBuffer.allocate(Long.BYTES);
    private Network.StreamListener listener;

    /**
     * One that has just been accepted.
     *
     * @param greeting hears of it, unless it is a visit
     * @param visits asked when it is one: who hears of that, null if nobody does
     */
    Arrival(Network.Stream stream, Network.StreamListener greeting, Supplier<Network.@Nullable Acceptor> visits) {
        this.stream = stream;
        this.visits = visits;
        listener = greeting;
    }

    @Override
    public void received(ByteBuffer bytes) {
        if (first.hasRemaining()) {
            while (first.hasRemaining() && bytes.hasRemaining()) {
                first.put(bytes.get());
            }
            if (first.hasRemaining()) {
                return;
            }
            if (first.getLong(0) != CopiedOrder.VISIT) {
                listener.received(first.flip());
                first.position(first.limit());
            } else {
                Network.Acceptor acceptor = visits.get();
                if (acceptor == null) {
                    stream.close();
                    return;
                }
                listener = acceptor.accepted(stream);
            }
        }
        if (bytes.hasRemaining()) {
            listener.received(bytes);
        }
    }

    @Override
    public void closed(String why) {
        listener.closed(why);
    }
}
