package tutti.engine.postgres.apply;

import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import tutti.core.spi.EngineFailure;

/**
 * How long clients' code may keep an applier from going on: a CHECK, a trigger or a schema change that sleeps, computes for ever, or waits for a lock that an
 * idle session has. Its server process is ended then, since code can go on after a cancellation, and the failure counts as the position's: another attempt
 * would take as long. The nodes decide by majority what becomes of it (docs/decisions/0065). On the applier's event loop.
 */
final class TimeLimit {
    private static final String CANCELED = "57014";
    /** Bytes of rows for which a second is added. */
    private static final int BYTES_A_SECOND = 256 << 10;

    private final EventLoop loop;
    private final Duration limit;
    private final String what;
    private final BooleanSupplier counts;
    private final Runnable end;
    private ScheduledFuture<?> timer;
    private boolean passed;

    /**
     * Begins to count.
     *
     * @param what is done, for the error
     * @param counts whether clients' code may run in what is under way; otherwise the time begins again
     * @param end ends the server process
     */
    TimeLimit(EventLoop loop, Duration limit, String what, BooleanSupplier counts, Runnable end) {
        this.loop = loop;
        this.limit = limit;
        this.what = what;
        this.counts = counts;
        this.end = end;
        this.timer = schedule();
    }

    /** The limit for so many bytes of rows. */
    static Duration forRows(Duration limit, long bytes) {
        return limit.plusSeconds(bytes / BYTES_A_SECOND);
    }

    private ScheduledFuture<?> schedule() {
        return loop.schedule(this::passes, limit.toMillis(), TimeUnit.MILLISECONDS);
    }

    private void passes() {
        if (counts.getAsBoolean()) {
            passed = true;
            end.run();
        } else {
            timer = schedule();
        }
    }

    /** It is done. */
    void over() {
        timer.cancel(false);
    }

    /** It has failed. Returns why: what passes and no clients' code can have caused is the database's trouble. */
    EngineFailure over(EngineFailure failure) {
        over();
        if (passed) {
            return new EngineFailure(CANCELED, what + " has not ended within " + limit.toSeconds() + " seconds", false);
        }
        return failure.transientFailure() && !counts.getAsBoolean()
                ? new EngineFailure(failure.sqlState(), failure.message(), EngineFailure.Kind.TROUBLE)
                : failure;
    }
}
