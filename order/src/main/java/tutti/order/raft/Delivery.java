package tutti.order.raft;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Order;

/**
 * Hands what is committed to the listener, on a thread of its own. It reads the log from where it stands to where it is
 * committed, so a slow listener costs no memory and holds up nobody else.
 */
final class Delivery {
    private static final Logger LOGGER = LoggerFactory.getLogger(Delivery.class);
    private static final int ENTRIES_PER_TURN = 64;

    /** Something outside of the order. */
    private record Letter(int sender, ByteBuffer payload) {}

    private final SegmentedLog log;
    private final Order.Listener listener;
    private final Submissions submissions;
    private final int self;
    private final long incarnation;
    private final long after;
    private final SenderTable table;
    private long index;
    private final Thread thread;
    private final Consumer<Throwable> onFailure;

    private volatile long committed;
    private final ConcurrentLinkedQueue<Letter> letters = new ConcurrentLinkedQueue<>();
    private final AtomicReference<Order.@Nullable View> view = new AtomicReference<>();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private volatile boolean closed;
    private volatile long lastDelivered;

    /**
     * Will deliver the positions after {@code after}, which the checkpoint must not lie beyond.
     *
     * @param onFailure told what the log or the listener threw
     */
    Delivery(RaftOrderConfig config, SegmentedLog log, Checkpoints.Checkpoint from, long after, long incarnation,
            Submissions submissions, Order.Listener listener, Consumer<Throwable> onFailure) {
        this.onFailure = onFailure;
        this.log = log;
        this.listener = listener;
        this.submissions = submissions;
        this.after = after;
        this.incarnation = incarnation;
        self = config.self();
        table = from.table();
        index = from.index();
        committed = index;
        thread = Thread.ofPlatform().daemon().name("order-" + self + "-deliver").unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    /** The log is committed up to this entry. */
    void committed(long upTo) {
        committed = upTo;
        LockSupport.unpark(thread);
    }

    void view(Order.View now) {
        view.set(now);
        LockSupport.unpark(thread);
    }

    /** A node has sent something outside of the order. */
    void received(int sender, ByteBuffer payload) {
        letters.add(new Letter(sender, payload));
        LockSupport.unpark(thread);
    }

    /** Ends delivery with a call of {@link Order.Listener#failed}; the first cause counts. */
    void fail(Throwable cause) {
        if (failure.compareAndSet(null, cause)) {
            LockSupport.unpark(thread);
        }
    }

    /** Highest position handed over, 0 if none. */
    long lastDelivered() {
        return lastDelivered;
    }

    /** No call of the listener begins after this returns; one may be running if it is the caller. */
    void close() throws InterruptedException {
        closed = true;
        LockSupport.unpark(thread);
        if (!Thread.currentThread().equals(thread)) {
            thread.join();
        }
    }

    private void run() {
        try {
            while (!closed) {
                Throwable cause = failure.get();
                if (cause != null) {
                    listener.failed(cause);
                    return;
                }
                Order.View changed = view.getAndSet(null);
                if (changed != null) {
                    listener.view(changed);
                }
                for (Letter letter = letters.poll(); letter != null && !closed; letter = letters.poll()) {
                    listener.received(letter.sender(), letter.payload());
                }
                if (index < committed) {
                    deliver(Math.min(committed, index + ENTRIES_PER_TURN));
                } else if (changed == null) {
                    LockSupport.park(this);
                }
            }
        } catch (IOException | RuntimeException e) {
            if (!closed) {
                LOGGER.error("delivery at node {} ends after position {}", self, lastDelivered, e);
                onFailure.accept(e);
                listener.failed(e);
            }
        }
    }

    private void deliver(long upTo) throws IOException {
        boolean any = false;
        while (index < upTo && !closed) {
            LogEntry entry = log.read(index + 1);
            index++;
            if (entry.kind() == LogEntry.BATCH) {
                any |= deliver(ByteBuffer.wrap(entry.body()).asReadOnlyBuffer());
            }
        }
        if (any && !closed) {
            listener.batchEnd();
        }
    }

    private boolean deliver(ByteBuffer batch) {
        int sender = Batch.sender(batch);
        int messages = Batch.messages(batch);
        long first = table.accept(sender, Batch.incarnation(batch), Batch.sequence(batch), messages);
        if (first == 0) {
            return false;
        }
        long bytes = 0;
        int at = Batch.HEADER_BYTES;
        for (long position = first; position < first + messages; position++) {
            int length = batch.getInt(at);
            at += Batch.MESSAGE_HEADER_BYTES;
            if (position > after && !closed) {
                listener.delivered(position, sender, batch.slice(at, length));
                lastDelivered = position;
            }
            at += length;
            bytes += length;
        }
        if (sender == self && Batch.incarnation(batch) == incarnation) {
            submissions.delivered(bytes);
        }
        return true;
    }
}
