package tutti.server.trace;

import java.util.concurrent.atomic.LongAdder;

/** What has become of spans that a node has recorded. Any thread. */
public final class SpanCounts {
    private final LongAdder exported = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private final LongAdder dropped = new LongAdder();

    /** None so far. */
    public SpanCounts() {}

    void export(int spans, boolean taken) {
        (taken ? exported : failed).add(spans);
    }

    void drop() {
        dropped.increment();
    }

    /** Those that the collector has taken. */
    public long exported() {
        return exported.sum();
    }

    /** Those that it has not taken. */
    public long failed() {
        return failed.sum();
    }

    /** Those for which there was no room. */
    public long dropped() {
        return dropped.sum();
    }
}
