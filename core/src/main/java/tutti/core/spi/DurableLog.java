package tutti.core.spi;

import java.nio.ByteBuffer;

/**
 * A log of messages that all nodes append to and that all nodes read in the same order: validity, uniform integrity, uniform
 * agreement, uniform total order, and a durable position to resume from. One instance is one node's part
 * in it.
 *
 * <p>
 * <b>Threads.</b> {@link #append}, {@link #resume}, {@link #truncate} and {@link #status} may be called from any thread. The
 * reader is called one call at a time.
 */
public interface DurableLog extends AutoCloseable {
    /**
     * Begins to read. Called once. Deliveries begin with the first position after {@code after}.
     *
     * @param after last position that this node does not need again, at least {@code status().firstRetained() - 1}
     * @throws TruncatedException if the log has been truncated beyond {@code after}
     */
    void start(long after, Reader reader) throws TruncatedException;

    /**
     * Asks for a message to be ordered. Messages of one node are delivered in the order in which it appended them,
     * each exactly once as long as the node lives; those not delivered when it dies are delivered once or never.
     * What is appended while there is no majority waits in the queue.
     *
     * @param payload at most {@link #maxPayloadBytes()}; must not be modified afterwards
     * @throws OverflowException if the bounded queue of this node is full; nothing was queued
     */
    void append(byte[] payload) throws OverflowException;

    /** Largest payload that {@link #append} takes, in bytes. */
    int maxPayloadBytes();

    /**
     * Has deliveries wait: none begins after this returns, until {@link #resume}. For a reader that cannot take more. Called by
     * the reader, from inside a call of it. Without effect if deliveries wait already.
     */
    void suspend();

    /** Has deliveries go on after {@link #suspend}; without effect if they do not wait. */
    void resume();

    /**
     * Allows the log to forget messages: called when every replica has durably applied everything up to
     * {@code position}. Takes effect when convenient.
     */
    void truncate(long position);

    /** What an operator wants to know. Cheap. */
    Status status();

    /** Leaves. No call of the reader begins after it returns. What was appended and not delivered may yet be ordered. */
    @Override
    void close();

    /** Receives what was ordered. */
    interface Reader {
        /**
         * The next message of the log; positions count from 1 without gaps.
         *
         * @param payload valid during the call only
         */
        void delivered(long position, int sender, ByteBuffer payload);

        /**
         * A message will most likely be delivered soon, and those told of so in about this order. Not every log can tell, and
         * it may be wrong. Told of nothing while deliveries wait.
         *
         * @param payload valid during the call only
         */
        default void tentative(int sender, ByteBuffer payload) {}

        /** A batch of deliveries has been handed over; more may follow at any time. */
        default void batchEnd() {}

        /** The log cannot go on at this node (its disk failed, it is damaged). Told at most once, and last. */
        void failed(Throwable cause);
    }

    /**
     * A look at the log from one node.
     *
     * @param lastDelivered highest position handed to the reader, 0 if none
     * @param lastKnown highest position known to be ordered, at least {@code lastDelivered}
     * @param firstRetained lowest position that the log still holds
     * @param queuedBytes bytes appended here and not yet delivered back
     * @param logBytes bytes that the log takes on disk
     */
    record Status(long lastDelivered, long lastKnown, long firstRetained, long queuedBytes, long logBytes) {
        /** Of a log that does not exist yet. */
        public static final Status NONE = new Status(0, 0, 0, 0, 0);
    }

    /** The log no longer holds what was asked for: the node needs a copy of the state. */
    final class TruncatedException extends Exception {
        private static final long serialVersionUID = 1;

        /** Says what was asked for and what there is. */
        public TruncatedException(long after, long firstRetained) {
            super("the order's log begins at position " + firstRetained + " but this node needs position " + (after + 1)
                    + ": it was away for longer than the other nodes keep their log (order.retention-bytes,"
                    + " order.retention-time), and needs a copy of another node's data (docs/operations.md)");
        }
    }

    /** The node's queue of messages to be ordered is full. */
    final class OverflowException extends Exception {
        private static final long serialVersionUID = 1;

        /** Says how full. */
        public OverflowException(long queuedBytes, long limitBytes) {
            super(queuedBytes + " bytes wait to be ordered, the limit is " + limitBytes);
        }
    }
}
