package tutti.runtime.real;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.runtime.Loop;

/**
 * A {@link Loop} whose tasks run on the thread that hands them in, if that may, or else on a thread of the loop's own.
 *
 * <p>
 * <b>Who runs them.</b> Tasks lie in one queue; only the {@linkplain #owner} takes from it. The loop has a thread of its own,
 * which becomes the owner when there is something to do and nobody does it. Whoever hands in by {@link #run} becomes the owner
 * itself if there is none, and so needs no other thread for its task, nor for what the task hands in; when the loop is busy,
 * the owner of the moment does it. A task handed in from inside a task is queued, never nested.
 *
 * <p>
 * <b>One at a time, in order.</b> There is one owner at most, made by an atomic change from none; it leaves between two tasks.
 * The change also makes what earlier owners have written visible to it, so the state that belongs to the loop needs no
 * locks. Since only owners take from the queue, and take its head, tasks run in the queue's order.
 *
 * <p>
 * <b>Nothing is forgotten.</b> Whoever hands in first adds to the queue and then looks for an owner; an owner first resigns and
 * then looks into the queue. One of the two sees the other. If there is no owner, or the one who resigned has seen a task,
 * the thread is woken; likewise the thread first says that it is about to sleep and then looks at both, and who would wake it
 * looks for that last.
 *
 * <p>
 * <b>Fair.</b> A caller of {@link #run} resigns after {@link #TASKS_OF_A_CALLER} tasks, its own among them or not; the thread does
 * the rest.
 *
 * <p>
 * <b>Locks.</b> Tasks do not wait for other tasks, and the caller of {@link #run} must hold no lock that any task needs. A
 * caller's interruption is put off until it has resigned, for tasks are not its own business; what comes meanwhile is met by what would be
 * broken off ({@link tutti.runtime.DurableFiles}).
 */
final class ThreadLoop implements Loop {
    /** How many tasks whoever hands one in does at most before it goes on with its own work. */
    static final int TASKS_OF_A_CALLER = 32;

    private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    /** Who runs tasks now. */
    private final AtomicReference<@Nullable Thread> owner = new AtomicReference<>();
    /** The thread sleeps, or is about to; whoever sets it to false wakes it. */
    private final AtomicBoolean parked = new AtomicBoolean();
    private final Thread thread;
    private final ScheduledExecutorService timers;
    private final Consumer<Throwable> onFailure;
    private volatile boolean closed;

    /**
     * Starts the thread.
     *
     * @param name of the thread
     * @param timers hands in what is due
     * @param onFailure told, where the task ran, what it threw; no task runs afterwards
     */
    ThreadLoop(String name, ScheduledExecutorService timers, Consumer<Throwable> onFailure) {
        this.onFailure = onFailure;
        this.timers = timers;
        this.thread = Thread.ofPlatform().daemon().name(name).start(this::work);
    }

    @Override
    public void execute(Runnable task) {
        tasks.add(task);
        if (owner.get() == null) {
            wake();
        }
    }

    /**
     * Hands a task in, and runs it now, and what waits before it and comes of it, if nobody runs tasks; so it has often been
     * done when this returns. From any thread that may take the time and holds no lock that a task needs.
     */
    @Override
    public void run(Runnable task) {
        tasks.add(task);
        Thread caller = Thread.currentThread();
        if (closed || !owner.compareAndSet(null, caller)) {
            return;
        }
        boolean interrupted = Thread.interrupted();
        try {
            runTasks(TASKS_OF_A_CALLER);
        } finally {
            resign();
            if (interrupted) {
                caller.interrupt();
            }
        }
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
        if (closed) {
            return () -> {};
        }
        Future<?> timer = timers.schedule(() -> execute(task), delayNanos, TimeUnit.NANOSECONDS);
        return () -> timer.cancel(false);
    }

    @Override
    public boolean isCurrent() {
        return Thread.currentThread().equals(owner.get());
    }

    private void wake() {
        if (parked.get() && parked.compareAndSet(true, false)) {
            LockSupport.unpark(thread);
        }
    }

    /** As the owner. */
    private void runTasks(int most) {
        for (int count = 0; count < most && !closed; count++) {
            Runnable task = tasks.poll();
            if (task == null) {
                return;
            }
            try {
                task.run();
            } catch (Throwable failure) {
                closed = true;
                onFailure.accept(failure);
            }
        }
    }

    private void resign() {
        owner.set(null);
        if (closed) {
            LockSupport.unpark(thread);
        } else if (!tasks.isEmpty()) {
            wake();
        }
    }

    /** The thread's work. It keeps the loop when it ends, so that nobody runs anything afterwards. */
    private void work() {
        while (!closed) {
            if (!tasks.isEmpty() && owner.compareAndSet(null, thread)) {
                try {
                    runTasks(Integer.MAX_VALUE);
                } finally {
                    resign();
                }
            } else {
                parked.set(true);
                if (!closed && (tasks.isEmpty() || owner.get() != null)) {
                    LockSupport.park(this);
                }
                parked.set(false);
            }
        }
        while (!owner.compareAndSet(null, thread)) {
            LockSupport.park(this);
        }
    }

    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
        if (!isCurrent()) {
            Threads.join(thread);
        }
    }
}
