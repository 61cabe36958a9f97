package tutti.macro.distribution;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import tutti.macro.WorkQueueFullException;

/** The requests of this node that wait for their replies: at most so many. Thread safe. */
final class PendingReplies {
    private final int node;
    private final int max;
    private final long session = ThreadLocalRandom.current().nextLong();
    private final AtomicLong numbers = new AtomicLong();
    private final Map<RequestId, CompletableFuture<Response>> waiting = new ConcurrentHashMap<>();
    private volatile @Nullable RuntimeException failure;

    PendingReplies(int node, int max) {
        this.node = node;
        this.max = max;
    }

    /** Most requests that wait. */
    int max() {
        return max;
    }

    /** Throws what the node failed with, if it has. */
    void check() {
        RuntimeException failed = failure;
        if (failed != null) {
            throw failed;
        }
    }

    /** For the next request; throws what the node failed with, if it has. */
    RequestId nextId() {
        check();
        if (waiting.size() >= max) {
            throw new WorkQueueFullException(waiting.size() + " requests of node " + node + " wait for replies");
        }
        return new RequestId(node, session, numbers.incrementAndGet());
    }

    CompletableFuture<Response> await(RequestId id) {
        CompletableFuture<Response> reply = new CompletableFuture<>();
        waiting.put(id, reply);
        RuntimeException failed = failure;
        if (failed != null) {
            reply.completeExceptionally(failed);
        }
        // However it ends, also if the caller gives up.
        reply.whenComplete((_, _) -> waiting.remove(id));
        return reply;
    }

    /** Whether this node asked in this life and still waits. */
    boolean waits(RequestId id) {
        return waiting.containsKey(id);
    }

    /** Replies to one that nobody waits for are dropped, such as those of further nodes to the same request. */
    void complete(RequestId id, Response response) {
        CompletableFuture<Response> reply = waiting.remove(id);
        if (reply != null) {
            reply.complete(response);
        }
    }

    void failAll(RuntimeException cause) {
        failure = cause;
        waiting.values().forEach(reply -> reply.completeExceptionally(cause));
    }
}
