package tutti.eval.calibrate;

import tutti.model.RequestKind;

/**
 * One transaction of a real client.
 *
 * @param kind of transaction
 * @param rows that it has written; of Delivery, whose orders have five to fifteen lines, the expected number
 * @param sinceNanos when the client asked, on the clock of this process
 * @param nowNanos when it had its answer
 * @param commitNanos of that, from asking for the commit to its answer
 * @param backendNanos processor time of the server process that served it; 0 if that was not looked at
 * @param clientNanos processor time of the client's thread
 * @param cause why it was aborted; empty if it has committed
 */
record Observation(RequestKind kind, int rows, long sinceNanos, long nowNanos, long commitNanos, long backendNanos,
        long clientNanos, String cause) {
    /** The same, on a clock that is slow by so much. */
    Observation earlier(long nanos) {
        return new Observation(kind, rows, sinceNanos - nanos, nowNanos - nanos, commitNanos, backendNanos,
                clientNanos, cause);
    }

    /** The same, with the processor time of its server process. */
    Observation with(long serverNanos) {
        return new Observation(kind, rows, sinceNanos, nowNanos, commitNanos, serverNanos, clientNanos, cause);
    }

    /** From asking to the answer. */
    long latencyNanos() {
        return nowNanos - sinceNanos;
    }

    boolean committed() {
        return cause.isEmpty();
    }
}
