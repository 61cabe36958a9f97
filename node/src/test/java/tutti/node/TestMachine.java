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
    private static final int STEPS_MAX = 10_000_000;

    private record Event(long dueNanos, long number, Runnable task) {}

    private final PriorityQueue<Event> events = new PriorityQueue<>(
            Comparator.comparingLong(Event::dueNanos).thenComparingLong(Event::number));
    private long handedIn;
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
        nowNanos = next.dueNanos();
        next.task().run();
        return true;
    }

    /** Does what is due now, and what comes of it now. */
    void runDue() {
        runFor(0);
    }

    /** Lets time pass, and does what is due meanwhile. */
    void runFor(long nanos) {
        long end = nowNanos + nanos;
        for (Event next = events.peek(); next != null && next.dueNanos() <= end; next = events.peek()) {
            step();
        }
        nowNanos = end;
    }

    /** Lets time pass until something is so. */
    void runUntil(BooleanSupplier reached) {
        for (int steps = 0; !reached.getAsBoolean(); steps++) {
            if (steps == STEPS_MAX || !step()) {
                throw new AssertionError("it never becomes so");
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
        return new SplittableRandom(label.hashCode());
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
