package tutti.sim.thread;

import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.sim.kernel.Clock;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.SimulationFailure;

/**
 * A thread in virtual time: the counterpart of {@link Thread} for code in the simulation. The static methods are about the
 * thread that calls them. A thread of a host sleeps by the host's clock, does nothing while the host is paused, and ends
 * when it crashes.
 *
 * <p>
 * Waiting and waking: a thread waits in {@link #park}, and whoever has a reason to wake it calls {@link #unpark}, which
 * schedules an event at this instant in which it goes on. In between nobody else can wake it, so that a wake-up is never
 * lost and never doubled.
 */
public final class SimThread {
    /** As a timeout: wait as long as it takes. */
    public static final long FOREVER = -1;

    private static final ScopedValue<SimThread> CURRENT = ScopedValue.newInstance();
    /** How often a thread that is being ended may catch that and go on before it is given up. */
    private static final int ENDINGS_MAX = 1000;

    /** What a thread does. NEW to READY to RUNNING, then READY or WAITING and RUNNING again, at last ENDED. */
    public enum State {
        /** Not begun. */
        NEW,
        /** An event is scheduled in which it goes on. */
        READY,
        /** Has the baton. */
        RUNNING,
        /** Waits to be woken or for its timeout. */
        WAITING,
        /** Will not run again. */
        ENDED
    }

    private final Threads threads;
    private final Kernel kernel;
    private final Clock clock;
    private final String name;
    private final Label label;
    private final Label timeoutLabel;
    private final Thread carrier;
    private final WaitList joiners = new WaitList();
    private volatile boolean baton;
    private volatile @Nullable Thread loop;
    private State state = State.NEW;
    private Clock.@Nullable Timer timer;
    private boolean timedOut;
    private boolean interrupted;
    private boolean interruptible;
    private boolean killed;
    private int endings;
    private @Nullable Throwable failure;

    /** Thrown in a thread that must end, from wherever it waits. */
    private static final class Ending extends Error {
        private static final long serialVersionUID = 1;

        Ending(String name) {
            super("the simulated thread " + name + " ends here", null, false, false);
        }
    }

    SimThread(Threads threads, Kernel kernel, Clock clock, long number, String name, Threads.Body body) {
        this.threads = threads;
        this.kernel = kernel;
        this.clock = clock;
        this.name = name;
        this.label = Label.of("thread", name);
        this.timeoutLabel = Label.of("timeout", name);
        this.carrier = Thread.ofVirtual().name("simulated " + number + " " + name)
                .unstarted(() -> ScopedValue.where(CURRENT, this).run(() -> live(body)));
    }

    /**
     * The simulated thread that calls this.
     *
     * @throws IllegalStateException if none does
     */
    public static SimThread current() {
        if (!CURRENT.isBound()) {
            throw new IllegalStateException("only a simulated thread can wait or ask this; " + Thread.currentThread()
                    + " is none. Start it with Threads.spawn or Host.spawn.");
        }
        return CURRENT.get();
    }

    /** Time on the clock of the current thread, nanoseconds. */
    public static long now() {
        return current().clock.now();
    }

    /**
     * Waits for a time of the thread's clock.
     *
     * @throws InterruptedException if somebody interrupts it
     */
    public static void sleep(long nanos) throws InterruptedException {
        if (nanos < 0) {
            throw new IllegalArgumentException("sleep for " + nanos + " ns");
        }
        current().parkInterruptibly(nanos);
    }

    /**
     * Waits for an event: begins something and lets the current thread wait until it is over. Interrupts do not shorten it.
     *
     * @param begin is given what must be run when it is over, at once or later
     */
    public static void await(Consumer<Runnable> begin) {
        boolean[] over = {false};
        WaitList waiting = new WaitList();
        begin.accept(() -> {
            over[0] = true;
            waiting.wakeAll();
        });
        while (!over[0]) {
            waiting.awaitUninterruptibly();
        }
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** What it does now. */
    public State state() {
        return state;
    }

    /** Waits for its end. */
    public void join() throws InterruptedException {
        join(FOREVER);
    }

    /**
     * Waits for its end.
     *
     * @param nanos at most so long by the waiting thread's clock
     * @return whether it has ended
     */
    public boolean join(long nanos) throws InterruptedException {
        if (state != State.ENDED) {
            joiners.await(nanos, true);
        }
        return state == State.ENDED;
    }

    /** As {@link Thread#interrupt}: wakes it if it waits interruptibly, else it will be told when it next does. */
    public void interrupt() {
        if (state == State.ENDED) {
            return;
        }
        interrupted = true;
        if (state == State.WAITING && interruptible) {
            unpark();
        }
    }

    /** Whether it was interrupted and has not heard of it yet. */
    public boolean isInterrupted() {
        return interrupted;
    }

    /** Forgets that it was interrupted; returns whether it was. */
    public boolean clearInterrupt() {
        boolean was = interrupted;
        interrupted = false;
        return was;
    }

    /**
     * Ends it at this instant: it leaves through its finally blocks, in an event of its own, and does nothing else any
     * more. Idempotent. A thread that ends itself goes on until it next waits.
     */
    public void kill() {
        if (killed || state == State.ENDED) {
            return;
        }
        killed = true;
        if (state != State.RUNNING) {
            cancelTimer();
            state = State.READY;
            kernel.schedule(0, label, this::endNow);
        }
    }

    private void endNow() {
        if (state != State.ENDED) {
            threads.handOver(this);
        }
    }

    /** Ends it outside of any event. */
    void killNow() {
        killed = true;
        cancelTimer();
        threads.handOver(this);
    }

    void begin() {
        state = State.READY;
        timer = clock.after(0, label, this::goOn);
    }

    private void goOn() {
        if (!killed && state == State.READY) {
            threads.handOver(this);
        }
    }

    private void timeOut() {
        if (!killed && state == State.WAITING) {
            timedOut = true;
            state = State.READY;
            threads.handOver(this);
        }
    }

    private void cancelTimer() {
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
    }

    // What follows until the next such comment happens on the virtual thread, while it has the baton.

    private void live(Threads.Body body) {
        try {
            if (!killed) {
                body.run();
            }
        } catch (Ending _) {
            // Asked to end, and has.
        } catch (Throwable e) {
            if (!killed || e instanceof SimulationFailure) {
                failure = e;
            }
        } finally {
            state = State.ENDED;
            joiners.wakeAll();
            giveBaton();
        }
    }

    /** {@link #park}, ended by an interrupt too. */
    boolean parkInterruptibly(long timeoutNanos) throws InterruptedException {
        checkInterrupt();
        interruptible = true;
        try {
            boolean woken = park(timeoutNanos);
            checkInterrupt();
            return woken;
        } finally {
            interruptible = false;
        }
    }

    /** Throws if it was interrupted, and forgets that it was. */
    public void checkInterrupt() throws InterruptedException {
        if (interrupted) {
            interrupted = false;
            throw new InterruptedException("simulated thread " + name);
        }
    }

    /** Waits until {@link #unpark} is called or a time of its clock has passed; returns false in the second case. */
    boolean park(long timeoutNanos) {
        if (current() != this) {
            throw new IllegalStateException(current() + " tried to make " + this + " wait");
        }
        endIfKilled();
        timedOut = false;
        state = State.WAITING;
        timer = timeoutNanos == FOREVER ? null : clock.after(timeoutNanos, timeoutLabel, this::timeOut);
        giveBaton();
        awaitBaton();
        timer = null;
        endIfKilled();
        return !timedOut;
    }

    private void endIfKilled() {
        if (killed) {
            if (++endings > ENDINGS_MAX) {
                failure = new IllegalStateException("it catches the error that asks it to end, " + endings
                        + " times; catch Exception, not Throwable, around what waits");
                state = State.ENDED;
                giveBaton();
                while (true) {
                    LockSupport.park(this);
                }
            }
            throw new Ending(name);
        }
    }

    private void giveBaton() {
        Thread to = loop;
        baton = false;
        LockSupport.unpark(to);
    }

    private void awaitBaton() {
        while (!baton) {
            LockSupport.park(this);
        }
    }

    // What follows happens on the loop or on another simulated thread.

    /** Wakes it at this instant, in an event of its own; without effect unless it waits. */
    void unpark() {
        if (state == State.WAITING && !killed) {
            cancelTimer();
            state = State.READY;
            timer = clock.after(0, label, this::goOn);
        }
    }

    /** Whether it was asked to end, so that from now on it cannot wait. */
    public boolean isKilled() {
        return killed;
    }

    void takeBaton(Thread from) {
        boolean first = carrier.getState() == Thread.State.NEW;
        loop = from;
        state = State.RUNNING;
        baton = true;
        if (first) {
            carrier.start();
        } else {
            LockSupport.unpark(carrier);
        }
    }

    boolean hasBaton() {
        return baton;
    }

    boolean hasEnded() {
        return state == State.ENDED;
    }

    boolean waitsOutside() {
        Thread.State real = carrier.getState();
        return real == Thread.State.WAITING || real == Thread.State.TIMED_WAITING || real == Thread.State.BLOCKED;
    }

    StackTraceElement[] stack() {
        return carrier.getStackTrace();
    }

    @Nullable
    Throwable failure() {
        return failure;
    }

    @Override
    public String toString() {
        return "thread " + name + " (" + state + ")";
    }
}
