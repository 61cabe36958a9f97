package tutti.macro;

/**
 * How many replicas execute a read (MacroDDB, section 3.2.2). The first answer counts.
 *
 * @param replicas how many, at least 1; {@link Integer#MAX_VALUE} is all that there are
 */
public record ReadStrategy(int replicas) {
    /** Checks the number. */
    public ReadStrategy {
        if (replicas < 1) {
            throw new IllegalArgumentException("a read needs at least one replica, not " + replicas);
        }
    }

    /** The replica with the lowest observed cost of the operation, or the next one while that one is busy. */
    public static ReadStrategy one() {
        return new ReadStrategy(1);
    }

    /** The replicas with the lowest observed costs, in parallel. */
    public static ReadStrategy many(int replicas) {
        return new ReadStrategy(replicas);
    }

    /** All replicas in parallel. */
    public static ReadStrategy all() {
        return new ReadStrategy(Integer.MAX_VALUE);
    }
}
