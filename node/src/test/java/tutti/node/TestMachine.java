package tutti.node;

import java.time.Instant;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import tutti.runtime.Background;
import tutti.runtime.Clock;
import tutti.runtime.Loop;
import tutti.runtime.Machine;
import tutti.runtime.Network;

/**
 * A machine without threads, in virtual time: what was handed in runs when the test says so, what is due first at first, and of
 * what is due at the same time what was handed in first.
 */
final class TestMachine implements Machine, Clock {
    private static final Instant BEGINNING = Instant.parse("2026-11-21T00:00:00Z");
    /** What each task takes. */
    private static final long TASK_NANOS = 1_000;
    /** What takes longer never comes. */
    private static final long PATIENCE_NANOS = 60_000_000_000L;

    private record Event(long dueNanos, long number, Runnable task) {}

    private final PriorityQueue<Event> events = new PriorityQueue<>(
            Comparator.comparingLong(Event::dueNanos).thenComparingLong(Event::number));
    private long handedIn;
    private long streams;
    private long nowNanos;

    /** Hands in something that belongs to no loop. */
    void after(long nanos, Runnable task) {
        events.add(new Event(nowNanos + nanos, ++handedIn, task));
    }

    private boolean step() {
        Event next = events.poll();
        if (next == null) {
            return false;
        }
        nowNanos = Math.max(nowNanos, next.dueNanos());
        next.task().run();
        nowNanos += TASK_NANOS;
        return true;
    }

    /** Does what is due, and what comes of it at once. */
    void runDue() {
        for (Event next = events.peek(); next != null && next.dueNanos() <= nowNanos; next = events.peek()) {
            step();
        }
    }

    /** Lets time pass, and does what is due meanwhile. */
    void runFor(long nanos) {
        long end = nowNanos + nanos;
        for (Event next = events.peek(); next != null && next.dueNanos() <= end; next = events.peek()) {
            step();
        }
        nowNanos = Math.max(nowNanos, end);
    }

    /** Lets time pass until something is so. */
    void runUntil(BooleanSupplier reached) {
        long end = nowNanos + PATIENCE_NANOS;
        while (!reached.getAsBoolean()) {
            if (nowNanos > end || !step()) {
                throw new AssertionError("it does not become so, until " + now());
            }
        }
    }

    @Override
    public Clock clock() {
        return this;
    }

    @Override
    public long nanoTime() {
        return nowNanos;
    }

    @Override
    public Instant now() {
        return BEGINNING.plusNanos(nowNanos);
    }

    @Override
    public RandomGenerator random(String label) {
        return new SplittableRandom(label.hashCode() + ++streams);
    }

    @Override
    public Loop loop(String name, Consumer<Throwable> onFailure) {
        return new EventsLoop(onFailure);
    }

    @Override
    public Network network(String name, Consumer<Throwable> onFailure) {
        throw new UnsupportedOperationException("nodes speak to each other through their order");
    }

    @Override
    public Background background(String name, Work work) {
        Job job = new Job(work);
        after(0, job::join);
        return job;
    }

    private final class EventsLoop implements Loop {
        private final Consumer<Throwable> onFailure;
        private boolean closed;
        private boolean current;

        EventsLoop(Consumer<Throwable> onFailure) {
            this.onFailure = onFailure;
        }

        @Override
        public void execute(Runnable task) {
            after(0, () -> runTask(task));
        }

        @Override
        public Timer schedule(long delayNanos, Runnable task) {
            boolean[] cancelled = new boolean[1];
            after(delayNanos, () -> {
                if (!cancelled[0]) {
                    runTask(task);
                }
            });
            return () -> cancelled[0] = true;
        }

        private void runTask(Runnable task) {
            if (closed) {
                return;
            }
            current = true;
            try {
                task.run();
            } catch (RuntimeException | Error failure) {
                closed = true;
                onFailure.accept(failure);
            } finally {
                current = false;
            }
        }

        @Override
        public boolean isCurrent() {
            return current;
        }

        @Override
        public void close() {
            closed = true;
        }
    }

    private static final class Job implements Background {
        private final Work work;
        private boolean done;
        private @Nullable Exception failure;

        Job(Work work) {
            this.work = work;
        }

        @Override
        public boolean isDone() {
            return done;
        }

        @Override
        public @Nullable Exception failure() {
            return failure;
        }

        @Override
        public void join() {
            if (done) {
                return;
            }
            done = true;
            try {
                work.run();
            } catch (Exception thrown) {
                failure = thrown;
            }
        }
    }
}
