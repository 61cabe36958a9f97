package tutti.node;

import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import tutti.core.spi.DurableLog;
import tutti.runtime.Loop;

/**
 * What this node has to say in the order, in that order. What does not fit into the log's queue waits here; bounded by the
 * sessions, each of which waits for its answer. It is tried again with each delivery, and now and then: the queue may have room only after the
 * last of these. Of the replica's loop.
 */
final class Outbox {
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final DurableLog log;
    private final Loop loop;
    private final ArrayDeque<byte[]> unsent = new ArrayDeque<>();
    private boolean triesAgain;

    Outbox(DurableLog log, Loop loop) {
        this.log = log;
        this.loop = loop;
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
                tryAgain();
                return;
            }
        }
    }

    private void tryAgain() {
        if (!triesAgain) {
            triesAgain = true;
            loop.schedule(RETRY_NANOS, () -> {
                triesAgain = false;
                flush();
            });
        }
    }
}
