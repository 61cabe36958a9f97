package tutti.macro;

/** What becomes of a call when the work queue is full because a replica cannot follow. */
public enum OverflowPolicy {
    /** The caller waits for room, at most as long as a call may take, and is then refused. */
    WAIT,
    /** The call is refused at once. */
    REJECT,
    /** The caller executes what waits longest for the slowest replica itself, until there is room. */
    CALLER_RUNS
}
