package tutti.minha.rewrite;

import java.util.function.LongSupplier;
import tutti.minha.jdk.lang.Thread;

/**
 * Counts the work of a process: rewritten code calls {@link #tick} where a method begins and where a loop begins again. Each
 * process has a copy of this class, and only one thread of the simulation runs at a time, so that the count is that of the
 * running thread since it last settled.
 */
public final class Ticks implements LongSupplier {
    /** A thread that has worked so long without settling does: loops that wait for others by looking come to an end. */
    private static final long SETTLE_AT = 10_000_000;

    private static long count;

    /** For the loader of the process. */
    public Ticks() {}

    /** A bit of work. */
    public static void tick() {
        if (++count >= SETTLE_AT) {
            Thread.settle();
        }
    }

    /** How many there were since it was last asked. */
    @Override
    public long getAsLong() {
        long counted = count;
        count = 0;
        return counted;
    }
}
