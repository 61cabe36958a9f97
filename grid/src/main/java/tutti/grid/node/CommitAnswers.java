package tutti.grid.node;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tutti.core.txn.TransactionId;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.commit.Result;

/** Who waits for the outcome of a commit. On the node's loop. */
final class CommitAnswers {
    private final GridConfig config;
    private final Map<TransactionId, Waiting> waiting = new LinkedHashMap<>();

    private record Waiting(GridTransaction.Answer<Result> answer, long deadlineNanos) {}

    CommitAnswers(GridConfig config) {
        this.config = config;
    }

    int size() {
        return waiting.size();
    }

    /** Somebody waits, as long as an operation may take. */
    void add(TransactionId id, GridTransaction.Answer<Result> answer, long nowNanos) {
        waiting.put(id, new Waiting(answer, nowNanos + config.operationTimeout().toNanos()));
    }

    void ended(TransactionId id, Result result) {
        Waiting one = waiting.remove(id);
        if (one != null) {
            one.answer.is(result);
        }
    }

    void expire(long nowNanos) {
        List<Waiting> expired = new ArrayList<>();
        waiting.values().removeIf(one -> one.deadlineNanos - nowNanos <= 0 && expired.add(one));
        expired.forEach(one -> one.answer.failed(Reads.timeout(config,
                "a commit, which may have happened or may happen yet,")));
    }

    /** The node has ended. */
    void fail(GridException why) {
        List<Waiting> all = List.copyOf(waiting.values());
        waiting.clear();
        all.forEach(one -> one.answer.failed(why));
    }
}
