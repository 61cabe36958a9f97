package tutti.grid;

/** What transactions may see of each other (Ruivo, section III; the last one goes beyond). */
public enum IsolationLevel {
    /** Reads find what has committed, each the latest. */
    READ_COMMITTED,
    /** Likewise, and what was read once is found again. */
    REPEATABLE_READ,
    /** Likewise, and a transaction that writes what it has read fails if somebody else has written it meanwhile: no lost updates. */
    REPEATABLE_READ_WRITE_SKEW,
    /**
     * As if transactions ran one after the other: all reads are of one snapshot, and a transaction that writes fails if somebody
     * else has written anything that it has read.
     */
    SERIALIZABLE
}
