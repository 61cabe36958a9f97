package tutti.minha;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import tutti.minha.jdk.lang.Monitors;
import tutti.minha.jdk.lang.Thread;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.WaitList;

/**
 * A process: threads, what they hold open, and output. It begins with a main thread and ends as a JVM does: when its last
 * thread that is no daemon has ended, or at {@link #exit}; then its shutdown hooks run, its sockets are closed, and the
 * threads that are left end where they wait. When its machine crashes it is gone at once.
 *
 * <p>
 * <b>Time.</b> Computing takes no virtual time by itself; a program says what it costs ({@link #compute}), or, if it was
 * loaded by {@code tutti.minha.rewrite}, its work is counted as it runs. What was counted is spent on the machine's
 * processor ({@link #settle}) before anything that others can see: every mirror class asks for that before it waits, wakes,
 * sends, or reads the clock. So the order of events is the one in which the work would have been done.
 */
public final class Jvm {
    private static final int STATUS_UNCAUGHT = 1;

    private final Machine machine;
    private final String name;
    private final String fullName;
    private final RandomStream random;
    private final PrintStream out;
    private final PrintStream err;
    private final Label outLabel;
    private final Label endLabel;
    private final Set<Thread> threads = new LinkedHashSet<>();
    private final Set<Runnable> open = new LinkedHashSet<>();
    private final List<Thread> hooks = new ArrayList<>();
    private final Monitors monitors = new Monitors();
    private final WaitList ending = new WaitList();
    private LongSupplier work = () -> 0;
    private boolean shuttingDown;
    private boolean ended;
    private int status;
    private int threadNumber;
    private int poolNumber;
    private int hashNumber;
    private Thread.@Nullable UncaughtExceptionHandler uncaught;

    Jvm(Machine machine, String name, RandomStream random) {
        this.machine = machine;
        this.name = name;
        this.fullName = machine.name() + "/" + name;
        this.random = random;
        this.outLabel = Label.of("out", fullName);
        this.endLabel = Label.of("exit", fullName);
        this.out = new PrintStream(new LineStream(this::print), false, StandardCharsets.UTF_8);
        this.err = new PrintStream(new LineStream(this::print), false, StandardCharsets.UTF_8);
    }

    private void print(String line) {
        machine.simulation().kernel().trace(outLabel, line.hashCode());
        machine.simulation().print(this, line);
    }

    void begin(Program program, String[] arguments) {
        Thread.main(this, program, arguments).start();
    }

    /**
     * The process that the calling thread belongs to.
     *
     * @throws IllegalStateException if it belongs to none
     */
    public static Jvm current() {
        return Thread.currentThread().jvm();
    }

    /** Where it runs. */
    public Machine machine() {
        return machine;
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** Its standard output. */
    public PrintStream out() {
        return out;
    }

    /** Its standard error. */
    public PrintStream err() {
        return err;
    }

    /** The monitors of its objects. */
    public Monitors monitors() {
        return monitors;
    }

    /** A number for a seed: the next of a stream of its own, different at each boot. */
    public long nextSeed() {
        return random.nextLong();
    }

    /** A number for an identity hash code. */
    public int nextHash() {
        return ++hashNumber;
    }

    /** A number for a thread without a name. */
    public int nextThreadNumber() {
        return threadNumber++;
    }

    /** A number for a pool of threads, from 1. */
    public int nextPoolNumber() {
        return ++poolNumber;
    }

    /** Nanoseconds of its machine's clock. */
    public long nanoTime() {
        settle();
        return machine.host().now();
    }

    /** Milliseconds since the beginning of 1970 by its machine's clock. */
    public long currentTimeMillis() {
        return machine.simulation().epochMillis() + Math.floorDiv(nanoTime(), Nanos.MILLI);
    }

    /** Who hears of exceptions that no thread and no thread's own handler took care of; null for nobody. */
    public Thread.@Nullable UncaughtExceptionHandler uncaughtExceptionHandler() {
        return uncaught;
    }

    /** Sets it. */
    public void setUncaughtExceptionHandler(Thread.@Nullable UncaughtExceptionHandler handler) {
        uncaught = handler;
    }

    /** Sets what tells, and forgets, how many nanoseconds of work were counted since it was last asked. */
    public void setWork(LongSupplier nanosSinceAsked) {
        work = nanosSinceAsked;
    }

    /** Spends the work that was counted; to be called by its running thread before it does what others can see. */
    public void settle() {
        long nanos = work.getAsLong();
        if (nanos > 0 && !SimThread.current().isKilled()) {
            compute(nanos);
        }
    }

    /** Uses a processor of the machine for a time; waits for one if need be. Interrupts do not shorten it. */
    public void compute(long nanos) {
        SimThread.await(over -> machine.host().execute(nanos, over));
    }

    /**
     * Begins a thread; used by {@link Thread#start}.
     *
     * @throws IllegalStateException if the process has ended
     */
    public SimThread begin(Thread thread, SimThreadBody body) {
        if (ended) {
            throw new IllegalStateException("process " + fullName + " has ended");
        }
        threads.add(thread);
        return machine.host().spawn(name + "/" + thread.getName(), body::run);
    }

    /** What a thread does. */
    @FunctionalInterface
    public interface SimThreadBody {
        /** Runs in the thread. */
        void run();
    }

    /** A thread has ended; used by {@link Thread}. */
    public void hasEnded(Thread thread) {
        threads.remove(thread);
        if (!shuttingDown && threads.stream().allMatch(Thread::isDaemon)) {
            shuttingDown = true;
            if (hooks.isEmpty()) {
                halt(0);
            } else {
                Thread last = Thread.internal(this, "DestroyJavaVM", () -> runHooksAndHalt(0));
                last.start();
            }
        }
    }

    /** Something that is to be done when the process ends, but not when its machine crashes: closing what it has open. */
    public void opened(Runnable close) {
        open.add(close);
    }

    /** It was closed, and needs not be any more. */
    public void closed(Runnable close) {
        open.remove(close);
    }

    /** A thread that begins when the process is about to end. */
    public void addShutdownHook(Thread hook) {
        if (shuttingDown) {
            throw new IllegalStateException("Shutdown in progress");
        }
        hooks.add(hook);
    }

    /** Takes it back; returns whether it was there. */
    public boolean removeShutdownHook(Thread hook) {
        if (shuttingDown) {
            throw new IllegalStateException("Shutdown in progress");
        }
        return hooks.remove(hook);
    }

    /** Ends the process: runs its hooks, and never returns. To be called by one of its threads. */
    public void exit(int exitStatus) {
        settle();
        if (shuttingDown) {
            while (true) {
                ending.awaitUninterruptibly();
            }
        }
        shuttingDown = true;
        runHooksAndHalt(exitStatus);
    }

    private void runHooksAndHalt(int exitStatus) {
        hooks.forEach(Thread::start);
        for (Thread hook : hooks) {
            boolean over = false;
            while (!over) {
                try {
                    hook.join();
                    over = true;
                } catch (InterruptedException _) {
                    // Who exits waits for the hooks, whatever else it is told.
                }
            }
        }
        halt(exitStatus);
        ending.awaitUninterruptibly();
    }

    /** Ends the process at once, without its hooks; what it has open is closed. */
    public void halt(int exitStatus) {
        if (ended) {
            return;
        }
        shuttingDown = true;
        ended = true;
        status = exitStatus;
        machine.simulation().kernel().trace(endLabel, exitStatus);
        List.copyOf(open).reversed().forEach(Runnable::run);
        open.clear();
        out.close();
        err.close();
        for (Thread thread : List.copyOf(threads)) {
            thread.kill();
        }
    }

    /** Its machine has crashed. */
    void lost() {
        shuttingDown = true;
        ended = true;
        status = STATUS_UNCAUGHT;
        open.clear();
    }

    /** Whether it has ended. */
    public boolean hasEnded() {
        return ended;
    }

    /** With which status it ended. */
    public int exitStatus() {
        return status;
    }

    @Override
    public String toString() {
        return "process " + fullName;
    }
}
