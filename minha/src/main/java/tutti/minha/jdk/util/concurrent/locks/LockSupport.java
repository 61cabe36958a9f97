package tutti.minha.jdk.util.concurrent.locks;

import org.jspecify.annotations.Nullable;
import tutti.minha.Jvm;
import tutti.minha.jdk.lang.Thread;
import tutti.sim.kernel.Nanos;

/** The mirror of {@link java.util.concurrent.locks.LockSupport}. Nobody is woken for no reason. */
public final class LockSupport {
    private static final long FOREVER = -1;

    private LockSupport() {}

    /** Waits for a permit. */
    public static void park() {
        Thread.currentThread().park(FOREVER, null);
    }

    /** Waits for a permit, for the sake of something. */
    public static void park(@Nullable Object blocker) {
        Thread.currentThread().park(FOREVER, blocker);
    }

    /** Waits for a permit for a time. */
    public static void parkNanos(long nanos) {
        parkNanos(null, nanos);
    }

    /** Waits for a permit for a time, for the sake of something. */
    public static void parkNanos(@Nullable Object blocker, long nanos) {
        if (nanos > 0) {
            Thread.currentThread().park(nanos, blocker);
        }
    }

    /** Waits for a permit until a time of the machine's clock, in milliseconds. */
    public static void parkUntil(long deadline) {
        parkUntil(null, deadline);
    }

    /** Waits for a permit until a time of the machine's clock, in milliseconds, for the sake of something. */
    public static void parkUntil(@Nullable Object blocker, long deadline) {
        parkNanos(blocker, Math.max(0, deadline - Jvm.current().currentTimeMillis()) * Nanos.MILLI);
    }

    /** Gives a thread its permit. */
    public static void unpark(@Nullable Thread thread) {
        if (thread != null) {
            thread.unpark();
        }
    }

    /** What a thread waits for. */
    public static @Nullable Object getBlocker(Thread thread) {
        return thread.blocker();
    }
}
