package tutti.server;

import java.io.Closeable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.pgwire.PostgresException;

/**
 * Tells whether a node's database works: it answers a question, which is asked every two seconds and on a new connection as a client has it,
 * and it applies what is ordered. A server that stands still, or whose disk does, says nothing by itself; so a node before it would be taken for ready.
 */
final class EngineWatch implements Closeable {
    /** So long it may give no answer, in nanoseconds. */
    static final long SILENCE_NANOS_MAX = 5_000_000_000L;
    /** So long it may apply nothing of what is ordered, in nanoseconds: a large transaction takes some seconds. */
    static final long STALL_NANOS_MAX = 15_000_000_000L;
    private static final Logger LOG = LoggerFactory.getLogger(EngineWatch.class);
    private static final long PERIOD_MILLIS = 2000;

    private final Supplier<CompletableFuture<?>> question;
    private final LongSupplier nanoTime;
    private final Thread thread;
    private volatile long answered;
    private volatile @Nullable String said;
    /** The position that was visible last, and since when it is. */
    private long visible = -1;
    private long since;

    /**
     * That asks nothing before {@link #start}.
     *
     * @param question fails with what the database says instead, or that it cannot be reached
     * @param nanoTime the time, as {@link System#nanoTime} tells it
     */
    EngineWatch(Supplier<CompletableFuture<?>> question, LongSupplier nanoTime) {
        this.question = question;
        this.nanoTime = nanoTime;
        answered = nanoTime.getAsLong();
        since = answered;
        thread = Thread.ofPlatform().daemon().name("tutti-engine-watch").unstarted(this::run);
    }

    /** Begins. */
    EngineWatch start() {
        thread.start();
        return this;
    }

    private void run() {
        try {
            while (!Thread.currentThread().isInterrupted()) {
                ask();
                Thread.sleep(PERIOD_MILLIS);
            }
        } catch (InterruptedException stopping) {
            LOG.debug("the database is not watched any more", stopping);
        }
    }

    /** Asks once, and waits for the answer. */
    void ask() throws InterruptedException {
        try {
            question.get().get();
            answered = nanoTime.getAsLong();
            said = null;
        } catch (ExecutionException failed) {
            Throwable cause = failed.getCause();
            if (cause instanceof PostgresException) {
                // It speaks: that there are too many connections, for one. That is not for the node to judge.
                answered = nanoTime.getAsLong();
                said = null;
            } else {
                said = String.valueOf(cause == null ? failed.getMessage() : cause.getMessage());
            }
        }
    }

    /**
     * Why the node is not ready for clients; null if its database works.
     *
     * @param shown the position that is visible in it
     * @param delivered the position up to which it should be
     */
    synchronized @Nullable String trouble(long shown, long delivered) {
        long now = nanoTime.getAsLong();
        if (shown != visible || shown >= delivered) {
            visible = shown;
            since = now;
        }
        long silent = now - answered;
        if (silent > SILENCE_NANOS_MAX) {
            String why = said;
            return "the node's database has not answered for " + silent / 1_000_000_000 + " s"
                    + (why == null ? "" : " (" + why + ")") + ": it hangs, or its disk does; use another node";
        }
        return now - since > STALL_NANOS_MAX
                ? "the node's database has applied nothing behind position " + shown + " for "
                        + (now - since) / 1_000_000_000 + " s, though position " + delivered
                        + " is ordered: it is overloaded, or something waits for a lock; use another node"
                : null;
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
