package tutti.sim.host;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;

/**
 * The cores of a host: jobs of known length, served round robin (D5.1, section 2.3.2). While nobody waits, a job runs to its
 * end in one event; when somebody comes, the job that is running is cut at the next end of a quantum, counted from when it
 * was given the core. A job of real code takes the core of an ordinary job at once, if no core is free; the ordinary
 * job goes on where it stood when a core is free again. While the pool is paused no job makes progress.
 */
public final class CpuPool {
    private final Kernel kernel;
    private final long quantumNanos;
    private final Core[] cores;
    private final Deque<Job> urgent = new ArrayDeque<>();
    private final Deque<Job> waiting = new ArrayDeque<>();
    private final Label label;
    private boolean paused;
    private long busyNanos;
    private long realNanos;

    /** What uses a core for a time, until it has ended or was cancelled. */
    public static final class Job {
        private final Runnable done;
        private final boolean real;
        private long leftNanos;

        private Job(long leftNanos, boolean real, Runnable done) {
            this.leftNanos = leftNanos;
            this.real = real;
            this.done = done;
        }
    }

    private final class Core implements Runnable {
        private @Nullable Job job;
        private long since;
        private long handle;
        /** Whether its event is the end of a quantum or of the job; if not, it must be cut when somebody comes. */
        private boolean cut;

        @Override
        public void run() {
            expire(this);
        }
    }

    /**
     * Idle cores.
     *
     * @param host for the labels of its events
     * @param cores how many, at least 1
     * @param quantumNanos how long a job runs while others wait for a core, at least 1
     */
    public CpuPool(Kernel kernel, String host, int cores, long quantumNanos) {
        this.kernel = kernel;
        this.quantumNanos = quantumNanos;
        this.label = Label.of("cpu", host);
        this.cores = new Core[cores];
        for (int i = 0; i < cores; i++) {
            this.cores[i] = new Core();
        }
    }

    /** Core time used so far, in nanoseconds of one core. */
    public long busyNanos() {
        long busy = busyNanos;
        for (Core core : cores) {
            if (core.job != null && !paused) {
                busy += kernel.now() - core.since;
            }
        }
        return busy;
    }

    /** What of it jobs of real code that have ended, or were cut, have used. */
    public long realNanos() {
        return realNanos;
    }

    /** Jobs that wait for a core. */
    public int queued() {
        return urgent.size() + waiting.size();
    }

    /** Runs an ordinary job, and then {@code done} in the event in which it ends. */
    public Job execute(long nanos, Runnable done) {
        return execute(nanos, false, done);
    }

    /**
     * Runs a job, and then {@code done} in the event in which it ends.
     *
     * @param nanos how long on one core, at least 1
     * @param real whether it is one of real code, which goes before all ordinary ones
     */
    public Job execute(long nanos, boolean real, Runnable done) {
        Job job = new Job(nanos, real, done);
        (real ? urgent : waiting).add(job);
        if (paused) {
            return job;
        }
        for (Core core : cores) {
            if (core.job == null) {
                next(core);
                return job;
            }
        }
        if (real) {
            preempt();
        } else {
            cutAll();
        }
        return job;
    }

    /** Takes a core from the first ordinary job that has one. */
    private void preempt() {
        for (Core core : cores) {
            if (core.job != null && !core.job.real) {
                kernel.cancel(core.handle);
                Job job = account(core);
                if (job.leftNanos > 0) {
                    waiting.addFirst(job);
                    next(core);
                } else {
                    next(core);
                    job.done.run();
                }
                return;
            }
        }
    }

    private void cutAll() {
        for (Core core : cores) {
            if (!core.cut && core.job != null && !core.job.real) {
                kernel.cancel(core.handle);
                long used = kernel.now() - core.since;
                schedule(core, (used / quantumNanos + 1) * quantumNanos - used, used);
            }
        }
    }

    /** Ends a job before its time; without effect if it has ended. What it has used stays used. */
    public void cancel(Job job) {
        for (Core core : cores) {
            if (core.job == job) {
                kernel.cancel(core.handle);
                account(core);
                next(core);
                return;
            }
        }
        if (!waiting.remove(job)) {
            urgent.remove(job);
        }
    }

    private void next(Core core) {
        Job job = urgent.isEmpty() ? waiting.poll() : urgent.poll();
        core.job = job;
        core.since = kernel.now();
        if (job != null) {
            schedule(core, job.real || waiting.isEmpty() ? Long.MAX_VALUE : quantumNanos, 0);
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
        core.handle = kernel.schedule(Math.min(nanos, left), label, core);
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
        if (job.real) {
            realNanos += used;
        }
        core.job = null;
        return job;
    }

    /** Nothing goes on until {@link #resume}. */
    public void pause() {
        for (int i = cores.length - 1; i >= 0; i--) {
            Job job = cores[i].job;
            if (job != null) {
                kernel.cancel(cores[i].handle);
                account(cores[i]);
                (job.real ? urgent : waiting).addFirst(job);
            }
        }
        paused = true;
    }

    /** Goes on where it stood. */
    public void resume() {
        paused = false;
        for (Core core : cores) {
            next(core);
        }
    }

    /** Forgets all jobs. */
    public void clear() {
        for (Core core : cores) {
            if (core.job != null) {
                kernel.cancel(core.handle);
                account(core);
            }
        }
        urgent.clear();
        waiting.clear();
        paused = false;
    }
}
