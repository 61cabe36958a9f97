package tutti.model;

/** Hears of each transaction of a modelled client. */
public interface TransactionListener {
    /**
     * A transaction is over.
     *
     * @param kind of transaction
     * @param sinceNanos when its client asked for it, on the clock of the simulation
     * @param nowNanos when the client had its answer
     * @param cause label of the reason of an abort; empty if it has committed
     */
    void ended(RequestKind kind, long sinceNanos, long nowNanos, String cause);
}
