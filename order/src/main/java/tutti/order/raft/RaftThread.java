package tutti.order.raft;

import io.microraft.executor.RaftNodeExecutor;
import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * The one thread on which a node's Raft runs, its timers, and its end of the connections to the other nodes: what arrives
 * is dealt with where it is read, without waking another thread.
 *
 * <p>
 * MicroRaft counts its timeouts in whole seconds, which is too coarse for a quick fail-over. So its time runs faster
 * here: a delay of one second ends after {@code 1 / speed} real seconds, and {@link #clock} agrees with that.
 */
final class RaftThread implements RaftNodeExecutor {
    /** How many tasks may run before the connections are looked at. */
    private static final int TASKS_PER_TURN = 64;
    private static final long NANOS_PER_MILLI = 1_000_000;

    private record Timer(long atNanos, long number, Runnable task) {}

    /** Told that its channel can do something; on this thread. */
    interface Ready {
        void ready(SelectionKey key) throws IOException;
    }

    private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean parked = new AtomicBoolean();
    /** Of this thread only. */
    private final PriorityQueue<Timer> timers = new PriorityQueue<>(
            Comparator.comparingLong(Timer::atNanos).thenComparingLong(Timer::number));
    private long timersMade;
    private volatile boolean stopped;
    private final Selector selector;
    private final double speed;
    private final Thread thread;
    private final Runnable afterEach;
    private final Consumer<Throwable> onError;
    private final long originNanos = System.nanoTime();

    /**
     * A thread that does not run yet.
     *
     * @param speed how many of MicroRaft's seconds pass in one real second
     * @param afterEach run after each task and each event of a channel, to send what they have left to be sent
     * @param onError told what a task threw; the thread goes on
     */
    RaftThread(String name, double speed, Runnable afterEach, Consumer<Throwable> onError) throws IOException {
        this.speed = speed;
        this.afterEach = afterEach;
        this.onError = onError;
        selector = Selector.open();
        thread = Thread.ofPlatform().daemon().name(name).unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    /** Stops after the current task; no task begins after this returns. Does not wait for itself. */
    void stop() throws InterruptedException, IOException {
        stopped = true;
        selector.wakeup();
        if (thread.getState() == Thread.State.NEW) {
            selector.close();
        } else if (!isCurrent()) {
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
        tasks.add(task);
        if (parked.get() && parked.compareAndSet(true, false)) {
            selector.wakeup();
        }
    }

    /** Has a non-blocking channel looked after from now on, until it is closed. From this thread. */
    SelectionKey register(SocketChannel channel, int operations, Ready ready) throws IOException {
        return channel.register(selector, operations, ready);
    }

    /** Has channels that were closed forgotten at once. Any thread. */
    void wakeUp() {
        selector.wakeup();
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
        try (selector) {
            turns();
        } catch (IOException e) {
            onError.accept(e);
        }
    }

    private void turns() throws IOException {
        while (!stopped) {
            runDueTimers();
            int run = 0;
            for (Runnable task = tasks.poll(); task != null && !stopped; task = tasks.poll()) {
                run(task);
                if (++run == TASKS_PER_TURN) {
                    break;
                }
            }
            if (!stopped) {
                select();
            }
        }
    }

    private void run(Runnable task) {
        try {
            task.run();
            afterEach.run();
        } catch (Throwable e) {
            onError.accept(e);
        }
    }

    /** Deals with what has happened on the connections; if no task waits, waits for that, for one, or for the next timer. */
    private void select() throws IOException {
        parked.set(true);
        // A task added between the last poll and the flag is seen here; one added after the flag wakes the selector.
        if (!tasks.isEmpty() || stopped) {
            parked.set(false);
            selector.selectNow(this::ready);
            return;
        }
        Timer next = timers.peek();
        if (next == null) {
            selector.select(this::ready);
        } else {
            long nanos = next.atNanos() - (System.nanoTime() - originNanos);
            selector.select(this::ready, Math.max(1, (nanos + NANOS_PER_MILLI - 1) / NANOS_PER_MILLI));
        }
        parked.set(false);
    }

    private void ready(SelectionKey key) {
        parked.set(false);
        try {
            ((Ready) key.attachment()).ready(key);
            afterEach.run();
        } catch (Throwable e) {
            onError.accept(e);
        }
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
