package tutti.minha.proxy;

/**
 * The profiling clock of D5.1, section 2.4.1: runs while real code runs, and stands still while that waits for a call back
 * into the simulation.
 */
final class Watch {
    private static final ThreadLocal<long[]> SIMULATED = ThreadLocal.withInitial(() -> new long[1]);

    private final long begun = System.nanoTime();
    private final long simulated = SIMULATED.get()[0];

    /** Real nanoseconds since it was made, without those given to {@link #simulated}. */
    long nanos() {
        return System.nanoTime() - begun - (SIMULATED.get()[0] - simulated);
    }

    /** So many real nanoseconds of this thread were spent in the simulation. */
    static void simulated(long nanos) {
        SIMULATED.get()[0] += nanos;
    }
}
