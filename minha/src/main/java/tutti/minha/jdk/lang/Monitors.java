package tutti.minha.jdk.lang;

import java.util.IdentityHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import tutti.minha.Jvm;
import tutti.minha.jdk.util.concurrent.locks.ReentrantLock;
import tutti.sim.kernel.Nanos;
import tutti.sim.thread.SimThread;

/**
 * What {@code synchronized}, {@code wait} and {@code notify} become in programs that were loaded by
 * {@code tutti.minha.rewrite}: every object has a monitor in virtual time, made when it is first entered and forgotten
 * when nobody holds it or waits. Each process has its own. Waiting threads are woken in the order in which they came.
 */
@SuppressWarnings({"WaitNotInLoop", "ResultOfMethodCallIgnored"})
public final class Monitors {
    private final IdentityHashMap<Object, Monitor> inUse = new IdentityHashMap<>();

    private static final class Monitor {
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition changed = lock.newCondition();
        /** Threads that have entered or want to, each as often as it did. */
        private int users;
    }

    /** No object's monitor is in use. */
    public Monitors() {}

    /** Enters an object's monitor. */
    public static void enter(Object of) {
        if (of == null) {
            throw new NullPointerException("synchronized on null");
        }
        Monitor monitor = Jvm.current().monitors().inUse.computeIfAbsent(of, _ -> new Monitor());
        monitor.users++;
        boolean entered = false;
        try {
            monitor.lock.lock();
            entered = true;
        } finally {
            if (!entered) {
                leave(of, monitor);
            }
        }
    }

    /** Leaves it. */
    public static void exit(Object of) {
        Monitor monitor = Jvm.current().monitors().inUse.get(of);
        if (monitor == null || !monitor.lock.isHeldByCurrentThread()) {
            if (SimThread.current().isKilled()) {
                return;
            }
            throw new IllegalMonitorStateException("current thread is not owner");
        }
        monitor.lock.unlock();
        leave(of, monitor);
    }

    private static void leave(Object of, Monitor monitor) {
        if (--monitor.users == 0) {
            Jvm.current().monitors().inUse.remove(of);
        }
    }

    static boolean isHeld(Object of) {
        Monitor monitor = Jvm.current().monitors().inUse.get(of);
        return monitor != null && monitor.lock.isHeldByCurrentThread();
    }

    private static Monitor held(Object of) {
        Monitor monitor = Jvm.current().monitors().inUse.get(of);
        if (monitor == null || !monitor.lock.isHeldByCurrentThread()) {
            throw new IllegalMonitorStateException("current thread is not owner");
        }
        return monitor;
    }

    /** {@link Object#wait()}. */
    public static void await(Object on) throws InterruptedException {
        held(on).changed.await();
    }

    /** {@link Object#wait(long)}. */
    public static void await(Object on, long millis) throws InterruptedException {
        await(on, millis, 0);
    }

    /** {@link Object#wait(long, int)}. */
    public static void await(Object on, long millis, int nanos) throws InterruptedException {
        if (millis < 0 || nanos < 0 || nanos >= Nanos.MILLI) {
            throw new IllegalArgumentException("timeout value is out of range");
        }
        Condition changed = held(on).changed;
        if (millis == 0 && nanos == 0) {
            changed.await();
        } else {
            changed.await(Math.min(millis, Long.MAX_VALUE / Nanos.MILLI / 4) * Nanos.MILLI + nanos,
                    TimeUnit.NANOSECONDS);
        }
    }

    /** {@link Object#notify()}. */
    public static void signal(Object on) {
        held(on).changed.signal();
    }

    /** {@link Object#notifyAll()}. */
    public static void signalAll(Object on) {
        held(on).changed.signalAll();
    }
}
