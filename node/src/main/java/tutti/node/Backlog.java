package tutti.node;

import java.util.concurrent.atomic.AtomicLong;
import tutti.core.spi.DurableLog;

/**
 * Keeps the bytes that the log has delivered and that are not yet visible within bounds: has deliveries wait while there are
 * too many. Safe for use by several threads.
 */
final class Backlog {
    private final long bytesMax;
    private final DurableLog log;
    private final AtomicLong bytes = new AtomicLong();

    /** One of at most so many bytes and one message more. */
    Backlog(long bytesMax, DurableLog log) {
        this.bytesMax = bytesMax;
        this.log = log;
    }

    /** Adds what is being delivered. From inside the delivery. */
    void add(int delivered) {
        if (bytes.addAndGet(delivered) > bytesMax) {
            log.suspend();
            if (bytes.get() <= bytesMax) {
                // Room was made before deliveries were suspended; whoever made it has not resumed them after that.
                log.resume();
            }
        }
    }

    /** What is not yet visible, as of now; deliveries in between are counted from zero again. */
    void measured(long now) {
        bytes.set(now);
        if (now <= bytesMax) {
            log.resume();
        }
    }
}
