package tutti.macro.distribution;

import java.util.Optional;

/**
 * Holds received requests until they are executed (MacroDDB, section 4.2.3.2, table 4.4). Bounded: the message listener
 * waits while it is full, and so, in the end, do the senders, whose order's queue fills. Thread safe.
 */
public interface RequestQueue {
    /** {@code INSERTREQUEST(RQ)}: waits for room. Returns false if the queue has been closed. */
    boolean insertRequest(Request request);

    /** {@code GETREQUEST()}: the next request; waits for one. Empty if the queue has been closed. */
    Optional<Request> getRequest();

    /** How many requests wait. */
    int size();

    /** Ends all waiting; what is in the queue is not executed any more. */
    void close();

    /** First in, first out: what a total order must keep. */
    static RequestQueue fifo(int capacity) {
        return new BoundedRequestQueue(capacity, (_, _) -> 0);
    }

    /** Highest priority first, and first in first out among equals. Only for requests to one node, which no order binds. */
    static RequestQueue priority(int capacity) {
        return new BoundedRequestQueue(capacity, (a, b) -> Integer.compare(b.priority(), a.priority()));
    }
}
