package tutti.core.txn;

/** How a transaction ended, as its client is told. */
public sealed interface Outcome {
    /**
     * It is in the history of every replica.
     *
     * @param position its place in the total order, or 0 if it changed nothing
     */
    record Committed(long position) implements Outcome {}

    /**
     * It is in the history of none.
     *
     * @param reason why
     */
    record Aborted(AbortReason reason) implements Outcome {}
}
