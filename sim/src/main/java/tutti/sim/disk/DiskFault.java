package tutti.sim.disk;

/**
 * What a disk does wrong for as long as it lasts.
 *
 * @param effect what
 * @param rate with which probability, each time that it could
 */
public record DiskFault(Effect effect, double rate) {
    /** What a disk can do wrong again and again. */
    public enum Effect {
        /** A write that is forced does not reach the medium; that is seen after the next crash of the machine. */
        LOSE,
        /** A write that is forced goes to another place, of the same or another file; seen after the next crash. */
        MISDIRECT,
        /** A force says that all is safe, and nothing is. */
        LIE,
        /** A force or sync fails; any part of what it was for is lost, and no later one helps it. */
        FAIL_FORCE,
        /** Files cannot grow, and none can be made. */
        FULL
    }
}
