package tutti.order.batch;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import tutti.core.schema.ByteStrings;
import tutti.core.spi.DurableLog;
import tutti.runtime.Clock;

/**
 * What this node wants ordered: a bounded queue of messages, and a window of numbered batches made from it that are
 * under way to the leader. A batch stays until it is seen in the log, and is sent again after a change of leader or a
 * timeout; all later ones follow it, so that they arrive in turn. {@link #submit} may be called by any thread, the rest
 * by the loop of the order.
 */
public final class Submissions {
    /**
     * Bounds.
     *
     * @param self number of this node
     * @param queueBytes limit of what may wait to be ordered here, in bytes
     * @param batchBytes how many bytes of waiting messages are put into one batch; one longer message goes alone
     * @param batchWindow how many batches may be under way at a time
     * @param retransmitTimeout how long a batch may be under way until it is sent again
     */
    public record Limits(int self, long queueBytes, int batchBytes, int batchWindow, Duration retransmitTimeout) {}

    private record Pending(long sequence, byte[] body) {}

    private final Limits limits;
    private final long incarnation;
    private final Clock clock;
    private final IntSupplier version;
    private final Consumer<byte[]> toLeader;
    private final ConcurrentLinkedQueue<byte[]> queue = new ConcurrentLinkedQueue<>();
    private final AtomicLong queuedBytes = new AtomicLong();
    private final AtomicBoolean woken = new AtomicBoolean();
    private final ArrayDeque<Pending> underWay = new ArrayDeque<>();
    private long lastSequence;
    private long progressNanos;

    /**
     * With nothing to order.
     *
     * @param version in which all nodes can read a batch
     * @param toLeader sends a batch to the leader if there is one; may lose it
     */
    public Submissions(Limits limits, long incarnation, Clock clock, IntSupplier version, Consumer<byte[]> toLeader) {
        this.limits = limits;
        this.incarnation = incarnation;
        this.clock = clock;
        this.version = version;
        this.toLeader = toLeader;
    }

    /**
     * Queues a message.
     *
     * @return whether {@link #pump} must be called, because it has not been since the last time
     */
    public boolean submit(byte[] payload) throws DurableLog.OverflowException {
        long now = queuedBytes.addAndGet(payload.length);
        if (now > limits.queueBytes()) {
            queuedBytes.addAndGet(-payload.length);
            throw new DurableLog.OverflowException(now - payload.length, limits.queueBytes());
        }
        queue.add(payload);
        return !woken.getAndSet(true);
    }

    /** Bytes submitted and not yet delivered back. */
    public long queuedBytes() {
        return queuedBytes.get();
    }

    /** A message of this node has been handed to the listener. Any thread. */
    public void delivered(long payloadBytes) {
        queuedBytes.addAndGet(-payloadBytes);
    }

    /** Makes batches of what waits, as far as the window allows, and sends them. */
    public void pump() {
        woken.set(false);
        while (underWay.size() < limits.batchWindow()) {
            byte[] first = queue.poll();
            if (first == null) {
                return;
            }
            List<byte[]> messages = new ArrayList<>();
            messages.add(first);
            int bytes = first.length;
            for (byte[] next = queue.peek(); next != null && fits(next, messages.size(), bytes); next = queue.peek()) {
                messages.add(next);
                bytes += next.length;
                queue.remove();
            }
            if (underWay.isEmpty()) {
                progressNanos = clock.nanoTime();
            }
            byte[] body = new Batch(limits.self(), incarnation, ++lastSequence, ByteStrings.of(messages))
                    .bytes(version.getAsInt());
            underWay.add(new Pending(lastSequence, body));
            toLeader.accept(body);
        }
    }

    /** Whether a batch has room for another message; what a message takes besides its bytes counts. */
    private boolean fits(byte[] next, int messages, int bytes) {
        return bytes + next.length + ByteStrings.BYTES_EACH * (messages + 1) <= limits.batchBytes();
    }

    /** A batch of this incarnation has been ordered. */
    public void ordered(long sequence) {
        Pending first = underWay.poll();
        if (first == null || first.sequence() != sequence) {
            throw new IllegalStateException("batch " + sequence + " was ordered, but " + first + " is the next");
        }
        progressNanos = clock.nanoTime();
        pump();
    }

    /** Sends everything under way again. */
    public void resend() {
        progressNanos = clock.nanoTime();
        underWay.forEach(p -> toLeader.accept(p.body()));
        pump();
    }

    /** Whether nothing has moved for the time after which batches are sent again. */
    public boolean stalled() {
        return !underWay.isEmpty()
                && clock.nanoTime() - progressNanos > limits.retransmitTimeout().toNanos();
    }
}
