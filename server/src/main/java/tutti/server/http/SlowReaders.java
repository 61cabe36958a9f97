package tutti.server.http;

import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Cuts those off who do not read what they are answered: they would hold one of the few places for ever. A thread that is interrupted while it writes to a
 * connection closes it. From any thread.
 */
final class SlowReaders implements AutoCloseable {
    /** Whoever reads more slowly than this is cut off. */
    private static final int BYTES_PER_SECOND_MIN = 64 << 10;

    private final Duration patience;
    private final ScheduledExecutorService timer = Executors
            .newSingleThreadScheduledExecutor(Thread.ofPlatform().daemon().name("admin-slow-readers").factory());

    /** @param patience how long a small answer may take to be read */
    SlowReaders(Duration patience) {
        this.patience = patience;
    }

    /** The end of an answer. */
    interface Watched extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * This thread begins to write an answer, and has time for it until what this returns is closed.
     *
     * @param bytes of the answer
     */
    Watched watch(int bytes) {
        Thread writer = Thread.currentThread();
        Future<?> end = timer.schedule(writer::interrupt,
                patience.toMillis() + TimeUnit.SECONDS.toMillis(bytes) / BYTES_PER_SECOND_MIN, TimeUnit.MILLISECONDS);
        return () -> end.cancel(false);
    }

    @Override
    public void close() {
        timer.shutdownNow();
    }
}
