package tutti.sim.kernel;

/**
 * Time as one party sees it: the kernel itself (true time), or a host whose clock drifts, whose processes wait to be
 * scheduled, which stands still or is gone. Code in the simulation asks the clock of its host. Nanoseconds throughout.
 */
public interface Clock {
    /** Nanoseconds since the beginning, as this clock shows them. */
    long now();

    /**
     * Has something done after a delay of this clock.
     *
     * @param delayNanos at least 0
     * @param label for the trace
     */
    Timer after(long delayNanos, Label label, Runnable action);

    /** Something that will happen unless it is cancelled. */
    interface Timer {
        /**
         * Keeps it from happening.
         *
         * @return false if it has happened already or was cancelled before
         */
        boolean cancel();
    }
}
