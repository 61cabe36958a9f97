package tutti.model;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import tutti.sim.host.CpuPool;

/**
 * The databases at one site: a primary, where transactions that may change something run and decided write sets are applied, and
 * secondaries, as a MacroDB has them (MacroDDB thesis, section 3.4.1). A secondary makes what has become visible at the
 * primary, one write set after the other, and runs transactions that only read, each at the secondary with the fewest of them, and only
 * when that has all that was visible when it came. Without secondaries the primary runs all.
 *
 * <p>
 * All of them share the site's processors. Each lets in so many at a time, the others wait in the order in which they came.
 */
final class Engines {
    /** What computes in a database, or waits to be let in, or computes outside of one. */
    static final class Job {
        private final @Nullable Engine engine;
        private final long nanos;
        private final Runnable done;
        private CpuPool.@Nullable Job computing;

        private Job(@Nullable Engine engine, long nanos, Runnable done) {
            this.engine = engine;
            this.nanos = nanos;
            this.done = done;
        }
    }

    /** One database. */
    final class Engine {
        private final Deque<Job> outside = new ArrayDeque<>();
        private final Deque<Batch> batches = new ArrayDeque<>();
        private final List<Waiting> waiting = new ArrayList<>();
        private int inside;
        private int readers;
        private long version;

        private Engine() {}

        /** Computes here, when it is let in, and then {@code done} in the event in which that ends. */
        Job execute(long nanos, Runnable done) {
            Job job = new Job(this, nanos, done);
            if (admits == 0 || inside < admits) {
                enter(job);
            } else {
                outside.add(job);
            }
            return job;
        }

        private void enter(Job job) {
            inside++;
            job.computing = cpu.execute(job.nanos, () -> {
                job.computing = null;
                leave();
                job.done.run();
            });
        }

        private void leave() {
            inside--;
            Job next = outside.poll();
            if (next != null) {
                enter(next);
            }
        }

        private void add(Batch batch) {
            batches.add(batch);
            if (batches.size() == 1) {
                apply(batch);
            }
        }

        private void apply(Batch batch) {
            execute(batch.nanos(), () -> {
                batches.remove();
                version = batch.position();
                List<Waiting> before = List.copyOf(waiting);
                waiting.removeIf(one -> one.version() <= version);
                before.stream().filter(one -> one.version() <= version).forEach(one -> one.then().accept(this));
                Batch next = batches.peek();
                if (next != null) {
                    apply(next);
                }
            });
        }
    }

    private record Batch(long position, long nanos) {}

    private record Waiting(long version, Consumer<Engine> then) {}

    private final CpuPool cpu;
    private final int admits;
    private final ToLongFunction<Work> applying;
    private final Engine primary;
    private final List<Engine> secondaries = new ArrayList<>();
    private long version;

    /**
     * Databases that are the same.
     *
     * @param applying how long a processor takes to make a write set
     */
    Engines(CpuPool cpu, ModelConfig.Copies copies, ToLongFunction<Work> applying) {
        this.cpu = cpu;
        this.admits = copies.admits();
        this.applying = applying;
        this.primary = new Engine();
        for (int i = 1; i < copies.replicas(); i++) {
            secondaries.add(new Engine());
        }
    }

    Engine primary() {
        return primary;
    }

    /** Computes on the site's processors and in no database. */
    Job outside(long nanos, Runnable done) {
        Job job = new Job(null, nanos, done);
        job.computing = cpu.execute(nanos, () -> {
            job.computing = null;
            done.run();
        });
        return job;
    }

    /** Ends a job before its time; without effect if it has ended. */
    void cancel(Job job) {
        CpuPool.Job computing = job.computing;
        if (computing != null) {
            cpu.cancel(computing);
            job.computing = null;
            if (job.engine != null) {
                job.engine.leave();
            }
        } else if (job.engine != null) {
            job.engine.outside.remove(job);
        }
    }

    /** Gives who only reads a database, when that has all that is visible now; it must be told when it has been read. */
    void read(Consumer<Engine> then) {
        Engine engine = secondaries.stream().min(Comparator.comparingInt(one -> one.readers)).orElse(primary);
        engine.readers++;
        if (engine == primary || engine.version >= version) {
            then.accept(engine);
        } else {
            engine.waiting.add(new Waiting(version, then));
        }
    }

    /** A transaction that was given this database has ended. */
    void readFrom(Engine engine) {
        engine.readers--;
    }

    /** A write set became visible at the primary. */
    void visible(long position, Work work) {
        if (!secondaries.isEmpty()) {
            version = position;
            secondaries.forEach(one -> one.add(new Batch(position, applying.applyAsLong(work))));
        }
    }

    /** Forgets what computes, and what waits, with the site's processors. */
    void clear() {
        cpu.clear();
        List<Engine> all = new ArrayList<>(secondaries);
        all.add(primary);
        for (Engine engine : all) {
            engine.outside.clear();
            engine.batches.clear();
            engine.waiting.clear();
            engine.inside = 0;
        }
    }
}
