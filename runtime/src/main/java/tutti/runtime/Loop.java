package tutti.runtime;

import java.util.concurrent.Executor;

/**
 * Runs tasks one at a time, in the order in which they were handed in. Safe for use by several threads.
 *
 * <p>
 * A task handed in from inside a task is queued, never nested. A task that throws closes the loop, and whoever opened it is
 * told: state that may be half changed must not be used any further.
 */
public interface Loop extends Executor, AutoCloseable {
    /** Hands a task in. After {@link #close} it is dropped. */
    @Override
    void execute(Runnable task);

    /**
     * Hands a task in and, where that saves waking another thread, runs it before returning, together with what waits before
     * it. The caller holds no lock that any task needs.
     */
    default void run(Runnable task) {
        execute(task);
    }

    /**
     * Hands a task in after a delay.
     *
     * @param delayNanos at least 0; by {@link Clock#nanoTime}, never shorter
     */
    Timer schedule(long delayNanos, Runnable task);

    /** Whether the caller is inside a task of this loop. */
    boolean isCurrent();

    /**
     * No task begins afterwards. Returns when the one that runs has ended, unless it is the caller. What has been handed in
     * and has not begun is dropped.
     */
    @Override
    void close();

    /** A task that was handed in for later. */
    interface Timer {
        /** The task does not run any more, unless it has begun or been queued. Any thread. */
        void cancel();
    }
}
