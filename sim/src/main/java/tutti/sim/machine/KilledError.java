package tutti.sim.machine;

/** The process was killed in place of a file operation. Whoever catches it goes on with nothing. */
final class KilledError extends Error {
    private static final long serialVersionUID = 1;

    KilledError() {
        super("the process is dead", null, false, false);
    }
}
