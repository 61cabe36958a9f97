package tutti.order.raft;

import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.PriorityQueue;
import tutti.runtime.Clock;
import tutti.runtime.Loop;

/** A loop and its clock whose time passes when a test lets it. Of the test's thread. */
final class ManualLoop implements Loop, Clock {
    private record Due(long atNanos, long number, Runnable task) {}

    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
    private final PriorityQueue<Due> timers = new PriorityQueue<>(
            Comparator.comparingLong(Due::atNanos).thenComparingLong(Due::number));
    private long nanos = 1_000_000_000L;
    private long made;

    /** Lets time pass, and runs what is due meanwhile. */
    void pass(long byNanos) {
        long until = nanos + byNanos;
        runTasks();
        for (Due due = timers.peek(); due != null && due.atNanos() <= until; due = timers.peek()) {
            timers.remove();
            nanos = due.atNanos();
            due.task().run();
            runTasks();
        }
        nanos = until;
    }

    private void runTasks() {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
        }
    }

    @Override
    public void execute(Runnable task) {
        tasks.add(task);
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
        Due due = new Due(nanos + delayNanos, made++, task);
        timers.add(due);
        return () -> timers.remove(due);
    }

    @Override
    public boolean isCurrent() {
        return true;
    }

    @Override
    public void close() {
        tasks.clear();
        timers.clear();
    }

    @Override
    public long nanoTime() {
        return nanos;
    }

    @Override
    public Instant now() {
        return Instant.ofEpochSecond(0, nanos);
    }
}
