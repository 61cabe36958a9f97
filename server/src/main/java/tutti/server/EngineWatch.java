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

    /** So long it may apply nothing before it is asked who holds it up, and how often that is logged then, in nanoseconds. */
    static final long HELD_UP_NANOS_MAX = 10_000_000_000L;
    static final long TOLD_AGAIN_NANOS = 600_000_000_000L;

    private final Supplier<CompletableFuture<?>> question;
    private final Supplier<CompletableFuture<String>> awaited;
    private final LongSupplier shown;
    private final LongSupplier delivered;
    private final LongSupplier nanoTime;
    private final Thread thread;
    private volatile long answered;
    private volatile @Nullable String said;
    /** The position that was visible last, and since when it is. */
    private long visible = -1;
    private long since;
    /** Who holds up what is applied, as far as is known; nothing if nobody does. */
    private volatile String holders = "";
    private long toldAt;
    private boolean told;

    /**
     * That asks nothing before {@link #start}.
     *
     * @param question fails with what the database says instead, or that it cannot be reached
     * @param awaited asks which sessions hold up what is applied, in words
     * @param shown the position that is visible in it
     * @param delivered the position up to which it should be
     * @param nanoTime the time, as {@link System#nanoTime} tells it
     */
    EngineWatch(Supplier<CompletableFuture<?>> question, Supplier<CompletableFuture<String>> awaited,
            LongSupplier shown,
            LongSupplier delivered, LongSupplier nanoTime) {
        this.question = question;
        this.awaited = awaited;
        this.shown = shown;
        this.delivered = delivered;
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

    /** Asks once, and waits for the answer; if nothing is applied, also who holds that up. Logs if there is no answer, and who it is. */
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
        String silence = silence();
        if (silence != null) {
            if (mayTell()) {
                LOG.warn("{}", silence);
            }
            return;
        }
        if (stalledNanos() <= HELD_UP_NANOS_MAX) {
            goesOn();
            return;
        }
        try {
            heldUp(awaited.get().get());
        } catch (ExecutionException failed) {
            LOG.debug("the database does not tell who holds up what is applied", failed);
        }
    }

    private void goesOn() {
        holders = "";
        if (told) {
            told = false;
            LOG.info("the node's database answers and applies what is ordered again, up to position {}",
                    shown.getAsLong());
        }
    }

    private void heldUp(String by) {
        holders = by;
        if (!by.isEmpty() && mayTell()) {
            LOG.warn(
                    "the node's database has applied nothing behind position {} for {} s, though position {} is ordered: {}",
                    shown.getAsLong(),
                    stalledNanos() / 1_000_000_000, delivered.getAsLong(), by);
        }
    }

    /** Whether nothing has been told of this trouble, or not for long; then it is. */
    private boolean mayTell() {
        long now = nanoTime.getAsLong();
        boolean may = !told || now - toldAt > TOLD_AGAIN_NANOS;
        if (may) {
            told = true;
            toldAt = now;
        }
        return may;
    }

    private @Nullable String silence() {
        long silent = nanoTime.getAsLong() - answered;
        String why = said;
        return silent > SILENCE_NANOS_MAX
                ? "the node's database has not answered for " + silent / 1_000_000_000 + " s"
                        + (why == null ? "" : " (" + why + ")") + ": it hangs, or its disk does"
                : null;
    }

    /** For how long nothing has been applied of what should be. */
    private synchronized long stalledNanos() {
        long now = nanoTime.getAsLong();
        long position = shown.getAsLong();
        if (position != visible || position >= delivered.getAsLong()) {
            visible = position;
            since = now;
        }
        return now - since;
    }

    /** Why the node is not ready for clients; null if its database works. */
    @Nullable
    String trouble() {
        long stalled = stalledNanos();
        String silence = silence();
        if (silence != null) {
            return silence + "; use another node";
        }
        String by = holders;
        return stalled > STALL_NANOS_MAX
                ? "the node's database has applied nothing behind position " + shown.getAsLong() + " for "
                        + stalled / 1_000_000_000 + " s, though position " + delivered.getAsLong() + " is ordered: "
                        + (by.isEmpty() ? "it is overloaded, or something waits for a lock" : by) + "; use another node"
                : null;
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
