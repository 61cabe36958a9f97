package tutti.macro;

/**
 * A look at one replica.
 *
 * @param name its name
 * @param state what it takes part in
 * @param applied position of the last call of the order that it executed
 * @param behind how many calls of the order it has not executed yet
 * @param queuedReads reads that wait for its executor
 * @param reads how many times the scheduler looked at its costs for a read, or gave it one; direct reads between two
 *            looks are not counted
 * @param faults how many faults voting found in it
 */
public record ReplicaStatus(String name, State state, long applied, long behind, int queuedReads, long reads,
        int faults) {
    /** What a replica takes part in. */
    public enum State {
        /** Its state is being brought. */
        COPYING,
        /** In everything. */
        ACTIVE,
        /** In nothing any more. */
        REMOVED
    }
}
