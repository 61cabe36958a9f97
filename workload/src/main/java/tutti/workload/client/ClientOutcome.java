package tutti.workload.client;

/** How a transaction ended, as far as its client knows. */
public enum ClientOutcome {
    /** Its commit succeeded. */
    OK,
    /** It was rolled back. */
    FAILED,
    /** The connection broke while it committed: it may have committed, or may yet, or not. */
    UNKNOWN
}
