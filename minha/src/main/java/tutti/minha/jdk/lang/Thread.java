package tutti.minha.jdk.lang;

import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import tutti.minha.Jvm;
import tutti.minha.Program;
import tutti.minha.jdk.util.concurrent.ThreadFactory;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.SimulationFailure;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.WaitList;

/**
 * The mirror of {@link java.lang.Thread}: a thread of a simulated process, with the same methods and the same rules, in
 * virtual time. Platform and virtual threads are alike here, except that the latter are daemons without a name. Priorities
 * are kept and have no effect; there are no thread groups.
 */
@SuppressWarnings({"JavaLangClash", "NamedLikeContextualKeyword", "ReferenceEquality"})
public class Thread implements Runnable {
    /** The priorities of {@link java.lang.Thread}. */
    public static final int MIN_PRIORITY = java.lang.Thread.MIN_PRIORITY;
    /** See {@link #MIN_PRIORITY}. */
    public static final int NORM_PRIORITY = java.lang.Thread.NORM_PRIORITY;
    /** See {@link #MIN_PRIORITY}. */
    public static final int MAX_PRIORITY = java.lang.Thread.MAX_PRIORITY;

    private static final ScopedValue<Thread> CURRENT = ScopedValue.newInstance();
    private static final long YIELD_NANOS = Nanos.MICRO;
    private static final long SPIN_NANOS = 10 * Nanos.MICRO;
    private static final long MILLIS_MAX = Long.MAX_VALUE / Nanos.MILLI;

    private final Jvm jvm;
    private final @Nullable Runnable target;
    private final boolean virtual;
    private final long id;
    private final WaitList parked = new WaitList();
    private String name;
    private boolean daemon;
    private int priority = NORM_PRIORITY;
    private boolean permit;
    private @Nullable Object blocker;
    private @Nullable SimThread thread;
    private @Nullable ClassLoader contextLoader;
    private @Nullable UncaughtExceptionHandler handler;

    /** Hears of an exception that a thread did not catch. */
    @FunctionalInterface
    public interface UncaughtExceptionHandler {
        /** The thread ends by this exception. */
        void uncaughtException(Thread thread, Throwable exception);
    }

    /** A thread that runs {@link #run}. */
    public Thread() {
        this(null, null, false);
    }

    /** A thread that runs something. */
    public Thread(@Nullable Runnable target) {
        this(target, null, false);
    }

    /** A thread with a name that runs {@link #run}. */
    public Thread(String name) {
        this(null, name, false);
    }

    /** A thread with a name that runs something. */
    public Thread(@Nullable Runnable target, String name) {
        this(target, name, false);
    }

    Thread(@Nullable Runnable target, @Nullable String name, boolean virtual) {
        this(currentThread().jvm, target, name, virtual);
        Thread parent = currentThread();
        this.daemon = virtual || parent.daemon;
        this.priority = parent.priority;
        this.contextLoader = parent.contextLoader;
    }

    private Thread(Jvm jvm, @Nullable Runnable target, @Nullable String name, boolean virtual) {
        this.jvm = jvm;
        this.target = target;
        this.virtual = virtual;
        this.id = jvm.nextHash();
        this.name = name != null ? name : virtual ? "" : "Thread-" + jvm.nextThreadNumber();
    }

    /** The main thread of a process; used by the process. */
    public static Thread main(Jvm jvm, Program program, String[] arguments) {
        Thread main = new Thread(jvm, () -> {
            try {
                program.main(arguments);
            } catch (Exception e) {
                throw sneaky(e);
            }
        }, "main", false);
        main.contextLoader = program.getClass().getClassLoader();
        return main;
    }

    /** A thread that the process itself needs; used by the process. */
    public static Thread internal(Jvm jvm, String name, Runnable target) {
        return new Thread(jvm, target, name, false);
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <E extends Throwable> RuntimeException sneaky(Throwable e) throws E {
        throw (E) e;
    }

    /**
     * The thread that calls this.
     *
     * @throws IllegalStateException if it is none of a simulated process
     */
    public static Thread currentThread() {
        if (!CURRENT.isBound()) {
            throw new IllegalStateException("this is for programs in the simulation, and " + java.lang.Thread
                    .currentThread() + " runs none; start it with Machine.run");
        }
        return CURRENT.get();
    }

    /** Whether the calling thread is one of a simulated process. */
    public static boolean isSimulated() {
        return CURRENT.isBound();
    }

    /** Spends the work that the calling thread has done; without effect outside of simulated processes. */
    public static void settle() {
        if (CURRENT.isBound()) {
            CURRENT.get().jvm.settle();
        }
    }

    /** Its process. */
    public Jvm jvm() {
        return jvm;
    }

    /** Runs what it was made for. */
    @Override
    public void run() {
        if (target != null) {
            target.run();
        }
    }

    /** Begins. */
    public void start() {
        if (thread != null) {
            throw new IllegalThreadStateException(this + " has begun already");
        }
        settle();
        thread = jvm.begin(this, () -> ScopedValue.where(CURRENT, this).run(this::live));
    }

    private void live() {
        try {
            run();
            jvm.settle();
        } catch (Throwable e) {
            if (e instanceof SimulationFailure || simulated().isKilled()) {
                throw e;
            }
            uncaught(e);
        } finally {
            jvm.hasEnded(this);
        }
    }

    private void uncaught(Throwable e) {
        UncaughtExceptionHandler told = getUncaughtExceptionHandler();
        try {
            told.uncaughtException(this, e);
        } catch (RuntimeException _) {
            // As the JDK has it: what a handler throws is ignored.
        }
    }

    private SimThread simulated() {
        if (thread == null) {
            throw new IllegalStateException(this + " has not begun");
        }
        return thread;
    }

    /** Ends it where it is; used by its process. */
    public void kill() {
        simulated().kill();
    }

    /** Waits. */
    public static void sleep(long millis) throws InterruptedException {
        sleepNanos(nanos(millis));
    }

    /** Waits. */
    public static void sleep(long millis, int nanos) throws InterruptedException {
        if (nanos < 0 || nanos >= Nanos.MILLI) {
            throw new IllegalArgumentException("nanosecond timeout value out of range");
        }
        sleepNanos(nanos(millis) + nanos);
    }

    /** Waits. */
    public static void sleep(Duration duration) throws InterruptedException {
        sleepNanos(Math.max(0, TimeUnit.NANOSECONDS.convert(duration)));
    }

    /** Waits; used by the mirrors. */
    public static void sleepNanos(long nanos) throws InterruptedException {
        settle();
        SimThread.sleep(Math.min(nanos, Long.MAX_VALUE / 4));
    }

    private static long nanos(long millis) {
        if (millis < 0) {
            throw new IllegalArgumentException("timeout value is negative");
        }
        return Math.min(millis, MILLIS_MAX / 4) * Nanos.MILLI;
    }

    /** Lets others that are ready go first, and uses a processor for a microsecond. */
    public static void yield() {
        settle();
        currentThread().jvm.compute(YIELD_NANOS);
    }

    /** Uses a processor for ten microseconds: so often a thread that waits by looking looks. */
    public static void onSpinWait() {
        settle();
        currentThread().jvm.compute(SPIN_NANOS);
    }

    /** Waits for its end. */
    public final void join() throws InterruptedException {
        settle();
        if (thread != null) {
            thread.join();
        }
    }

    /** Waits for its end, at most so long; 0 is as long as it takes. */
    public final void join(long millis) throws InterruptedException {
        if (millis == 0) {
            join();
        } else {
            joinNanos(nanos(millis));
        }
    }

    /** Waits for its end, at most so long; 0 is as long as it takes. */
    public final void join(long millis, int nanos) throws InterruptedException {
        if (millis == 0 && nanos == 0) {
            join();
        } else {
            joinNanos(nanos(millis) + nanos);
        }
    }

    /** Waits for its end, at most so long; returns whether it has ended. */
    public final boolean join(Duration duration) throws InterruptedException {
        if (thread == null) {
            throw new IllegalThreadStateException("Thread not started");
        }
        return joinNanos(Math.max(0, TimeUnit.NANOSECONDS.convert(duration)));
    }

    private boolean joinNanos(long nanos) throws InterruptedException {
        settle();
        return thread == null || thread.join(Math.min(nanos, Long.MAX_VALUE / 4));
    }

    /** Interrupts what it waits for, or what it will wait for next. */
    public void interrupt() {
        settle();
        if (thread != null) {
            thread.interrupt();
            parked.wakeAll();
        }
    }

    /** Whether it was interrupted and has not heard of it. */
    public boolean isInterrupted() {
        return thread != null && isAlive() && thread.isInterrupted();
    }

    /** Whether the calling thread was interrupted; forgets it. */
    public static boolean interrupted() {
        return SimThread.current().clearInterrupt();
    }

    /** Whether it has begun and not ended. */
    public final boolean isAlive() {
        settle();
        return thread != null && thread.state() != SimThread.State.ENDED;
    }

    /** What it does. Whatever it waits for is WAITING. */
    public java.lang.Thread.State getState() {
        if (thread == null) {
            return java.lang.Thread.State.NEW;
        }
        return switch (thread.state()) {
            case NEW, READY, RUNNING -> java.lang.Thread.State.RUNNABLE;
            case WAITING -> java.lang.Thread.State.WAITING;
            case ENDED -> java.lang.Thread.State.TERMINATED;
        };
    }

    /** {@link java.util.concurrent.locks.LockSupport#park}, used by the mirror of that class; negative is for ever. */
    public void park(long nanos, @Nullable Object waitsFor) {
        settle();
        SimThread self = simulated();
        if (!permit && !self.isInterrupted() && nanos != 0) {
            blocker = waitsFor;
            try {
                parked.await(nanos < 0 ? SimThread.FOREVER : nanos, false);
            } catch (InterruptedException e) {
                throw new IllegalStateException("interrupted where that cannot be", e);
            } finally {
                blocker = null;
            }
        }
        permit = false;
    }

    /** {@link java.util.concurrent.locks.LockSupport#unpark}, used by the mirror of that class. */
    public void unpark() {
        settle();
        permit = true;
        parked.wakeAll();
    }

    /** What it is parked for. */
    public @Nullable Object blocker() {
        return blocker;
    }

    /** Whether the calling thread is in a {@code synchronized} block of it; not known for programs with other imports. */
    public static boolean holdsLock(Object of) {
        return Monitors.isHeld(of);
    }

    /** Its name. */
    public final String getName() {
        return name;
    }

    /** Names it; the trace keeps the name that it began with. */
    public final void setName(String name) {
        this.name = name;
    }

    /** Its number in its process. */
    public final long threadId() {
        return id;
    }

    /** Its number in its process. */
    public long getId() {
        return id;
    }

    /** Whether the process does not wait for it. */
    public final boolean isDaemon() {
        return daemon;
    }

    /** Sets whether the process waits for it. */
    public final void setDaemon(boolean on) {
        if (virtual && !on) {
            throw new IllegalArgumentException("'false' not legal for virtual threads");
        }
        if (thread != null) {
            throw new IllegalThreadStateException(this + " has begun already");
        }
        daemon = on;
    }

    /** Whether it was made as a virtual thread. */
    public final boolean isVirtual() {
        return virtual;
    }

    /** Its priority. */
    public final int getPriority() {
        return priority;
    }

    /** Sets its priority. */
    public final void setPriority(int newPriority) {
        if (newPriority < MIN_PRIORITY || newPriority > MAX_PRIORITY) {
            throw new IllegalArgumentException("priority " + newPriority);
        }
        priority = newPriority;
    }

    /** Its class loader for others to use. */
    public @Nullable ClassLoader getContextClassLoader() {
        return contextLoader;
    }

    /** Sets its class loader for others to use. */
    public void setContextClassLoader(@Nullable ClassLoader loader) {
        contextLoader = loader;
    }

    /** Where the calling thread is; of other threads nothing is known. */
    public StackTraceElement[] getStackTrace() {
        return isSimulated() && currentThread() == this
                ? java.lang.Thread.currentThread().getStackTrace()
                : new StackTraceElement[0];
    }

    /** Prints where the calling thread is. */
    public static void dumpStack() {
        for (StackTraceElement element : java.lang.Thread.currentThread().getStackTrace()) {
            currentThread().jvm.err().println("\tat " + element);
        }
    }

    /** Who hears of what it does not catch. */
    public UncaughtExceptionHandler getUncaughtExceptionHandler() {
        if (handler != null) {
            return handler;
        }
        UncaughtExceptionHandler general = jvm.uncaughtExceptionHandler();
        return general != null ? general : Thread::printUncaught;
    }

    private static void printUncaught(Thread thread, Throwable e) {
        StackTraceElement[] trace = e.getStackTrace();
        int end = 0;
        while (end < trace.length && !trace[end].getClassName().equals(Thread.class.getName())) {
            end++;
        }
        // What is below is the simulator.
        e.setStackTrace(Arrays.copyOf(trace, end));
        thread.jvm.err().print("Exception in thread \"" + thread.name + "\" ");
        e.printStackTrace(thread.jvm.err());
    }

    /** Sets who hears of what it does not catch. */
    public void setUncaughtExceptionHandler(@Nullable UncaughtExceptionHandler handler) {
        this.handler = handler;
    }

    /** Who hears of what no thread of this process catches. */
    public static @Nullable UncaughtExceptionHandler getDefaultUncaughtExceptionHandler() {
        return currentThread().jvm.uncaughtExceptionHandler();
    }

    /** Sets who hears of what no thread of this process catches. */
    public static void setDefaultUncaughtExceptionHandler(@Nullable UncaughtExceptionHandler handler) {
        currentThread().jvm.setUncaughtExceptionHandler(handler);
    }

    /** Begins a virtual thread. */
    public static Thread startVirtualThread(Runnable task) {
        return ofVirtual().start(task);
    }

    /** Makes virtual threads. */
    public static Builder ofVirtual() {
        return new ThreadBuilder(true);
    }

    /** Makes platform threads. */
    public static Builder ofPlatform() {
        return new ThreadBuilder(false);
    }

    /** The mirror of {@link java.lang.Thread.Builder}, for both kinds of threads. */
    public interface Builder {
        /** The name of the threads. */
        Builder name(String of);

        /** The beginning of the names of the threads, and the first number. */
        Builder name(String prefix, long start);

        /** They are daemons. */
        Builder daemon();

        /** Whether they are daemons. */
        Builder daemon(boolean on);

        /** Their priority. */
        Builder priority(int of);

        /** Who hears of what they do not catch. */
        Builder uncaughtExceptionHandler(UncaughtExceptionHandler of);

        /** A thread that has not begun. */
        Thread unstarted(Runnable task);

        /** A thread that has begun. */
        Thread start(Runnable task);

        /** Makes such threads. */
        ThreadFactory factory();
    }

    private static final class ThreadBuilder implements Builder {
        private final boolean virtual;
        private @Nullable String name;
        private long next = -1;
        private boolean daemon;
        private int priority = NORM_PRIORITY;
        private @Nullable UncaughtExceptionHandler handler;

        private ThreadBuilder(boolean virtual) {
            this.virtual = virtual;
        }

        @Override
        public Builder name(String of) {
            name = of;
            return this;
        }

        @Override
        public Builder name(String prefix, long start) {
            name = prefix;
            next = start;
            return this;
        }

        @Override
        public Builder daemon() {
            return daemon(true);
        }

        @Override
        public Builder daemon(boolean on) {
            daemon = on;
            return this;
        }

        @Override
        public Builder priority(int of) {
            priority = of;
            return this;
        }

        @Override
        public Builder uncaughtExceptionHandler(UncaughtExceptionHandler of) {
            handler = of;
            return this;
        }

        @Override
        public Thread unstarted(Runnable task) {
            Thread made = new Thread(task, next >= 0 && name != null ? name + next++ : name, virtual);
            if (!virtual) {
                made.daemon = daemon;
                made.priority = priority;
            }
            made.handler = handler;
            return made;
        }

        @Override
        public Thread start(Runnable task) {
            Thread made = unstarted(task);
            made.start();
            return made;
        }

        @Override
        public ThreadFactory factory() {
            return this::unstarted;
        }
    }

    @Override
    public String toString() {
        return "Thread[#" + id + "," + name + "," + priority + "," + jvm.name() + "]";
    }
}
