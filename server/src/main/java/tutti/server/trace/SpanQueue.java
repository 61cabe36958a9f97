package tutti.server.trace;

import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.BatchSpanProcessor;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.time.Duration;
import java.util.Collection;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Spans on their way to the collector: a bounded number, of which further ones are dropped and counted. Whoever ends a span never waits; a thread of the
 * SDK's sends them in batches.
 */
final class SpanQueue implements SpanProcessor {
    private static final Logger LOG = LoggerFactory.getLogger(SpanQueue.class);
    private static final int BATCH_SPANS = 512;
    private static final Duration BATCH_DELAY = Duration.ofSeconds(1);

    private final String collector;
    private final int spansMax;
    private final SpanCounts counts;
    private final AtomicInteger waiting = new AtomicInteger();
    private final AtomicBoolean failing = new AtomicBoolean();
    private final SpanProcessor batches;

    /**
     * An empty one.
     *
     * @param exporter sends them
     * @param collector where to, for the log
     * @param spansMax how many may wait or be under way
     */
    SpanQueue(SpanExporter exporter, String collector, int spansMax, SpanCounts counts) {
        this.collector = collector;
        this.spansMax = spansMax;
        this.counts = counts;
        // Its own bound is never reached: what it holds is waiting here too.
        this.batches = BatchSpanProcessor.builder(new Counted(exporter)).setMaxQueueSize(spansMax)
                .setMaxExportBatchSize(Math.min(spansMax, BATCH_SPANS)).setScheduleDelay(BATCH_DELAY).build();
    }

    /** Counts what becomes of spans. */
    private final class Counted implements SpanExporter {
        private final SpanExporter exporter;

        Counted(SpanExporter exporter) {
            this.exporter = exporter;
        }

        @Override
        public CompletableResultCode export(Collection<SpanData> spans) {
            int number = spans.size();
            CompletableResultCode result = exporter.export(spans);
            result.whenComplete(() -> exported(number, result));
            return result;
        }

        @Override
        public CompletableResultCode flush() {
            return exporter.flush();
        }

        @Override
        public CompletableResultCode shutdown() {
            return exporter.shutdown();
        }
    }

    private void exported(int spans, CompletableResultCode result) {
        waiting.addAndGet(-spans);
        counts.export(spans, result.isSuccess());
        if (failing.getAndSet(!result.isSuccess()) == result.isSuccess()) {
            if (result.isSuccess()) {
                LOG.info("{} takes spans again", collector);
            } else {
                LOG.warn("{} does not take spans: {}; they are lost until it does: see that it listens there, and takes"
                        + " OTLP over HTTP (tracing.endpoint)", collector,
                        String.valueOf(result.getFailureThrowable()));
            }
        }
    }

    @Override
    public void onStart(Context parent, ReadWriteSpan span) {
        // nothing is to be done yet
    }

    @Override
    public boolean isStartRequired() {
        return false;
    }

    @Override
    public void onEnd(ReadableSpan span) {
        if (waiting.incrementAndGet() > spansMax) {
            waiting.decrementAndGet();
            counts.drop();
        } else {
            batches.onEnd(span);
        }
    }

    @Override
    public boolean isEndRequired() {
        return true;
    }

    @Override
    public CompletableResultCode shutdown() {
        return batches.shutdown();
    }

    @Override
    public CompletableResultCode forceFlush() {
        return batches.forceFlush();
    }
}
