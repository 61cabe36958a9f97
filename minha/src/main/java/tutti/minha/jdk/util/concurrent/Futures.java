package tutti.minha.jdk.util.concurrent;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import tutti.minha.jdk.lang.Thread;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.WaitList;

/**
 * {@link CompletableFuture} in the simulation: the JDK's own class may be used as far as nobody waits; these methods wait, in
 * virtual time, and give the executor for its asynchronous methods, of which a daemon thread runs each task.
 */
public final class Futures {
    private Futures() {}

    /** A thread of its own for each task. */
    public static Executor executor() {
        return Thread::startVirtualThread;
    }

    /** {@link Future#get()}. */
    public static <V> @Nullable V get(Future<V> future) throws InterruptedException, ExecutionException {
        if (future instanceof CompletableFuture<V> completable) {
            await(completable, SimThread.FOREVER, true);
        }
        return future.get();
    }

    /** {@link Future#get(long, TimeUnit)}. */
    public static <V> @Nullable V get(Future<V> future, long time, TimeUnit unit) throws InterruptedException,
            ExecutionException, TimeoutException {
        if (!(future instanceof CompletableFuture<V> completable)) {
            return future.get(time, unit);
        }
        if (!await(completable, Math.max(0, unit.toNanos(time)), true)) {
            throw new TimeoutException();
        }
        return completable.get();
    }

    /** {@link CompletableFuture#join}. */
    public static <V> @Nullable V join(CompletableFuture<V> future) {
        try {
            await(future, SimThread.FOREVER, false);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted where that cannot be", e);
        }
        return future.join();
    }

    private static boolean await(CompletableFuture<?> future, long nanos, boolean interruptible)
            throws InterruptedException {
        Thread.settle();
        if (!future.isDone()) {
            WaitList waiting = new WaitList();
            future.whenComplete((_, _) -> waiting.wakeAll());
            if (!future.isDone()) {
                waiting.await(nanos, interruptible);
            }
        }
        return future.isDone();
    }

    /** {@link CompletableFuture#orTimeout}. */
    public static <V> CompletableFuture<V> orTimeout(CompletableFuture<V> future, long time, TimeUnit unit) {
        later(future, time, unit, () -> future.completeExceptionally(new TimeoutException()));
        return future;
    }

    /** {@link CompletableFuture#completeOnTimeout}. */
    public static <V> CompletableFuture<V> completeOnTimeout(CompletableFuture<V> future, V value, long time,
            TimeUnit unit) {
        later(future, time, unit, () -> future.complete(value));
        return future;
    }

    private static void later(CompletableFuture<?> future, long time, TimeUnit unit, Runnable then) {
        Thread.startVirtualThread(() -> {
            try {
                if (!await(future, Math.max(0, unit.toNanos(time)), true)) {
                    then.run();
                }
            } catch (InterruptedException _) {
                // Nobody does; and then nobody wants it any more.
            }
        });
    }

    /** {@link CompletableFuture#delayedExecutor(long, TimeUnit, Executor)}. */
    public static Executor delayedExecutor(long time, TimeUnit unit, Executor executor) {
        return task -> Thread.startVirtualThread(() -> {
            try {
                Thread.sleepNanos(Math.max(0, unit.toNanos(time)));
                executor.execute(task);
            } catch (InterruptedException _) {
                // Nobody does; and then nobody wants it any more.
            }
        });
    }
}
