package tutti.minha.jdk.util.concurrent;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import tutti.minha.Jvm;
import tutti.minha.jdk.lang.Thread;
import tutti.sim.thread.SimThread;

/** The mirror of {@link java.util.concurrent.Executors}. */
public final class Executors {
    private static final long KEEP_ALIVE_SECONDS = 60;

    private Executors() {}

    /** So many threads, and a queue without a bound. */
    public static ExecutorService newFixedThreadPool(int threads) {
        return newFixedThreadPool(threads, defaultThreadFactory());
    }

    /** So many threads of a factory, and a queue without a bound. */
    public static ExecutorService newFixedThreadPool(int threads, ThreadFactory factory) {
        return new ThreadPoolExecutor(threads, threads, 0, TimeUnit.MILLISECONDS, new LinkedBlockingQueue<>(),
                factory);
    }

    /** One thread, and a queue without a bound. */
    public static ExecutorService newSingleThreadExecutor() {
        return newFixedThreadPool(1);
    }

    /** One thread of a factory, and a queue without a bound. */
    public static ExecutorService newSingleThreadExecutor(ThreadFactory factory) {
        return newFixedThreadPool(1, factory);
    }

    /** As many threads as there are tasks; they end after a minute without one. */
    public static ExecutorService newCachedThreadPool() {
        return newCachedThreadPool(defaultThreadFactory());
    }

    /** As many threads of a factory as there are tasks; they end after a minute without one. */
    public static ExecutorService newCachedThreadPool(ThreadFactory factory) {
        return new ThreadPoolExecutor(0, Integer.MAX_VALUE, KEEP_ALIVE_SECONDS, TimeUnit.SECONDS,
                new SynchronousQueue<>(), factory);
    }

    /** As many threads as the machine has cores, and one queue for all. */
    public static ExecutorService newWorkStealingPool() {
        return newWorkStealingPool(Jvm.current().machine().host().config().cores());
    }

    /** So many threads, and one queue for all. */
    public static ExecutorService newWorkStealingPool(int parallelism) {
        return newFixedThreadPool(parallelism, task -> {
            Thread made = defaultThreadFactory().newThread(task);
            made.setDaemon(true);
            return made;
        });
    }

    /** A thread of its own for each task. */
    public static ExecutorService newThreadPerTaskExecutor(ThreadFactory factory) {
        return new ThreadPoolExecutor(0, Integer.MAX_VALUE, 0, TimeUnit.SECONDS, new SynchronousQueue<>(), factory);
    }

    /** A virtual thread of its own for each task. */
    public static ExecutorService newVirtualThreadPerTaskExecutor() {
        return newThreadPerTaskExecutor(Thread.ofVirtual().factory());
    }

    /** So many threads, for tasks with times. */
    public static ScheduledExecutorService newScheduledThreadPool(int threads) {
        return new ScheduledThreadPoolExecutor(threads);
    }

    /** So many threads of a factory, for tasks with times. */
    public static ScheduledExecutorService newScheduledThreadPool(int threads, ThreadFactory factory) {
        return new ScheduledThreadPoolExecutor(threads, factory);
    }

    /** One thread, for tasks with times. */
    public static ScheduledExecutorService newSingleThreadScheduledExecutor() {
        return new ScheduledThreadPoolExecutor(1);
    }

    /** One thread of a factory, for tasks with times. */
    public static ScheduledExecutorService newSingleThreadScheduledExecutor(ThreadFactory factory) {
        return new ScheduledThreadPoolExecutor(1, factory);
    }

    /** Makes threads with the names that the JDK gives them. */
    public static ThreadFactory defaultThreadFactory() {
        int pool = Jvm.current().nextPoolNumber();
        int[] next = {0};
        return task -> {
            Thread made = new Thread(task, "pool-" + pool + "-thread-" + ++next[0]);
            made.setDaemon(false);
            made.setPriority(Thread.NORM_PRIORITY);
            return made;
        };
    }

    /** Runs something and returns a result. */
    public static <T> Callable<T> callable(Runnable task, @Nullable T result) {
        return java.util.concurrent.Executors.callable(task, result);
    }

    /** Runs something and returns nothing. */
    public static Callable<Object> callable(Runnable task) {
        return java.util.concurrent.Executors.callable(task);
    }

    /** What {@link ExecutorService#close} does, without the JDK's threads. */
    static void close(ExecutorService executor) {
        boolean interrupted = false;
        executor.shutdown();
        while (!executor.isTerminated()) {
            try {
                executor.awaitTermination(1, TimeUnit.DAYS);
            } catch (InterruptedException _) {
                if (!interrupted) {
                    executor.shutdownNow();
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    static <T> T any(ExecutorService executor, Collection<? extends Callable<T>> tasks)
            throws InterruptedException, ExecutionException {
        try {
            return any(executor, tasks, Long.MAX_VALUE / 4, TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new IllegalStateException("time does not end", e);
        }
    }

    static <T> T any(ExecutorService executor, Collection<? extends Callable<T>> tasks, long timeout, TimeUnit unit)
            throws InterruptedException, ExecutionException, TimeoutException {
        if (tasks.isEmpty()) {
            throw new IllegalArgumentException("no tasks");
        }
        long end = SimThread.now() + unit.toNanos(timeout);
        LinkedBlockingQueue<Future<T>> ended = new LinkedBlockingQueue<>();
        List<Future<?>> begun = new ArrayList<>();
        try {
            for (Callable<T> task : tasks) {
                FutureTask<T> future = new FutureTask<>(task) {
                    @Override
                    protected void done() {
                        ended.add(this);
                    }
                };
                begun.add(future);
                executor.execute(future);
            }
            ExecutionException last = null;
            for (int i = 0; i < begun.size(); i++) {
                Future<T> first = ended.poll(end - SimThread.now(), TimeUnit.NANOSECONDS);
                if (first == null) {
                    throw new TimeoutException();
                }
                try {
                    return first.get();
                } catch (ExecutionException e) {
                    last = e;
                }
            }
            throw last == null ? new ExecutionException(new IllegalStateException("no task has ended")) : last;
        } finally {
            begun.forEach(future -> future.cancel(true));
        }
    }
}
