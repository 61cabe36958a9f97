package tutti.sim.host;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.runtime.PeerIdentity;
import tutti.sim.disk.Disk;
import tutti.sim.disk.Unsynced;
import tutti.sim.kernel.Clock;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.RandomStream;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.Threads;

/**
 * A machine: it computes, has a clock and a disk, and fails. Everything that happens on it goes through it: timers
 * ({@link #after}), what arrives from outside ({@link #enter}), jobs ({@link #execute}), threads ({@link #spawn}). So a
 * paused host does nothing (and does it all, in order, when it is resumed), and a crashed one forgets: timers, jobs, threads
 * and what was told to {@link #onCrash} end with the life in which they began, and its disk keeps what was synced. The
 * programs given to {@link #onBoot} begin with each {@link #boot}.
 *
 * <p>
 * Table 3.3 of D5.1: with a clock that drifts by rate r, what is scheduled after a delay d happens after d (1 + r), and an
 * elapsed time e is seen as e / (1 + r); scheduling latency is added to whatever is scheduled.
 */
public final class Host implements Clock {
    /** DOWN to UP by boot; UP to PAUSED and back by pause and resume; any to DOWN by crash. */
    public enum State {
        /** Not booted, or crashed. */
        DOWN,
        /** Works. */
        UP,
        /** Stands still. */
        PAUSED
    }

    private static final int FORGET_MIN = 64;
    private static final long MILLION = 1_000_000;

    private final Kernel kernel;
    private final Threads threads;
    private final String name;
    private final HostConfig config;
    private final CpuPool cpu;
    private final Disk disk;
    private final RandomStream random;
    private final Label bootLabel;
    private final Label crashLabel;
    private final Label pauseLabel;
    private final Label resumeLabel;
    private final List<Consumer<Host>> programs = new ArrayList<>();
    private final List<Runnable> crashActions = new ArrayList<>();
    private final Set<SimThread> running = new LinkedHashSet<>();
    private final Deque<Held> held = new ArrayDeque<>();
    /** When there are so many threads, those that have ended are forgotten. */
    private int forgetAt = FORGET_MIN;
    private State state = State.DOWN;
    private boolean retired;
    private @Nullable PeerIdentity identity;
    private long life;
    private int pauses;

    /** True nanoseconds that pass while the clock counts a million. */
    private long trueNanosPerMillion = MILLION;
    private long driftSince;
    private long shownSince;
    private long wallNanos;
    private Distribution schedulingLatency = Distribution.ZERO;
    private long delayed;

    private record Held(Label label, Runnable action) {}

    /** A host that is down. */
    public Host(Kernel kernel, Threads threads, String name, HostConfig config) {
        this.kernel = kernel;
        this.threads = threads;
        this.name = name;
        this.config = config;
        this.cpu = new CpuPool(kernel, name, config.cores(), config.quantumNanos());
        this.disk = new Disk(kernel, name, this::enter, config.disk());
        this.random = kernel.random("host " + name);
        this.bootLabel = Label.of("boot", name);
        this.crashLabel = Label.of("crash", name);
        this.pauseLabel = Label.of("pause", name);
        this.resumeLabel = Label.of("resume", name);
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** What it is made of. */
    public HostConfig config() {
        return config;
    }

    /** Has its programs prove to others that they are somebody, or nobody, as those do who connect without proof. */
    public void identify(@Nullable PeerIdentity as) {
        identity = as;
    }

    /** Who its programs prove to be, or null. */
    public @Nullable PeerIdentity identity() {
        return identity;
    }

    /** Its kernel. */
    public Kernel kernel() {
        return kernel;
    }

    /** Its processors; what runs on them directly is forgotten when it crashes, and otherwise not told of its lives. */
    public CpuPool cpu() {
        return cpu;
    }

    /** Its disk. */
    public Disk disk() {
        return disk;
    }

    /** Whether it works. */
    public State state() {
        return state;
    }

    /** How often it was booted. */
    public long life() {
        return life;
    }

    /** Random numbers for the programs on it. */
    public RandomStream random(String label) {
        return random.fork(label);
    }

    /** Core time used so far, all lives together, nanoseconds of one core. */
    public long busyNanos() {
        return cpu.busyNanos();
    }

    /** Jobs that wait for a core. */
    public int queuedJobs() {
        return cpu.queued();
    }

    /** It is down for good: whoever boots hosts leaves it so. */
    public void retire() {
        if (state != State.DOWN) {
            throw new IllegalStateException("host " + name + " is " + state + ": it is not retired while it works");
        }
        retired = true;
    }

    /** Whether it is down for good. */
    public boolean isRetired() {
        return retired;
    }

    /** Adds a program that begins with each boot, in the event of the boot, after those added before. */
    public void onBoot(Consumer<Host> program) {
        programs.add(program);
    }

    /** Adds what is to be done when this life ends in a crash; latest first. Gone afterwards. */
    public void onCrash(Runnable action) {
        requireRunning("onCrash");
        crashActions.add(action);
    }

    /** Begins a life. */
    public void boot() {
        if (state != State.DOWN) {
            throw new IllegalStateException("host " + name + " is " + state + ", it cannot boot");
        }
        state = State.UP;
        life++;
        kernel.trace(bootLabel, life);
        for (Consumer<Host> program : List.copyOf(programs)) {
            program.accept(this);
        }
    }

    /** Crashes; unsynced writes are lost. Without effect if it is down. */
    public void crash() {
        crash(Unsynced.LOST, random);
    }

    /**
     * Crashes. Without effect if it is down.
     *
     * @param unsynced what becomes of what was written and not synced
     * @param chance where that is random
     */
    public void crash(Unsynced unsynced, RandomStream chance) {
        if (state == State.DOWN) {
            return;
        }
        kernel.trace(crashLabel, life);
        state = State.DOWN;
        pauses = 0;
        held.clear();
        cpu.clear();
        for (Runnable action : crashActions.reversed()) {
            action.run();
        }
        crashActions.clear();
        for (SimThread thread : running) {
            thread.kill();
        }
        running.clear();
        disk.crash(unsynced, chance);
    }

    /** Stands still until {@link #resume} was called as often as this. Without effect if it is down. */
    public void pause() {
        if (state == State.DOWN) {
            return;
        }
        if (pauses++ == 0) {
            kernel.trace(pauseLabel, life);
            state = State.PAUSED;
            cpu.pause();
        }
    }

    /** Goes on, first with what would have happened meanwhile. Without effect if it is not paused. */
    public void resume() {
        if (state != State.PAUSED || --pauses > 0) {
            return;
        }
        kernel.trace(resumeLabel, life);
        state = State.UP;
        cpu.resume();
        long ofLife = life;
        for (Held one : List.copyOf(held)) {
            kernel.schedule(0, one.label, () -> enter(ofLife, one.label, one.action));
        }
        held.clear();
    }

    /** Sets by how much its clock is slow: 0.01 makes a delay of a second take 1.01; negative is fast, above -0.5. */
    public void setClockDrift(double rate) {
        if (!(rate > -0.5 && rate < 10)) {
            throw new IllegalArgumentException("a clock drift of " + rate + " is not between -0.5 and 10");
        }
        long shown = now();
        driftSince = kernel.now();
        shownSince = shown;
        trueNanosPerMillion = MILLION + Math.round(rate * MILLION);
    }

    /** Sets what is added to whatever is scheduled on it. */
    public void setSchedulingLatency(Distribution latency) {
        schedulingLatency = latency;
    }

    /** The time that its clock shows, in nanoseconds. */
    @Override
    public long now() {
        return now(0);
    }

    /** The time that its clock will show after so many true nanoseconds. */
    public long now(long aheadNanos) {
        long elapsed = kernel.now() + aheadNanos - driftSince;
        return shownSince + scaled(elapsed, MILLION, trueNanosPerMillion);
    }

    /** Sets by how many nanoseconds its wall clock is ahead of what its clock shows; negative is behind. */
    public void setWallClock(long nanos) {
        wallNanos = nanos;
    }

    /** What its wall clock will show after so many true nanoseconds, in nanoseconds since the simulation's beginning. */
    public long wallClock(long aheadNanos) {
        return now(aheadNanos) + wallNanos;
    }

    /** {@code nanos * multiplier / divisor}, rounded down, without overflow on the way. */
    private static long scaled(long nanos, long multiplier, long divisor) {
        if (multiplier == divisor) {
            return nanos;
        }
        return Math.floorDiv(nanos, divisor) * multiplier + Math.floorMod(nanos, divisor) * multiplier / divisor;
    }

    @Override
    public Timer after(long delayNanos, Label label, Runnable action) {
        return after(0, delayNanos, label, action);
    }

    /**
     * Has something done after a delay that begins later.
     *
     * @param aheadNanos after how many true nanoseconds it begins
     * @param delayNanos of its clock, at least 0
     */
    public Timer after(long aheadNanos, long delayNanos, Label label, Runnable action) {
        requireRunning(label);
        // Rounded up, so that a clock never shows less than what was waited for.
        long delay = -scaled(-delayNanos, trueNanosPerMillion, MILLION);
        HostTimer timer = new HostTimer(life, label, action);
        timer.handle = kernel.schedule(aheadNanos + delay + schedulingDelay(), label, timer);
        return timer;
    }

    /** By how much what is scheduled now is late, in true nanoseconds. */
    public long schedulingDelay() {
        long delay = schedulingLatency.sample(random);
        delayed += delay > 0 ? 1 : 0;
        return delay;
    }

    /** How often something was late. */
    public long delayed() {
        return delayed;
    }

    private final class HostTimer implements Timer, Runnable {
        private final long ofLife;
        private final Label label;
        private final Runnable action;
        private long handle;
        private boolean over;

        HostTimer(long ofLife, Label label, Runnable action) {
            this.ofLife = ofLife;
            this.label = label;
            this.action = action;
        }

        @Override
        public boolean cancel() {
            boolean works = !over;
            over = true;
            kernel.cancel(handle);
            return works;
        }

        /** It is due. */
        @Override
        public void run() {
            if (state == State.UP && ofLife == life) {
                fire();
            } else {
                enter(ofLife, label, this::fire);
            }
        }

        private void fire() {
            if (!over) {
                over = true;
                action.run();
            }
        }
    }

    /**
     * Does something on this host now, as what comes from outside must: if it is paused when it is resumed, if it is down
     * never.
     */
    public void enter(Label label, Runnable action) {
        enter(life, label, action);
    }

    private void enter(long ofLife, Label label, Runnable action) {
        if (ofLife != life) {
            return;
        }
        switch (state) {
            case UP -> action.run();
            case PAUSED -> held.add(new Held(label, action));
            case DOWN -> {
                // Whom it was for is no more.
            }
        }
    }

    /**
     * Uses a core, and then does something. If the host crashes first, it is never done.
     *
     * @param costNanos of CPU time on a machine of speed 1, at least 0; 0 is done at once
     */
    public void execute(long costNanos, Runnable done) {
        requireRunning("a job");
        if (costNanos < 0) {
            throw new IllegalArgumentException("a job of " + costNanos + " ns");
        }
        if (costNanos == 0) {
            done.run();
            return;
        }
        cpu.execute(Math.max(1, (long) ((double) costNanos / config.speed())), done);
    }

    /** Begins a simulated thread of this host; it ends when the host crashes. */
    public SimThread spawn(String threadName, Threads.Body body) {
        requireRunning(threadName);
        if (running.size() >= forgetAt) {
            running.removeIf(thread -> thread.state() == SimThread.State.ENDED);
            forgetAt = 2 * running.size() + FORGET_MIN;
        }
        SimThread thread = threads.spawn(this, name + "/" + threadName, body);
        running.add(thread);
        return thread;
    }

    private void requireRunning(Object what) {
        if (state == State.DOWN) {
            throw new IllegalStateException("host " + name + " is down: it cannot do " + what);
        }
    }

    @Override
    public String toString() {
        return "host " + name + " (" + state + ")";
    }
}
