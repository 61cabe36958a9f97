package tutti.node;

import java.util.ArrayDeque;
import tutti.core.spi.DurableLog;

/**
 * What this node has to say in the order, in that order. What does not fit into the log's queue waits here; bounded by the
 * sessions, each of which waits for its answer. Of the replica's loop.
 */
final class Outbox {
    private final DurableLog log;
    private final ArrayDeque<byte[]> unsent = new ArrayDeque<>();

    Outbox(DurableLog log) {
        this.log = log;
    }

    /** Has a message ordered, behind those before it. */
    void send(byte[] payload) {
        unsent.add(payload);
        flush();
    }

    /** Hands over what the log's queue has room for. */
    void flush() {
        while (!unsent.isEmpty()) {
            try {
                log.append(unsent.peek());
                unsent.remove();
            } catch (DurableLog.OverflowException full) {
                return;
            }
        }
    }
}
