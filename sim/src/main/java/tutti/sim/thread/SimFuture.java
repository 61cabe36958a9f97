package tutti.sim.thread;

import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RunnableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A result that comes later: the bridge from events to threads. A thread waits in {@link #get}; an event calls
 * {@link #complete} or {@link #fail}, of which the first counts.
 *
 * @param <V> the result
 */
public class SimFuture<V> implements RunnableFuture<V> {
    private final @Nullable Callable<V> task;
    private final WaitList waiting = new WaitList();
    private boolean done;
    private boolean cancelled;
    private @Nullable V value;
    private @Nullable Throwable failure;
    private @Nullable SimThread runner;

    /** Somebody will complete it. */
    public SimFuture() {
        this.task = null;
    }

    /** Running it completes it. */
    SimFuture(Callable<V> task) {
        this.task = task;
    }

    /** It worked. Returns whether that is news. */
    public boolean complete(@Nullable V result) {
        return end(result, null);
    }

    /** It did not work. Returns whether that is news. */
    public boolean fail(Throwable cause) {
        return end(null, cause);
    }

    private boolean end(@Nullable V result, @Nullable Throwable cause) {
        if (done) {
            return false;
        }
        done = true;
        value = result;
        failure = cause;
        waiting.wakeAll();
        return true;
    }

    @Override
    public void run() {
        if (task == null) {
            throw new IllegalStateException("this future has no task to run");
        }
        if (done) {
            return;
        }
        runner = SimThread.current();
        try {
            complete(task.call());
        } catch (Exception e) {
            fail(e);
        } finally {
            runner = null;
        }
    }

    /** Runs the task without keeping the result: for tasks that run again and again. Returns whether it may go on. */
    boolean runAndReset() {
        if (task == null || done) {
            return false;
        }
        runner = SimThread.current();
        try {
            task.call();
            return !done;
        } catch (Exception e) {
            fail(e);
            return false;
        } finally {
            runner = null;
        }
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        if (done) {
            return false;
        }
        cancelled = true;
        SimThread running = runner;
        end(null, new CancellationException("cancelled"));
        if (mayInterruptIfRunning && running != null) {
            running.interrupt();
        }
        return true;
    }

    @Override
    public boolean isCancelled() {
        return cancelled;
    }

    @Override
    public boolean isDone() {
        return done;
    }

    @Override
    public V get() throws InterruptedException, ExecutionException {
        if (!done) {
            waiting.await(SimThread.FOREVER, true);
        }
        return result();
    }

    @Override
    public V get(long timeout, TimeUnit unit) throws InterruptedException, ExecutionException, TimeoutException {
        if (!done) {
            waiting.await(unit.toNanos(timeout), true);
            if (!done) {
                throw new TimeoutException("no result within " + timeout + " " + unit);
            }
        }
        return result();
    }

    /**
     * Like {@link #get()} for what is not expected to fail.
     *
     * @throws IllegalStateException if it failed, with the cause
     */
    public V join() throws InterruptedException {
        try {
            return get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("what was waited for failed", e.getCause());
        }
    }

    private V result() throws ExecutionException {
        if (cancelled) {
            throw new CancellationException("cancelled");
        }
        if (failure != null) {
            throw new ExecutionException(failure);
        }
        return value;
    }
}
