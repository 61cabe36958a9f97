package tutti.cli.calibrate;

import tutti.sim.model.Kind;

/**
 * One transaction of a real client.
 *
 * @param kind of transaction
 * @param rows that it has written; of Delivery, whose orders have five to fifteen lines, the expected number
 * @param sinceNanos when the client asked, on the clock of this process
 * @param nowNanos when it had its answer
 * @param commitNanos of that, from asking for the commit to its answer
 * @param backendNanos processor time of the server process that served it
 * @param clientNanos processor time of the client's thread
 * @param cause why it was aborted; empty if it has committed
 */
record Observation(Kind kind, int rows, long sinceNanos, long nowNanos, long commitNanos, long backendNanos,
        long clientNanos, String cause) {
    /** From asking to the answer. */
    long latencyNanos() {
        return nowNanos - sinceNanos;
    }

    boolean committed() {
        return cause.isEmpty();
    }
}
