package tutti.node;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
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
        /** Its client has been told that what becomes of it is in doubt. */
        private boolean doubtful;

        Request(Completion<ExecuteResult> done, boolean counted, long askedNanos) {
            this.done = done;
            this.counted = counted;
            this.askedNanos = askedNanos;
        }
    }

    private final Clock clock;
    private final NodeMetrics metrics;
    private final Map<TransactionId, Request> requests = new HashMap<>();
    /** Those that nobody has been told of yet that they are logged, in the order in which they were handed in. */
    private final Set<LoggedRequest> unlogged = new LinkedHashSet<>();
    private int backlog;
    private long unloggedBytes;

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
        if (done instanceof LoggedRequest logged) {
            unlogged.add(logged);
            backlog++;
            unloggedBytes += logged.bytes();
            metrics.requestBacklog(backlog);
        }
    }

    /** About what those take of memory that nobody has been told of yet that they are logged, in bytes. */
    long unloggedBytes() {
        return unloggedBytes;
    }

    /** Tells the clients of those that are in the order by now: the order keeps that in which they were handed in. */
    void tellLogged(Predicate<TransactionId> isLogged) {
        List<LoggedRequest> logged = new ArrayList<>(0);
        for (LoggedRequest request : unlogged) {
            if (!isLogged.test(request.ticket())) {
                break;
            }
            logged.add(request);
        }
        logged.forEach(this::noLongerUnlogged);
        logged.forEach(LoggedRequest::isLogged);
    }

    private void noLongerUnlogged(LoggedRequest request) {
        if (unlogged.remove(request)) {
            unloggedBytes -= request.bytes();
        }
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

    /**
     * Nobody can decide about them at the moment: their clients are told so, once, and hear nothing of what comes of them.
     *
     * @param told called for each
     * @param names by which clients know them
     */
    void doubtful(TransactionNames names, Runnable told) {
        List.copyOf(requests.entrySet()).forEach(each -> {
            Request request = each.getValue();
            if (!request.doubtful) {
                request.doubtful = true;
                told.run();
                request.done.failed(new EngineFailure(TransactionNames.IN_DOUBT,
                        names.inDoubt(each.getKey()) + ". " + names.howToAsk(each.getKey()), false));
            }
        });
    }

    /** Tells the client; false if there is no such request. */
    boolean answer(TransactionId id, Outcome outcome) {
        Request request = requests.remove(id);
        if (request == null) {
            return false;
        }
        if (request.done instanceof LoggedRequest logged) {
            noLongerUnlogged(logged);
            backlog--;
            metrics.requestBacklog(backlog);
        }
        request.waiters.forEach(Runnable::run);
        ExecuteResult result = request.result;
        if (request.doubtful) {
            return true;
        }
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
