package tutti.minha.jdk.util.concurrent;

import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RunnableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import tutti.minha.jdk.lang.Thread;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.WaitList;

/**
 * The mirror of {@link java.util.concurrent.FutureTask}.
 *
 * @param <V> the result
 */
public class FutureTask<V> implements RunnableFuture<V> {
    private final Callable<V> task;
    private final WaitList waiting = new WaitList();
    private boolean done;
    private boolean cancelled;
    private @Nullable V value;
    private @Nullable Throwable failure;
    private @Nullable Thread runner;

    /** Running it calls this. */
    public FutureTask(Callable<V> task) {
        this.task = task;
    }

    /** Running it runs this, and the result is given. */
    public FutureTask(Runnable task, @Nullable V result) {
        this(Executors.callable(task, result));
    }

    @Override
    public void run() {
        if (done || runner != null) {
            return;
        }
        runner = Thread.currentThread();
        try {
            set(task.call());
        } catch (Throwable e) {
            rethrowEnd(e);
            setException(e);
        } finally {
            runner = null;
        }
    }

    /** Runs it without keeping the result, for tasks that run again; returns whether it may. */
    protected boolean runAndReset() {
        if (done || runner != null) {
            return false;
        }
        runner = Thread.currentThread();
        try {
            task.call();
            return !done;
        } catch (Throwable e) {
            rethrowEnd(e);
            setException(e);
            return false;
        } finally {
            runner = null;
        }
    }

    /** The end of a thread is nothing that a task may report as its own failure. */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <E extends Throwable> void rethrowEnd(Throwable e) throws E {
        if (SimThread.current().isKilled()) {
            throw (E) e;
        }
    }

    /** It worked. */
    protected void set(@Nullable V result) {
        end(result, null);
    }

    /** It did not. */
    protected void setException(Throwable cause) {
        end(null, cause);
    }

    /** It has ended, one way or another. */
    protected void done() {
        // For those who override it.
    }

    private boolean end(@Nullable V result, @Nullable Throwable cause) {
        if (done) {
            return false;
        }
        Thread.settle();
        done = true;
        value = result;
        failure = cause;
        waiting.wakeAll();
        done();
        return true;
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        if (done) {
            return false;
        }
        cancelled = true;
        Thread running = runner;
        end(null, new CancellationException());
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
        Thread.settle();
        return done;
    }

    @Override
    public V get() throws InterruptedException, ExecutionException {
        Thread.settle();
        if (!done) {
            waiting.await(SimThread.FOREVER, true);
        }
        return result();
    }

    @Override
    public V get(long timeout, TimeUnit unit) throws InterruptedException, ExecutionException, TimeoutException {
        Thread.settle();
        if (!done) {
            waiting.await(Math.max(0, unit.toNanos(timeout)), true);
            if (!done) {
                throw new TimeoutException();
            }
        }
        return result();
    }

    private V result() throws ExecutionException {
        if (cancelled) {
            throw new CancellationException();
        }
        if (failure != null) {
            throw new ExecutionException(failure);
        }
        return value;
    }
}
