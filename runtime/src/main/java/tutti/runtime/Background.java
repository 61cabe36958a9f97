package tutti.runtime;

import org.jspecify.annotations.Nullable;

/** Work that goes on beside everything else ({@link Machine#background}). Any thread. */
public interface Background {
    /** Whether it has ended, in one way or another. */
    boolean isDone();

    /** What it threw (an error as the cause of an {@code ExecutionException}), or null if it has not ended or did not throw. */
    @Nullable
    Exception failure();

    /**
     * Returns when it has ended: for the close of what it belongs to, never from a task of a loop. In a simulation, where
     * nobody can wait, what is left of it is done now.
     */
    void join();
}
