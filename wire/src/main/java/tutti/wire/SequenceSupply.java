package tutti.wire;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.ScheduledFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.engine.postgres.capture.SequenceName;
import tutti.node.Transactions;

/**
 * Gets values of sequences for this node (docs/decisions/0030): ahead of time for those that are in use, and at once where a
 * statement has found none left. Safe for use from any thread.
 */
final class SequenceSupply implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SequenceSupply.class);
    private static final long PERIOD_MILLIS = 500;
    private final Transactions node;
    private final Capture capture;
    private final PostgresFrontEnd.SessionRegistry engine;
    private final AtomicBoolean used = new AtomicBoolean();
    private final AtomicBoolean asking = new AtomicBoolean();
    private final ScheduledFuture<?> ahead;

    SequenceSupply(Transactions node, Capture capture, PostgresFrontEnd.SessionRegistry engine, EventLoop loop) {
        this.node = node;
        this.capture = capture;
        this.engine = engine;
        this.ahead = loop.scheduleWithFixedDelay(this::supply, PERIOD_MILLIS, PERIOD_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Sessions have something to do: values may be drawn. */
    void used() {
        if (!used.getPlain()) {
            used.set(true);
        }
    }

    private void supply() {
        if (used.get() && node.refusal() == null && asking.compareAndSet(false, true)) {
            used.set(false);
            get(null, 1, _ -> asking.set(false));
        }
    }

    /**
     * A statement has failed because there was no value left.
     *
     * @param error what the engine has said
     * @param shares how many to get
     * @param done told whether there are more values now
     */
    void spent(String error, int shares, Consumer<Boolean> done) {
        get(error, shares, done);
    }

    private void get(@Nullable String error, int shares, Consumer<Boolean> done) {
        var _ = engine.wantedSequences(error).whenComplete((wanted, failed) -> {
            if (failed != null || wanted.isEmpty()) {
                done.accept(false);
                return;
            }
            List<SequenceName> sequences = wanted.stream().map(each -> each.times(shares)).toList();
            node.barrier(capture.grant(sequences), capture.grantKeys(sequences), null, new Completion<>() {
                @Override
                public void succeeded(ExecuteResult result) {
                    done.accept(result.tookEffect());
                }

                @Override
                public void failed(EngineFailure failure) {
                    LOG.debug("no values of {}: {}", sequences, failure.message());
                    done.accept(false);
                }
            });
        });
    }

    @Override
    public void close() {
        ahead.cancel(false);
    }
}
