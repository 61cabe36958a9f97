package tutti.node;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.node.metrics.NodeMetrics;
import tutti.runtime.Clock;

/** Requests that every replica or an owner executes and for which a client of this node waits. Of the replica's loop. */
final class ActiveRequestTable {
    /** SQLSTATE of a change that this replica may not make under its protocol. */
    private static final String READ_ONLY = "25006";

    private static final class Request {
        private final Completion<ExecuteResult> done;
        private final boolean counted;
        private final long askedNanos;
        private final List<Runnable> waiters = new ArrayList<>(0);
        private @Nullable ExecuteResult result;

        Request(Completion<ExecuteResult> done, boolean counted, long askedNanos) {
            this.done = done;
            this.counted = counted;
            this.askedNanos = askedNanos;
        }
    }

    private final Clock clock;
    private final NodeMetrics metrics;
    private final Map<TransactionId, Request> requests = new HashMap<>();

    ActiveRequestTable(Clock clock, NodeMetrics metrics) {
        this.clock = clock;
        this.metrics = metrics;
    }

    boolean isEmpty() {
        return requests.isEmpty();
    }

    boolean contains(TransactionId id) {
        return requests.containsKey(id);
    }

    /**
     * One is handed to the protocol.
     *
     * @param counted whether it counts among transactions
     */
    void add(TransactionId id, Completion<ExecuteResult> done, boolean counted) {
        requests.put(id, new Request(done, counted, clock.nanoTime()));
    }

    /** Runs something when a request has been answered; false if there is no such request. */
    boolean whenAnswered(TransactionId id, Runnable waiter) {
        Request request = requests.get(id);
        if (request == null) {
            return false;
        }
        request.waiters.add(waiter);
        return true;
    }

    /** One has been executed here; nothing happens if there is no such request. */
    void executed(TransactionId id, ExecuteResult result) {
        Request request = requests.get(id);
        if (request != null) {
            request.result = result;
        }
    }

    /** What one has changed is left out everywhere; nothing happens if there is no such request. */
    void leftOut(TransactionId id, EngineFailure why) {
        executed(id, new ExecuteResult(why, new byte[0]));
    }

    /** Tells the client; false if there is no such request. */
    boolean answer(TransactionId id, Outcome outcome) {
        Request request = requests.remove(id);
        if (request == null) {
            return false;
        }
        request.waiters.forEach(Runnable::run);
        ExecuteResult result = request.result;
        if (result != null) {
            if (request.counted && result.tookEffect()) {
                metrics.committed(clock.nanoTime() - request.askedNanos);
            }
            request.done.succeeded(result);
        } else if (outcome instanceof Outcome.Aborted(AbortReason.Refused refused)) {
            request.done.failed(new EngineFailure(READ_ONLY, refused.why(), false));
        } else {
            request.done.failed(new EngineFailure("40001", "the statement was not executed: " + outcome, true));
        }
        return true;
    }
}
