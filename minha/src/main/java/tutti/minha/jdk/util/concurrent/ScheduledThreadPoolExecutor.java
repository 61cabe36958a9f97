package tutti.minha.jdk.util.concurrent;

import java.util.concurrent.Callable;
import java.util.concurrent.Delayed;
import java.util.concurrent.Future;
import java.util.concurrent.RunnableScheduledFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import tutti.minha.jdk.lang.Thread;
import tutti.sim.thread.SimThread;

/** The mirror of {@link java.util.concurrent.ScheduledThreadPoolExecutor}, with the JDK's default policies at shutdown. */
public class ScheduledThreadPoolExecutor extends ThreadPoolExecutor implements ScheduledExecutorService {
    private static final long DELAY_MAX = Long.MAX_VALUE / 4;

    private long sequence;

    /** With so many threads. */
    public ScheduledThreadPoolExecutor(int coreSize) {
        this(coreSize, Executors.defaultThreadFactory());
    }

    /** With so many threads of a factory. */
    public ScheduledThreadPoolExecutor(int coreSize, ThreadFactory factory) {
        this(coreSize, factory, new AbortPolicy());
    }

    /** With so many threads of a factory, and a handler. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    public ScheduledThreadPoolExecutor(int coreSize, ThreadFactory factory, RejectedExecutionHandler handler) {
        super(coreSize, Integer.MAX_VALUE, 0, TimeUnit.NANOSECONDS, (QueueBase) new DelayQueue<Task<?>>(), factory,
                handler);
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable command, long delay, TimeUnit unit) {
        return add(new Task<@Nullable Object>(command, delay, 0, unit));
    }

    @Override
    public <V> ScheduledFuture<V> schedule(Callable<V> callable, long delay, TimeUnit unit) {
        return add(new Task<>(callable, delay, unit));
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(Runnable command, long initialDelay, long period, TimeUnit unit) {
        requirePeriod(period);
        return add(new Task<@Nullable Object>(command, initialDelay, unit.toNanos(period), unit));
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(Runnable command, long initialDelay, long delay, TimeUnit unit) {
        requirePeriod(delay);
        return add(new Task<@Nullable Object>(command, initialDelay, -unit.toNanos(delay), unit));
    }

    private static void requirePeriod(long period) {
        if (period <= 0) {
            throw new IllegalArgumentException("a period of " + period);
        }
    }

    private <V> Task<V> add(Task<V> task) {
        Thread.settle();
        if (isShutdown()) {
            getRejectedExecutionHandler().rejectedExecution(task, this);
        } else {
            getQueue().add(task);
            ensureWorker();
        }
        return task;
    }

    @Override
    public void execute(Runnable task) {
        schedule(task, 0, TimeUnit.NANOSECONDS);
    }

    @Override
    public Future<?> submit(Runnable task) {
        return schedule(task, 0, TimeUnit.NANOSECONDS);
    }

    @Override
    public <T> Future<T> submit(Callable<T> task) {
        return schedule(task, 0, TimeUnit.NANOSECONDS);
    }

    @Override
    public <T> Future<T> submit(Runnable task, T result) {
        return schedule(Executors.callable(task, result), 0, TimeUnit.NANOSECONDS);
    }

    /** Periodic tasks end with a shutdown, those with a delay still run. */
    @Override
    void onShutdown() {
        for (Runnable waiting : getQueue()) {
            if (waiting instanceof Task<?> task && task.isPeriodic()) {
                task.cancel(false);
            }
        }
        getQueue().removeIf(waiting -> waiting instanceof Task<?> task && task.isCancelled());
    }

    /** A task with a time; its period is positive at a fixed rate, negative with a fixed delay, 0 if it runs once. */
    private final class Task<V> extends FutureTask<V> implements RunnableScheduledFuture<V> {
        private final long number = sequence++;
        private final long period;
        private long due;

        Task(Runnable command, long delay, long period, TimeUnit unit) {
            super(command, null);
            this.period = period;
            this.due = SimThread.now() + Math.min(Math.max(0, unit.toNanos(delay)), DELAY_MAX);
        }

        Task(Callable<V> command, long delay, TimeUnit unit) {
            super(command);
            this.period = 0;
            this.due = SimThread.now() + Math.min(Math.max(0, unit.toNanos(delay)), DELAY_MAX);
        }

        @Override
        public void run() {
            if (period == 0) {
                super.run();
            } else if (isShutdown()) {
                cancel(false);
            } else if (runAndReset()) {
                due = period > 0 ? due + period : SimThread.now() - period;
                if (!isShutdown()) {
                    getQueue().add(this);
                } else {
                    cancel(false);
                }
            }
        }

        @Override
        public boolean isPeriodic() {
            return period != 0;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(due - SimThread.now(), TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            if (other instanceof Task<?> task) {
                int byTime = Long.compare(due, task.due);
                return byTime != 0 ? byTime : Long.compare(number, task.number);
            }
            return Long.compare(getDelay(TimeUnit.NANOSECONDS), other.getDelay(TimeUnit.NANOSECONDS));
        }
    }
}
