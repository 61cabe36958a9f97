package tutti.core.protocol;

/** What clients may rely on, over all replicas: how the copies behave as one. */
public enum Guarantee {
    /** Every transaction reads a prefix of the total order, and the first committer wins. */
    SNAPSHOT_ISOLATION("one-copy snapshot isolation"),
    /**
     * Besides, transactions that change something have seen all that any client had been told of when they were
     * submitted.
     */
    STRONG_SNAPSHOT_ISOLATION("one-copy strong snapshot isolation (for transactions that change something)"),
    /** As if all transactions had run one after another; those that change something in the total order. */
    SERIALIZABILITY("one-copy serializability");

    private final String description;

    Guarantee(String description) {
        this.description = description;
    }

    @Override
    public String toString() {
        return description;
    }
}
