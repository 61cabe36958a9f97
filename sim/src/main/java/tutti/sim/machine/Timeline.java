package tutti.sim.machine;

/** What does one thing at a time on a machine, and may be further in time than the event that it runs in. */
abstract class Timeline {
    /** True nanoseconds that what runs now has used so far. */
    private long ahead;
    private boolean killed;

    /** True nanoseconds that what runs now has used so far. */
    final long ahead() {
        return ahead;
    }

    final void begin(long nanos) {
        ahead = nanos;
    }

    final void pass(long nanos) {
        ahead += nanos;
    }

    /** Whether the process was killed while this ran: nothing that it does has any effect from then on. */
    final boolean isKilled() {
        return killed;
    }

    final void kill() {
        killed = true;
    }
}
