package tutti.order.raft;

import io.microraft.executor.RaftNodeExecutor;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * The one thread on which a node's Raft runs, and its timers.
 *
 * <p>
 * MicroRaft counts its timeouts in whole seconds, which is too coarse for a quick fail-over. So its time runs faster
 * here: a delay of one second ends after {@code 1 / speed} real seconds, and {@link #clock} agrees with that.
 */
final class RaftThread implements RaftNodeExecutor {
    private record Timer(long atNanos, long number, Runnable task) {}

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition work = lock.newCondition();
    private final Condition room = lock.newCondition();
    private ArrayDeque<Runnable> tasks = new ArrayDeque<>();
    private final PriorityQueue<Timer> timers = new PriorityQueue<>(
            Comparator.comparingLong(Timer::atNanos).thenComparingLong(Timer::number));
    private long timersMade;
    private boolean stopped;
    private final int tasksMax;
    private final double speed;
    private final Thread thread;
    private final Consumer<Throwable> onError;
    private final long originNanos = System.nanoTime();

    /**
     * A thread that does not run yet.
     *
     * @param speed how many of MicroRaft's seconds pass in one real second
     * @param tasksMax how many tasks may wait until {@link #executeFromOutside} makes its caller wait
     * @param onError told what a task threw; the thread goes on
     */
    RaftThread(String name, double speed, int tasksMax, Consumer<Throwable> onError) {
        this.speed = speed;
        this.tasksMax = tasksMax;
        this.onError = onError;
        thread = Thread.ofPlatform().daemon().name(name).unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    /** Stops after the current task; no task begins after this returns. Does not wait for itself. */
    void stop() throws InterruptedException {
        lock.lock();
        try {
            stopped = true;
            tasks.clear();
            timers.clear();
            work.signal();
            room.signalAll();
        } finally {
            lock.unlock();
        }
        if (!isCurrent() && thread.isAlive()) {
            thread.join();
        }
    }

    private boolean isCurrent() {
        return Thread.currentThread().equals(thread);
    }

    @Override
    public void execute(Runnable task) {
        lock.lock();
        try {
            if (!stopped) {
                tasks.add(task);
                if (tasks.size() == 1) {
                    work.signal();
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** As {@link #execute}, but waits while too many tasks wait. Not for this thread itself. */
    void executeFromOutside(Runnable task) throws InterruptedException {
        lock.lock();
        try {
            while (!stopped && tasks.size() >= tasksMax) {
                room.await();
            }
            execute(task);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void submit(Runnable task) {
        execute(task);
    }

    @Override
    public void schedule(Runnable task, long delay, TimeUnit unit) {
        scheduleReal(task, (long) (unit.toNanos(delay) / speed));
    }

    /** Runs a task after a delay in real time. */
    void scheduleReal(Runnable task, long delayNanos) {
        lock.lock();
        try {
            if (!stopped) {
                timers.add(new Timer(System.nanoTime() - originNanos + delayNanos, timersMade++, task));
                work.signal();
            }
        } finally {
            lock.unlock();
        }
    }

    private void run() {
        ArrayDeque<Runnable> running = new ArrayDeque<>();
        while (true) {
            lock.lock();
            try {
                while (!stopped && tasks.isEmpty() && !takeDue(running)) {
                    Timer next = timers.peek();
                    if (next == null) {
                        work.await();
                    } else {
                        var _ = work.awaitNanos(next.atNanos() - (System.nanoTime() - originNanos));
                    }
                }
                if (stopped) {
                    return;
                }
                takeDue(running);
                ArrayDeque<Runnable> all = tasks;
                if (running.isEmpty()) {
                    tasks = running;
                    running = all;
                } else {
                    running.addAll(all);
                    all.clear();
                }
                room.signalAll();
            } catch (InterruptedException e) {
                onError.accept(e);
                return;
            } finally {
                lock.unlock();
            }
            for (Runnable task = running.poll(); task != null; task = running.poll()) {
                try {
                    task.run();
                } catch (Throwable e) {
                    onError.accept(e);
                }
            }
        }
    }

    private boolean takeDue(ArrayDeque<Runnable> to) {
        long now = System.nanoTime() - originNanos;
        boolean any = false;
        for (Timer t = timers.peek(); t != null && t.atNanos() <= now; t = timers.peek()) {
            to.add(t.task());
            timers.remove();
            any = true;
        }
        return any;
    }

    /** MicroRaft's clock: monotonic, and far enough from zero that "never" lies in the past. */
    Clock clock() {
        return new Clock() {
            @Override
            public long millis() {
                return 1_000_000_000L + (long) ((System.nanoTime() - originNanos) * speed / 1e6);
            }

            @Override
            public Instant instant() {
                return Instant.ofEpochMilli(millis());
            }

            @Override
            public ZoneId getZone() {
                return ZoneOffset.UTC;
            }

            @Override
            public Clock withZone(ZoneId zone) {
                return this;
            }
        };
    }
}
