package tutti.node;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * The one thread on which a replica's protocol and everything that belongs to it runs. Tasks run in the order in which
 * they were handed in. A task that throws stops the loop and is reported: a replica whose state may be half changed must
 * not go on.
 */
final class EventLoop implements Executor, AutoCloseable {
    private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean parked = new AtomicBoolean();
    private final Thread thread;
    private final ScheduledExecutorService timers;
    private final Consumer<Throwable> onFailure;
    private volatile boolean closed;

    /**
     * Starts the thread.
     *
     * @param name of the thread
     * @param onFailure told, on the loop's thread, what a task threw; no task runs afterwards
     */
    EventLoop(String name, Consumer<Throwable> onFailure) {
        this.onFailure = onFailure;
        this.timers = Executors
                .newSingleThreadScheduledExecutor(Thread.ofPlatform().daemon().name(name + "-timer").factory());
        this.thread = Thread.ofPlatform().daemon().name(name).start(this::run);
    }

    /** Hands a task in, from any thread. After {@link #close} tasks are dropped. */
    @Override
    public void execute(Runnable task) {
        tasks.add(task);
        if (parked.get() && parked.compareAndSet(true, false)) {
            LockSupport.unpark(thread);
        }
    }

    /** Hands a task in after a delay. */
    void schedule(Runnable task, long delayNanos) {
        if (!closed) {
            var _ = timers.schedule(() -> execute(task), delayNanos, TimeUnit.NANOSECONDS);
        }
    }

    /** Whether the caller runs on this loop. */
    boolean isCurrent() {
        return Thread.currentThread().equals(thread);
    }

    private void run() {
        while (!closed) {
            Runnable task = tasks.poll();
            if (task == null) {
                parked.set(true);
                // A task added between the poll and the flag is seen here; one added after the flag unparks.
                if (tasks.isEmpty() && !closed) {
                    LockSupport.park(this);
                }
                parked.set(false);
                continue;
            }
            try {
                task.run();
            } catch (Throwable failure) {
                closed = true;
                onFailure.accept(failure);
            }
        }
    }

    /** Stops after the task that runs now; waits for it unless called from the loop itself. */
    @Override
    public void close() {
        closed = true;
        timers.shutdownNow();
        LockSupport.unpark(thread);
        if (!isCurrent()) {
            try {
                thread.join();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
