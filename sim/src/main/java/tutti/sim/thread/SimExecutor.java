package tutti.sim.thread;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.Callable;
import java.util.concurrent.Delayed;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.RunnableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import tutti.sim.kernel.Clock;
import tutti.sim.kernel.Label;

/**
 * A fixed number of simulated threads that run tasks, at once or later, in the order in which they become due. When the
 * queue is full, further tasks are refused with {@link RejectedExecutionException}; a task of {@link #schedule} that finds
 * it full when it is due fails its future likewise. A task given to {@link #execute} that throws ends the simulation, as
 * any thread that throws does; one given to {@code submit} fails its future.
 */
public final class SimExecutor extends AbstractExecutorService implements ScheduledExecutorService {
    /** What is put into the queue so that a worker ends. */
    private enum End implements Runnable {
        HERE;

        @Override
        public void run() {
            // Whoever takes it ends instead.
        }
    }

    private final Clock clock;
    private final Label label;
    private final SimQueue<Runnable> queue;
    private final List<SimThread> workers = new ArrayList<>();
    private final Set<Later<?>> later = new LinkedHashSet<>();
    private boolean shutdown;

    /**
     * Begins its threads.
     *
     * @param threads at least 1
     * @param queued how many tasks may wait, at least 1
     */
    public SimExecutor(Threads in, Clock clock, String name, int threads, int queued) {
        this.clock = clock;
        this.label = Label.of("due", name);
        this.queue = new SimQueue<>(queued + threads);
        for (int i = 0; i < threads; i++) {
            workers.add(in.spawn(clock, name + "-" + i, this::work));
        }
    }

    private void work() throws InterruptedException {
        while (true) {
            Runnable task;
            try {
                task = queue.take();
            } catch (InterruptedException _) {
                // Meant for a task that was cancelled when it had just ended, or for the end of all.
                task = shutdown && queue.isEmpty() ? End.HERE : () -> {};
            }
            if (task instanceof End) {
                return;
            }
            task.run();
        }
    }

    @Override
    public void execute(Runnable task) {
        if (shutdown) {
            throw new RejectedExecutionException("the executor was shut down");
        }
        if (queue.remainingCapacity() <= workers.size() || !queue.offer(task)) {
            throw new RejectedExecutionException(queue.size() + " tasks wait already, the bound of this executor");
        }
    }

    @Override
    protected <T> RunnableFuture<T> newTaskFor(Callable<T> task) {
        return new SimFuture<>(task);
    }

    @Override
    protected <T> RunnableFuture<T> newTaskFor(Runnable task, T value) {
        return new SimFuture<>(() -> {
            task.run();
            return value;
        });
    }

    /** Waits in the JDK's own way inside, which would stop the simulation. */
    @Override
    public <T> T invokeAny(Collection<? extends Callable<T>> tasks) {
        throw new UnsupportedOperationException("invokeAny: submit the tasks and wait with a SimQueue");
    }

    /** Waits in the JDK's own way inside, which would stop the simulation. */
    @Override
    public <T> T invokeAny(Collection<? extends Callable<T>> tasks, long timeout, TimeUnit unit) {
        throw new UnsupportedOperationException("invokeAny: submit the tasks and wait with a SimQueue");
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable command, long delay, TimeUnit unit) {
        return schedule(() -> {
            command.run();
            return null;
        }, delay, unit);
    }

    @Override
    public <V> ScheduledFuture<V> schedule(Callable<V> callable, long delay, TimeUnit unit) {
        return new Later<>(callable, Math.max(0, unit.toNanos(delay)), 0, false);
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(Runnable command, long initialDelay, long period, TimeUnit unit) {
        return repeated(command, initialDelay, period, unit, true);
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(Runnable command, long initialDelay, long delay, TimeUnit unit) {
        return repeated(command, initialDelay, delay, unit, false);
    }

    private ScheduledFuture<?> repeated(Runnable command, long initialDelay, long period, TimeUnit unit, boolean rate) {
        if (period <= 0) {
            throw new IllegalArgumentException("a period of " + period + " " + unit);
        }
        return new Later<@Nullable Object>(() -> {
            command.run();
            return null;
        }, Math.max(0, unit.toNanos(initialDelay)), unit.toNanos(period), rate);
    }

    /** A task with a time; after {@code period} nanoseconds again if that is not 0. */
    private final class Later<V> extends SimFuture<V> implements ScheduledFuture<V> {
        private final long period;
        private final boolean rate;
        private long due;
        private Clock.Timer timer;

        Later(Callable<V> task, long delay, long period, boolean rate) {
            super(task);
            if (shutdown) {
                throw new RejectedExecutionException("the executor was shut down");
            }
            this.period = period;
            this.rate = rate;
            this.due = clock.now() + delay;
            later.add(this);
            this.timer = clock.after(delay, label, this::isDue);
        }

        private void isDue() {
            try {
                execute(period == 0 ? this::runOnce : this::runAgain);
            } catch (RejectedExecutionException e) {
                later.remove(this);
                fail(e);
            }
        }

        private void runOnce() {
            later.remove(this);
            run();
        }

        private void runAgain() {
            if (runAndReset() && !shutdown) {
                due = rate ? due + period : clock.now() + period;
                timer = clock.after(Math.max(0, due - clock.now()), label, this::isDue);
            } else {
                later.remove(this);
            }
        }

        @Override
        public boolean cancel(boolean mayInterruptIfRunning) {
            timer.cancel();
            later.remove(this);
            return super.cancel(mayInterruptIfRunning);
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(due - clock.now(), TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(getDelay(TimeUnit.NANOSECONDS), other.getDelay(TimeUnit.NANOSECONDS));
        }
    }

    /** Takes no more tasks, forgets those that are not due yet, runs those that are. */
    @Override
    public void shutdown() {
        if (!shutdown) {
            shutdown = true;
            List.copyOf(later).forEach(task -> task.cancel(false));
            for (int i = 0; i < workers.size(); i++) {
                // The queue has room for one such word for each worker beyond its bound for tasks.
                queue.add(End.HERE);
            }
        }
    }

    @Override
    public List<Runnable> shutdownNow() {
        List<Runnable> never = new ArrayList<>();
        queue.drainTo(never);
        never.removeIf(End.class::isInstance);
        boolean again = shutdown;
        shutdown();
        for (SimThread worker : workers) {
            if (again) {
                queue.offer(End.HERE);
            }
            worker.interrupt();
        }
        return never;
    }

    @Override
    public boolean isShutdown() {
        return shutdown;
    }

    @Override
    public boolean isTerminated() {
        return shutdown && workers.stream().allMatch(worker -> worker.state() == SimThread.State.ENDED);
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) throws InterruptedException {
        long end = SimThread.now() + unit.toNanos(timeout);
        for (SimThread worker : workers) {
            if (!worker.join(Math.max(0, end - SimThread.now()))) {
                return false;
            }
        }
        return true;
    }

    /** Shuts down and waits for the end, if a simulated thread calls it. */
    @Override
    public void close() {
        shutdown();
        try {
            for (SimThread worker : workers) {
                worker.join();
            }
        } catch (InterruptedException _) {
            shutdownNow();
            SimThread.current().interrupt();
        }
    }
}
