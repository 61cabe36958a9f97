package tutti.sim.kernel;

/**
 * Code inside the simulation failed, or the simulation itself did: which event, at what simulated time, under which seed.
 * The cause is what was thrown.
 */
public final class SimulationFailure extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Simulated time of the failure, nanoseconds. */
    private final long nanos;

    /**
     * Says where it happened.
     *
     * @param what in words: an event, a thread, a rule that was broken
     */
    public SimulationFailure(String what, long nanos, long seed, Throwable cause) {
        super(message(what, nanos, seed) + ": " + cause, cause);
        this.nanos = nanos;
    }

    /** Says where it happened; nothing was thrown. */
    public SimulationFailure(String what, long nanos, long seed) {
        super(message(what, nanos, seed));
        this.nanos = nanos;
    }

    private static String message(String what, long nanos, long seed) {
        return "at simulated time " + Nanos.text(nanos) + " with seed " + seed + ": " + what;
    }

    /** Simulated time of the failure, nanoseconds. */
    public long nanos() {
        return nanos;
    }
}
