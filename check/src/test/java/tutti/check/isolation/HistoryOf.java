package tutti.check.isolation;

import java.util.HashMap;
import java.util.Map;
import tutti.check.history.History;
import tutti.check.history.HistoryRecorder;
import tutti.core.txn.TransactionId;

/** Histories written by hand: transactions by number, keys by name. */
final class HistoryOf {
    private final HistoryRecorder recorder = new HistoryRecorder();
    private final Map<String, Long> keys = new HashMap<>();

    private static TransactionId id(int number) {
        return new TransactionId(0, number);
    }

    private long key(String name) {
        long key = keys.computeIfAbsent(name, _ -> (long) keys.size());
        recorder.name(key, name);
        return key;
    }

    HistoryOf begun(int transaction, int session, long nanos) {
        recorder.begun(id(transaction), session, nanos);
        return this;
    }

    HistoryOf read(int transaction, String key, int writer) {
        recorder.read(id(transaction), key(key), writer == 0 ? null : id(writer));
        return this;
    }

    HistoryOf write(int transaction, String... written) {
        for (String key : written) {
            recorder.write(id(transaction), key(key));
        }
        return this;
    }

    HistoryOf snapshot(int transaction, long position) {
        recorder.snapshot(id(transaction), position);
        return this;
    }

    /** At a position, 0 if it changed nothing. */
    HistoryOf commit(int transaction, long position, long nanos) {
        if (position > 0) {
            recorder.committed(id(transaction), position);
        }
        recorder.answered(id(transaction), nanos, History.Answer.COMMITTED);
        return this;
    }

    /** In the history, though nobody was told. */
    HistoryOf unanswered(int transaction, long position) {
        recorder.committed(id(transaction), position);
        return this;
    }

    HistoryOf commit(int transaction, long position) {
        return commit(transaction, position, History.NO_INSTANT);
    }

    HistoryOf abort(int transaction) {
        recorder.answered(id(transaction), History.NO_INSTANT, History.Answer.ABORTED);
        return this;
    }

    History history() {
        return recorder.history();
    }
}
