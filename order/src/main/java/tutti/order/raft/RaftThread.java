package tutti.order.raft;

import io.microraft.executor.RaftNodeExecutor;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
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

    private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final AtomicInteger waiting = new AtomicInteger();
    private final AtomicBoolean parked = new AtomicBoolean();
    /** Of this thread only. */
    private final PriorityQueue<Timer> timers = new PriorityQueue<>(
            Comparator.comparingLong(Timer::atNanos).thenComparingLong(Timer::number));
    private long timersMade;
    private volatile boolean stopped;
    private final ReentrantLock roomLock = new ReentrantLock();
    private final Condition room = roomLock.newCondition();
    private final AtomicInteger wantRoom = new AtomicInteger();
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
        stopped = true;
        LockSupport.unpark(thread);
        makeRoom();
        if (!isCurrent() && thread.isAlive()) {
            thread.join();
        }
        tasks.clear();
    }

    private boolean isCurrent() {
        return Thread.currentThread().equals(thread);
    }

    @Override
    public void execute(Runnable task) {
        if (stopped) {
            return;
        }
        waiting.incrementAndGet();
        tasks.add(task);
        if (parked.get() && parked.compareAndSet(true, false)) {
            LockSupport.unpark(thread);
        }
    }

    /** As {@link #execute}, but waits while too many tasks wait. Not for this thread itself. */
    void executeFromOutside(Runnable task) throws InterruptedException {
        if (waiting.get() >= tasksMax) {
            roomLock.lock();
            try {
                wantRoom.incrementAndGet();
                while (!stopped && waiting.get() >= tasksMax) {
                    room.await();
                }
            } finally {
                wantRoom.decrementAndGet();
                roomLock.unlock();
            }
        }
        execute(task);
    }

    private void makeRoom() {
        roomLock.lock();
        try {
            room.signalAll();
        } finally {
            roomLock.unlock();
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
        long at = System.nanoTime() - originNanos + delayNanos;
        if (isCurrent()) {
            timers.add(new Timer(at, timersMade++, task));
        } else {
            execute(() -> timers.add(new Timer(at, timersMade++, task)));
        }
    }

    private void run() {
        while (!stopped) {
            runDueTimers();
            Runnable task = tasks.poll();
            if (task == null) {
                park();
                continue;
            }
            run(task);
            if (waiting.decrementAndGet() < tasksMax && wantRoom.get() > 0) {
                makeRoom();
            }
        }
    }

    private void run(Runnable task) {
        try {
            task.run();
        } catch (Throwable e) {
            onError.accept(e);
        }
    }

    /** Waits for a task or the next timer. */
    private void park() {
        parked.set(true);
        // A task added between the poll and the flag is seen here; one added after the flag unparks.
        if (tasks.isEmpty() && !stopped) {
            Timer next = timers.peek();
            if (next == null) {
                LockSupport.park(this);
            } else {
                LockSupport.parkNanos(this, next.atNanos() - (System.nanoTime() - originNanos));
            }
        }
        parked.set(false);
    }

    private void runDueTimers() {
        if (timers.isEmpty()) {
            return;
        }
        long now = System.nanoTime() - originNanos;
        for (Timer timer = timers.peek(); timer != null && timer.atNanos() <= now && !stopped; timer = timers.peek()) {
            timers.remove();
            run(timer.task());
        }
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
