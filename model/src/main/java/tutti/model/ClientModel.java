package tutti.model;

/** Who asked for a transaction. */
interface ClientModel {
    /**
     * The answer.
     *
     * @param cause label of the reason of an abort; empty if it has committed
     */
    void answered(Work work, String cause);
}
