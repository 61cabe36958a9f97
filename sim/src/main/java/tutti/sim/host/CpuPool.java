package tutti.sim.host;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;

/**
 * The cores of a host: jobs of known length, served round robin (D5.1, section 2.3.2). While nobody waits, a job runs to its
 * end in one event; when somebody comes, the job that is running is cut at the next end of a quantum, counted from when it
 * was given the core. While the host is paused no job makes progress.
 */
final class CpuPool {
    private final Kernel kernel;
    private final long quantumNanos;
    private final Core[] cores;
    private final Deque<Job> waiting = new ArrayDeque<>();
    private final Label label;
    private boolean paused;
    private long busyNanos;

    private static final class Job {
        private final Runnable done;
        private long leftNanos;

        Job(long leftNanos, Runnable done) {
            this.leftNanos = leftNanos;
            this.done = done;
        }
    }

    private static final class Core {
        private @Nullable Job job;
        private long since;
        private long handle;
        /** Whether its event is the end of a quantum or of the job; if not, it must be cut when somebody comes. */
        private boolean cut;
    }

    CpuPool(Kernel kernel, String host, int cores, long quantumNanos) {
        this.kernel = kernel;
        this.quantumNanos = quantumNanos;
        this.label = Label.of("cpu", host);
        this.cores = new Core[cores];
        for (int i = 0; i < cores; i++) {
            this.cores[i] = new Core();
        }
    }

    /** Core time used so far, in nanoseconds of one core. */
    long busyNanos() {
        long busy = busyNanos;
        for (Core core : cores) {
            if (core.job != null && !paused) {
                busy += kernel.now() - core.since;
            }
        }
        return busy;
    }

    /** Jobs that wait for a core. */
    int queued() {
        return waiting.size();
    }

    /** Runs a job, and then {@code done} in the event in which it ends. */
    void execute(long nanos, Runnable done) {
        waiting.add(new Job(nanos, done));
        if (paused) {
            return;
        }
        for (Core core : cores) {
            if (core.job == null) {
                next(core);
                return;
            }
        }
        for (Core core : cores) {
            if (!core.cut) {
                kernel.cancel(core.handle);
                long used = kernel.now() - core.since;
                schedule(core, (used / quantumNanos + 1) * quantumNanos - used, used);
            }
        }
    }

    private void next(Core core) {
        core.job = waiting.poll();
        core.since = kernel.now();
        if (core.job != null) {
            schedule(core, waiting.isEmpty() ? Long.MAX_VALUE : quantumNanos, 0);
        }
    }

    /** Lets the core's job run on for a time or to its end, whichever is first, when it has used some already. */
    private void schedule(Core core, long nanos, long used) {
        Job job = core.job;
        if (job == null) {
            throw new IllegalStateException("no job on this core");
        }
        long left = job.leftNanos - used;
        core.cut = nanos != Long.MAX_VALUE;
        core.handle = kernel.schedule(Math.min(nanos, left), label, () -> expire(core));
    }

    private void expire(Core core) {
        Job job = account(core);
        if (job.leftNanos > 0) {
            waiting.add(job);
            next(core);
        } else {
            next(core);
            job.done.run();
        }
    }

    private Job account(Core core) {
        Job job = core.job;
        if (job == null) {
            throw new IllegalStateException("no job on this core");
        }
        long used = kernel.now() - core.since;
        job.leftNanos -= used;
        busyNanos += used;
        core.job = null;
        return job;
    }

    /** Nothing goes on until {@link #resume}. */
    void pause() {
        for (int i = cores.length - 1; i >= 0; i--) {
            if (cores[i].job != null) {
                kernel.cancel(cores[i].handle);
                waiting.addFirst(account(cores[i]));
            }
        }
        paused = true;
    }

    /** Goes on where it stood. */
    void resume() {
        paused = false;
        for (Core core : cores) {
            next(core);
        }
    }

    /** Forgets all jobs. */
    void clear() {
        for (Core core : cores) {
            if (core.job != null) {
                kernel.cancel(core.handle);
                account(core);
            }
        }
        waiting.clear();
        paused = false;
    }
}
