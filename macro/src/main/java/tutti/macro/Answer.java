package tutti.macro;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The answer to one call, which the first of possibly many replicas gives. One thread may wait for it, or a future be
 * completed with it, but not both.
 */
class Answer {
    private static final int OPEN = 0;
    private static final int CLAIMED = 1;
    private static final int GIVEN = 2;
    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(Answer.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private volatile int state;
    private @Nullable Object value;
    private @Nullable Throwable thrown;
    private volatile @Nullable Thread waiter;
    private final @Nullable CompletableFuture<@Nullable Object> future;

    Answer(@Nullable CompletableFuture<@Nullable Object> future) {
        this.future = future;
    }

    boolean given() {
        return state == GIVEN;
    }

    /** Gives the answer, unless there is one. A future is left to {@link #completeFuture}. */
    boolean give(@Nullable Object returned, @Nullable Throwable exception) {
        if (state != OPEN || !STATE.compareAndSet(this, OPEN, CLAIMED)) {
            return false;
        }
        value = returned;
        thrown = exception;
        state = GIVEN;
        // After the state, as the waiter looks at the state after it has said that it waits.
        LockSupport.unpark(waiter);
        return true;
    }

    boolean hasFuture() {
        return future != null;
    }

    /** Completes the future. What depends on it runs here, so that no lock may be held. */
    void completeFuture() {
        if (future != null) {
            if (thrown == null) {
                future.complete(value);
            } else {
                future.completeExceptionally(thrown);
            }
        }
    }

    /** Waits until {@code deadline} on the clock of {@link System#nanoTime}; interrupts are kept for later. */
    boolean await(long deadline) {
        waiter = Thread.currentThread();
        boolean interrupted = false;
        while (state != GIVEN) {
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                break;
            }
            LockSupport.parkNanos(this, left);
            interrupted |= Thread.interrupted();
        }
        waiter = null;
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return state == GIVEN;
    }

    /** What was returned, or throws what was thrown. */
    @Nullable
    Object get() throws Throwable {
        if (thrown != null) {
            throw thrown;
        }
        return value;
    }

    /** The exception, if it is one. */
    @Nullable
    Throwable thrown() {
        return thrown;
    }
}
