package tutti.core.spi;

import java.nio.ByteBuffer;
import java.util.Set;

/**
 * A durable total order of messages: validity, uniform integrity, uniform agreement, uniform total order, and a durable
 * position to resume from (DESIGN section 5). One instance is one node's part in it.
 *
 * <p>
 * Thread rules: {@link #submit}, {@link #multicast}, {@link #prefer}, {@link #truncate} and {@link #status} may be called from any thread; the
 * listener is called from one thread at a time.
 */
public interface Order extends AutoCloseable {
    /**
     * Joins the order. Called once. Deliveries begin with the first position after {@code after}.
     *
     * @param after last position that this node does not need again, at least {@code status().firstRetained() - 1}
     * @throws TruncatedException if the log has been truncated beyond {@code after}
     */
    void start(long after, Listener listener) throws TruncatedException;

    /**
     * Asks for a message to be ordered. Messages of one node are delivered in the order in which it submitted them,
     * each exactly once as long as the node lives; those not delivered when it dies are delivered once or never.
     * Submissions made while there is no majority wait in the queue.
     *
     * @param payload at most {@link #maxPayloadBytes()}; must not be modified afterwards
     * @throws OverflowException if the bounded queue of this node is full; nothing was queued
     */
    void submit(byte[] payload) throws OverflowException;

    /** Largest payload that {@link #submit} takes, in bytes. */
    int maxPayloadBytes();

    /**
     * Sends a message to some nodes outside of the order: soon, and reliably as long as this node and the receiver live
     * and can reach each other; otherwise it may be lost. Messages between two nodes are received in the order in which
     * they were sent, each at most once; nothing is promised about several nodes, or about messages that are ordered.
     *
     * @param payload at most {@link #maxPayloadBytes()}; must not be modified afterwards
     * @param nodes members of the group; this one may be among them
     */
    void multicast(byte[] payload, Set<Integer> nodes);

    /**
     * Advice: nothing is ordered faster than one of these nodes answers, so one of them should lead. Empty if it does not
     * matter. An order without leader, or whose leader cannot change, takes no notice.
     */
    default void prefer(Set<Integer> nodes) {}

    /**
     * Allows the order to forget messages: called when every replica has durably applied everything up to
     * {@code position}. Takes effect when convenient.
     */
    void truncate(long position);

    /** What an operator wants to know. Cheap. */
    Status status();

    /** Leaves. No listener call begins after it returns. What was submitted and not delivered may yet be ordered. */
    @Override
    void close();

    /** Receives what was ordered. */
    interface Listener {
        /**
         * The next message of the order; positions count from 1 without gaps.
         *
         * @param payload valid during the call only
         */
        void delivered(long position, int sender, ByteBuffer payload);

        /**
         * A message came by {@link Order#multicast}.
         *
         * @param payload valid during the call only
         */
        default void received(int sender, ByteBuffer payload) {}

        /** A batch of deliveries has been handed over; more may follow at any time. */
        default void batchEnd() {}

        /** Membership or reachability changed. Told once soon after start, then upon every change. */
        void view(View view);

        /** The order cannot go on at this node (its disk failed, its log is damaged). Told at most once, and last. */
        void failed(Throwable cause);
    }

    /**
     * Who can be reached.
     *
     * @param members nodes believed alive, this one included
     * @param majority whether this node can have messages ordered now
     * @param leader the node that orders, or -1 if there is none
     */
    record View(Set<Integer> members, boolean majority, int leader) {}

    /**
     * A look at the order from one node.
     *
     * @param view as last told to the listener
     * @param lastDelivered highest position handed to the listener, 0 if none
     * @param lastKnown highest position known to be ordered, at least {@code lastDelivered}
     * @param firstRetained lowest position that the log still holds
     * @param queuedBytes bytes submitted here and not yet delivered back
     * @param logBytes bytes that the log takes on disk
     */
    record Status(View view, long lastDelivered, long lastKnown, long firstRetained, long queuedBytes, long logBytes) {}

    /** The log no longer holds what was asked for: the node needs a copy of the state. */
    final class TruncatedException extends Exception {
        private static final long serialVersionUID = 1;

        /** Says what was asked for and what there is. */
        public TruncatedException(long after, long firstRetained) {
            super("the order's log begins at position " + firstRetained + " but this node needs position " + (after + 1)
                    + ": copy the database and the applied position from a live node, then start again");
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
