package tutti.pgwire;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Cancels what a connection's server runs, so that it is cancelled indeed and nobody waits for ever. On the connection's event loop.
 *
 * <p>
 * <b>Why one request is not enough.</b> PostgreSQL ignores a request that reaches the process while it reads: before the statement that has been
 * sent to it, and on a busy machine that is some time. The statement then runs, and may wait for a lock that nobody gives back who waits for this
 * one's end. A request can also fail to get to the server at all. So {@link #until} asks again until there is nothing to cancel.
 *
 * <p>
 * <b>Bounds.</b> A request that the server has not dealt with after {@link #REQUEST_MAX} is given up. It may then still come, at whatever runs by
 * that time: {@link #takeLate} tells.
 */
public final class Cancellation {
    /** How long a request may take, from connecting to the server's closing of its connection. */
    public static final Duration REQUEST_MAX = Duration.ofSeconds(1);
    private static final int AGAIN_MILLIS = 50;
    private static final int AGAIN_MILLIS_MAX = 1_000;
    /** How often a server is asked that is not heard any more. */
    private static final int LAST_TIMES = 4;

    private final BackendConnection connection;
    private int underWay;
    private int asking;
    private boolean late;
    private @Nullable Runnable afterwards;

    /** Of what a connection runs; none is asked for yet. */
    public Cancellation(BackendConnection connection) {
        this.connection = connection;
    }

    /** Asks, and asks again until this holds, or {@link #stop}. */
    public void until(BooleanSupplier over) {
        ask(++asking, () -> over.getAsBoolean() || !connection.channel().isActive(), AGAIN_MILLIS);
    }

    /** Asks some times, though it will not be heard whether it was of use: the connection is about to be closed. */
    public void last() {
        int[] left = {LAST_TIMES};
        ask(++asking, () -> left[0]-- == 0, AGAIN_MILLIS);
    }

    /** Does not ask again. */
    public void stop() {
        asking++;
    }

    private void ask(int own, BooleanSupplier over, int pauseMillis) {
        if (own != asking || over.getAsBoolean()) {
            return;
        }
        CompletableFuture<Void> _ = once().thenRun(() -> connection.eventLoop().schedule(
                () -> ask(own, over, Math.min(2 * pauseMillis, AGAIN_MILLIS_MAX)), pauseMillis, TimeUnit.MILLISECONDS));
    }

    /** Asks once. Completed when the server has passed the request on to the process, or will not. */
    public CompletableFuture<Void> once() {
        underWay++;
        return connection.cancel(REQUEST_MAX).thenAccept(dealtWith -> {
            underWay--;
            late |= !dealtWith;
            Runnable waiting = afterwards;
            if (underWay == 0 && waiting != null) {
                afterwards = null;
                waiting.run();
            }
        });
    }

    /** Whether no request is under way. */
    public boolean none() {
        return underWay == 0;
    }

    /**
     * Runs this once no request is under way, at the latest after {@link #REQUEST_MAX}; in place of what was to be run then. Only if one is
     * under way.
     */
    public void whenNone(Runnable task) {
        afterwards = task;
    }

    /** Whether a request has been given up that may still come; not any more, after this. */
    public boolean takeLate() {
        boolean taken = late;
        late = false;
        return taken;
    }
}
