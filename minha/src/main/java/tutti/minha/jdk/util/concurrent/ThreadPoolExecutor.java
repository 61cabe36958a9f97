package tutti.minha.jdk.util.concurrent;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.RunnableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import tutti.minha.jdk.lang.Thread;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.WaitList;

/**
 * The mirror of {@link java.util.concurrent.ThreadPoolExecutor}: threads begin up to the core size, then tasks queue, then
 * threads begin up to the maximum, then tasks are refused as the handler has it. Threads beyond the core end when they have
 * waited for the keep-alive time.
 */
public class ThreadPoolExecutor extends AbstractExecutorService {
    private final BlockingQueue<Runnable> queue;
    private final Set<Thread> workers = new LinkedHashSet<>();
    private final Set<Thread> idle = new LinkedHashSet<>();
    private final WaitList terminating = new WaitList();
    private ThreadFactory factory;
    private RejectedExecutionHandler handler;
    private int coreSize;
    private int maximumSize;
    private int largestSize;
    private long keepAliveNanos;
    private boolean coreMayEnd;
    private boolean shutdown;
    private boolean stopped;
    private boolean terminated;
    private long completed;

    /** Refuses by an exception. */
    public static class AbortPolicy implements RejectedExecutionHandler {
        @Override
        public void rejectedExecution(Runnable task, ThreadPoolExecutor executor) {
            throw new RejectedExecutionException("Task " + task + " rejected from " + executor);
        }
    }

    /** Has it done by the thread that asked. */
    public static class CallerRunsPolicy implements RejectedExecutionHandler {
        @Override
        public void rejectedExecution(Runnable task, ThreadPoolExecutor executor) {
            if (!executor.isShutdown()) {
                task.run();
            }
        }
    }

    /** Forgets it. */
    public static class DiscardPolicy implements RejectedExecutionHandler {
        @Override
        public void rejectedExecution(Runnable task, ThreadPoolExecutor executor) {
            // That is the policy.
        }
    }

    /** Forgets the oldest that waits, and tries again. */
    public static class DiscardOldestPolicy implements RejectedExecutionHandler {
        @Override
        public void rejectedExecution(Runnable task, ThreadPoolExecutor executor) {
            if (!executor.isShutdown()) {
                executor.getQueue().poll();
                executor.execute(task);
            }
        }
    }

    /** Without a factory and a handler of its own. */
    public ThreadPoolExecutor(int coreSize, int maximumSize, long keepAlive, TimeUnit unit,
            BlockingQueue<Runnable> queue) {
        this(coreSize, maximumSize, keepAlive, unit, queue, Executors.defaultThreadFactory(), new AbortPolicy());
    }

    /** Without a handler of its own. */
    public ThreadPoolExecutor(int coreSize, int maximumSize, long keepAlive, TimeUnit unit,
            BlockingQueue<Runnable> queue, ThreadFactory factory) {
        this(coreSize, maximumSize, keepAlive, unit, queue, factory, new AbortPolicy());
    }

    /** Without a factory of its own. */
    public ThreadPoolExecutor(int coreSize, int maximumSize, long keepAlive, TimeUnit unit,
            BlockingQueue<Runnable> queue, RejectedExecutionHandler handler) {
        this(coreSize, maximumSize, keepAlive, unit, queue, Executors.defaultThreadFactory(), handler);
    }

    /** As the JDK's, with the same ranges. */
    public ThreadPoolExecutor(int coreSize, int maximumSize, long keepAlive, TimeUnit unit,
            BlockingQueue<Runnable> queue, ThreadFactory factory, RejectedExecutionHandler handler) {
        if (coreSize < 0 || maximumSize < 1 || maximumSize < coreSize || keepAlive < 0) {
            throw new IllegalArgumentException("a pool of " + coreSize + " to " + maximumSize + " threads, keep alive "
                    + keepAlive + " " + unit);
        }
        this.coreSize = coreSize;
        this.maximumSize = maximumSize;
        this.keepAliveNanos = unit.toNanos(keepAlive);
        this.queue = queue;
        this.factory = factory;
        this.handler = handler;
    }

    @Override
    public void execute(Runnable task) {
        Objects.requireNonNull(task);
        Thread.settle();
        if (shutdown) {
            handler.rejectedExecution(task, this);
        } else if (workers.size() < coreSize) {
            begin(task);
        } else if (queue.offer(task)) {
            if (workers.isEmpty()) {
                begin(null);
            }
        } else if (workers.size() < maximumSize) {
            begin(task);
        } else {
            handler.rejectedExecution(task, this);
        }
    }

    /** Begins a thread if there are fewer than the core size, or none; for tasks that come late. */
    void ensureWorker() {
        if (workers.size() < coreSize || workers.isEmpty()) {
            begin(null);
        }
    }

    private void begin(@Nullable Runnable first) {
        Thread[] self = new Thread[1];
        Thread worker = factory.newThread(() -> work(self[0], first));
        self[0] = worker;
        workers.add(worker);
        largestSize = Math.max(largestSize, workers.size());
        worker.start();
    }

    private void work(Thread self, @Nullable Runnable first) {
        boolean well = false;
        try {
            Runnable task = first != null ? first : next(self);
            while (task != null) {
                run(self, task);
                task = next(self);
            }
            well = true;
        } finally {
            workers.remove(self);
            if (!SimThread.current().isKilled()) {
                if (!well && !stopped && (!shutdown || !queue.isEmpty())) {
                    begin(null);
                }
                tryTerminate();
            }
        }
    }

    private void run(Thread self, Runnable task) {
        if (!stopped) {
            Thread.interrupted();
        }
        beforeExecute(self, task);
        Throwable thrown = null;
        try {
            task.run();
        } catch (Throwable e) {
            thrown = e;
            throw e;
        } finally {
            completed++;
            if (!SimThread.current().isKilled()) {
                afterExecute(task, thrown);
            }
        }
    }

    /** The next task, or null if the thread is to end. */
    private @Nullable Runnable next(Thread self) {
        boolean timedOut = false;
        while (true) {
            if (stopped || (shutdown && queue.isEmpty())) {
                return null;
            }
            boolean mayEnd = coreMayEnd || workers.size() > coreSize;
            if ((workers.size() > maximumSize || (mayEnd && timedOut)) && (workers.size() > 1 || queue.isEmpty())) {
                return null;
            }
            idle.add(self);
            try {
                Runnable task = mayEnd ? queue.poll(keepAliveNanos, TimeUnit.NANOSECONDS) : queue.take();
                if (task != null) {
                    return task;
                }
                timedOut = true;
            } catch (InterruptedException _) {
                timedOut = false;
            } finally {
                idle.remove(self);
            }
        }
    }

    private void tryTerminate() {
        if (shutdown && workers.isEmpty() && (stopped || queue.isEmpty()) && !terminated) {
            terminated = true;
            terminated();
            terminating.wakeAll();
        } else if (shutdown && queue.isEmpty()) {
            List.copyOf(idle).forEach(Thread::interrupt);
        }
    }

    /** For those who override it: a task is about to run. */
    protected void beforeExecute(Thread thread, Runnable task) {
        // For those who override it.
    }

    /** For those who override it: a task has run. */
    protected void afterExecute(Runnable task, @Nullable Throwable thrown) {
        // For those who override it.
    }

    /** For those who override it: all is over. */
    protected void terminated() {
        // For those who override it.
    }

    @Override
    protected <T> RunnableFuture<T> newTaskFor(Callable<T> task) {
        return new FutureTask<>(task);
    }

    @Override
    protected <T> RunnableFuture<T> newTaskFor(Runnable task, T value) {
        return new FutureTask<>(task, value);
    }

    @Override
    public <T> T invokeAny(Collection<? extends Callable<T>> tasks) throws InterruptedException, ExecutionException {
        return Executors.any(this, tasks);
    }

    @Override
    public <T> T invokeAny(Collection<? extends Callable<T>> tasks, long timeout, TimeUnit unit)
            throws InterruptedException, ExecutionException, TimeoutException {
        return Executors.any(this, tasks, timeout, unit);
    }

    @Override
    public void shutdown() {
        Thread.settle();
        shutdown = true;
        onShutdown();
        List.copyOf(idle).forEach(Thread::interrupt);
        tryTerminate();
    }

    /** What is to be done at the beginning of a shutdown. */
    void onShutdown() {
        // Nothing here.
    }

    @Override
    public List<Runnable> shutdownNow() {
        Thread.settle();
        shutdown = true;
        stopped = true;
        List<Runnable> never = new ArrayList<>(queue);
        queue.clear();
        List.copyOf(workers).forEach(Thread::interrupt);
        tryTerminate();
        return never;
    }

    @Override
    public boolean isShutdown() {
        return shutdown;
    }

    @Override
    public boolean isTerminated() {
        Thread.settle();
        return terminated;
    }

    /** Whether it is on its way to be terminated. */
    public boolean isTerminating() {
        return shutdown && !terminated;
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) throws InterruptedException {
        Thread.settle();
        if (!terminated) {
            terminating.await(Math.min(Math.max(0, unit.toNanos(timeout)), Long.MAX_VALUE / 4), true);
        }
        return terminated;
    }

    @Override
    public void close() {
        Executors.close(this);
    }

    /** The tasks that wait. */
    public BlockingQueue<Runnable> getQueue() {
        return queue;
    }

    /** Takes back a task that waits. */
    public boolean remove(Runnable task) {
        boolean removed = queue.remove(task);
        tryTerminate();
        return removed;
    }

    /** Forgets tasks that were cancelled. */
    public void purge() {
        queue.removeIf(task -> task instanceof Future<?> future && future.isCancelled());
    }

    /** Begins all core threads; returns how many. */
    public int prestartAllCoreThreads() {
        int begun = 0;
        while (workers.size() < coreSize) {
            begin(null);
            begun++;
        }
        return begun;
    }

    /** Threads. */
    public int getPoolSize() {
        return workers.size();
    }

    /** Threads that are busy. */
    public int getActiveCount() {
        return workers.size() - idle.size();
    }

    /** The most threads that there were. */
    public int getLargestPoolSize() {
        return largestSize;
    }

    /** Tasks that have run. */
    public long getCompletedTaskCount() {
        return completed;
    }

    /** Tasks that have run, run or wait. */
    public long getTaskCount() {
        return completed + getActiveCount() + queue.size();
    }

    /** The core size. */
    public int getCorePoolSize() {
        return coreSize;
    }

    /** Sets the core size. */
    public void setCorePoolSize(int size) {
        if (size < 0 || size > maximumSize) {
            throw new IllegalArgumentException("a core of " + size + " threads, at most " + maximumSize);
        }
        coreSize = size;
        List.copyOf(idle).forEach(Thread::interrupt);
        for (int i = 0; i < queue.size() && workers.size() < coreSize; i++) {
            begin(null);
        }
    }

    /** The maximum. */
    public int getMaximumPoolSize() {
        return maximumSize;
    }

    /** Sets the maximum. */
    public void setMaximumPoolSize(int size) {
        if (size < 1 || size < coreSize) {
            throw new IllegalArgumentException("at most " + size + " threads, and a core of " + coreSize);
        }
        maximumSize = size;
        List.copyOf(idle).forEach(Thread::interrupt);
    }

    /** How long a thread beyond the core waits for a task. */
    public long getKeepAliveTime(TimeUnit unit) {
        return unit.convert(keepAliveNanos, TimeUnit.NANOSECONDS);
    }

    /** Sets how long a thread beyond the core waits for a task. */
    public void setKeepAliveTime(long time, TimeUnit unit) {
        keepAliveNanos = unit.toNanos(time);
    }

    /** Sets whether core threads end too. */
    public void allowCoreThreadTimeOut(boolean on) {
        if (on && keepAliveNanos <= 0) {
            throw new IllegalArgumentException("Core threads must have nonzero keep alive times");
        }
        coreMayEnd = on;
        List.copyOf(idle).forEach(Thread::interrupt);
    }

    /** Who makes threads. */
    public ThreadFactory getThreadFactory() {
        return factory;
    }

    /** Sets who makes threads. */
    public void setThreadFactory(ThreadFactory of) {
        factory = of;
    }

    /** Who hears of tasks that are refused. */
    public RejectedExecutionHandler getRejectedExecutionHandler() {
        return handler;
    }

    /** Sets who hears of tasks that are refused. */
    public void setRejectedExecutionHandler(RejectedExecutionHandler of) {
        handler = of;
    }

    @Override
    public String toString() {
        return "ThreadPoolExecutor[" + (terminated ? "Terminated" : shutdown ? "Shutting down" : "Running")
                + ", pool size = " + getPoolSize() + ", active threads = " + getActiveCount() + ", queued tasks = "
                + queue.size() + ", completed tasks = " + completed + "]";
    }
}
