package tutti.sim.thread;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import tutti.sim.kernel.Clock;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.SimulationFailure;

/**
 * The simulated threads of one simulation. Each is a virtual thread that runs only while it holds the baton, and the
 * baton is handed to it by an event of the kernel and handed back when it waits or ends: the event lasts until then.
 *
 * <p>
 * <b>Why this is deterministic.</b> Of the loop and all simulated threads exactly one runs at any time, and which one
 * follows from the order of events alone: whoever wakes a thread schedules an event for it. What the JDK's scheduler does
 * (which carrier, how soon) takes real time and no virtual time. The hand-over is a volatile write, so that all that one
 * did is seen by the next.
 *
 * <p>
 * A scheduler of our own for virtual threads could be had in JDK 25 only by reflection
 * into {@code java.lang}; handing over costs about a microsecond if the loop runs on a virtual thread too
 * ({@link #callOnLoop}) and about ten if it does not, and lets code inside take real locks for a moment.
 *
 * <p>
 * Thread rules: as the kernel's. {@link #close} ends all threads; without it they would stay in memory.
 */
public final class Threads implements AutoCloseable {
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final int STACK_LINES_MAX = 30;

    private final Kernel kernel;
    private final Set<SimThread> alive = new LinkedHashSet<>();
    private long spawned;
    private boolean handedOver;

    /** No threads yet. */
    public Threads(Kernel kernel) {
        this.kernel = kernel;
    }

    /** What a simulated thread does. */
    public interface Body {
        /** Runs in the thread. What it throws ends the simulation, except while the thread is being ended. */
        void run() throws Exception;
    }

    /**
     * Begins a thread at this instant, after what is scheduled for it already.
     *
     * @param clock whose time it sleeps by: a host's, or the kernel itself
     * @param name for the trace and for failures; need not be unique
     */
    public SimThread spawn(Clock clock, String name, Body body) {
        SimThread thread = new SimThread(this, kernel, clock, ++spawned, name, body);
        alive.add(thread);
        thread.begin();
        return thread;
    }

    /** Threads that have begun and not ended, oldest first. */
    public List<SimThread> alive() {
        return List.copyOf(alive);
    }

    /** Who waits for what is a question when nothing happens any more: one line for each thread. */
    public String describe() {
        return alive.stream().map(SimThread::toString).collect(Collectors.joining("\n"));
    }

    /**
     * Ends all threads, oldest first, as {@link SimThread#kill} does. Must not be called by one of them.
     *
     * @throws SimulationFailure the first of threads that cannot be ended; the others are ended all the same
     */
    @Override
    public void close() {
        SimulationFailure first = null;
        while (!alive.isEmpty() && !handedOver) {
            for (SimThread thread : new ArrayList<>(alive)) {
                try {
                    thread.killNow();
                } catch (SimulationFailure e) {
                    first = first == null ? e : first;
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }

    /**
     * Runs something that runs the kernel, on a virtual thread, where handing over to simulated threads is cheapest, and
     * waits for its end.
     *
     * @throws SimulationFailure as it was thrown inside; all other exceptions become the cause of one
     */
    public void callOnLoop(Runnable work) {
        if (Thread.currentThread().isVirtual()) {
            work.run();
            return;
        }
        List<Throwable> thrown = new ArrayList<>();
        Thread loop = Thread.ofVirtual().name("simulation").unstarted(work);
        loop.setUncaughtExceptionHandler((_, e) -> thrown.add(e));
        loop.start();
        try {
            loop.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new SimulationFailure("interrupted from outside; the simulation is abandoned", kernel.now(),
                    kernel.seed(), e);
        }
        if (!thrown.isEmpty()) {
            if (thrown.getFirst() instanceof SimulationFailure failure) {
                throw failure;
            }
            throw new SimulationFailure("outside of any event", kernel.now(), kernel.seed(), thrown.getFirst());
        }
    }

    /** Lets a thread run until it waits or ends. Called by the loop. */
    void handOver(SimThread thread) {
        if (handedOver) {
            throw new IllegalStateException("a simulated thread tried to run " + thread);
        }
        handedOver = true;
        boolean interrupted = false;
        thread.takeBaton(Thread.currentThread());
        long begun = System.nanoTime();
        while (thread.hasBaton()) {
            LockSupport.parkNanos(this, PATIENCE_NANOS);
            interrupted |= Thread.interrupted();
            if (thread.hasBaton() && System.nanoTime() - begun > PATIENCE_NANOS && thread.waitsOutside()) {
                throw new SimulationFailure(thread + " waits for something outside of the simulation:\n"
                        + stack(thread), kernel.now(), kernel.seed());
            }
        }
        handedOver = false;
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (thread.hasEnded()) {
            alive.remove(thread);
        }
        Throwable failure = thread.failure();
        if (failure instanceof SimulationFailure known) {
            throw known;
        } else if (failure != null) {
            throw new SimulationFailure("thread " + thread.name(), kernel.now(), kernel.seed(), failure);
        }
    }

    private static String stack(SimThread thread) {
        return Stream.of(thread.stack()).limit(STACK_LINES_MAX).map(line -> "    at " + line)
                .collect(Collectors.joining("\n"));
    }
}
