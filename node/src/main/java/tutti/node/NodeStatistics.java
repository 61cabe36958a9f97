package tutti.node;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongConsumer;

/** What a replica counts. Counters only grow; any thread may read them. */
public final class NodeStatistics {
    private final LongAdder committed = new LongAdder();
    private final LongAdder readOnly = new LongAdder();
    private final LongAdder replayed = new LongAdder();
    private final LongAdder throttled = new LongAdder();
    private final Map<String, LongAdder> aborted = new ConcurrentHashMap<>();
    private volatile LongConsumer commitLatency = _ -> {};

    /** Local transactions that wrote and committed. */
    public long committed() {
        return committed.sum();
    }

    /** Local transactions that ended without having written anything. */
    public long readOnly() {
        return readOnly.sum();
    }

    /** Local transactions whose write set was applied in their place because a lock of theirs stood in the way. */
    public long replayed() {
        return replayed.sum();
    }

    /** How often a message had to wait because the order's queue was full. */
    public long throttled() {
        return throttled.sum();
    }

    /** Local transactions that were aborted, by {@linkplain tutti.core.txn.AbortReason#label cause}. */
    public Map<String, Long> aborted() {
        Map<String, Long> sums = new TreeMap<>();
        aborted.forEach((cause, count) -> sums.put(cause, count.sum()));
        return sums;
    }

    /** Sets who is told the nanoseconds from a commit's request to its answer; called on the event loop. */
    public void onCommitLatency(LongConsumer nanos) {
        commitLatency = nanos;
    }

    void countCommitted(long nanos) {
        committed.increment();
        commitLatency.accept(nanos);
    }

    void countReadOnly() {
        readOnly.increment();
    }

    void countReplayed() {
        replayed.increment();
    }

    void countThrottled() {
        throttled.increment();
    }

    void countAborted(String cause) {
        aborted.computeIfAbsent(cause, _ -> new LongAdder()).increment();
    }
}
