package tutti.grid.store;

/**
 * Which nodes own which keys. Whether they live is another question. Immutable. While keys are moved, what is written goes to more nodes
 * than answer for it.
 */
public interface Owners {
    /** Those of a key that have all of it, answer reads and vote, each once. Not to be modified. */
    int[] of(Key key);

    /** Those to which goes what is written to a key: its owners, and those that will be. Each once. Not to be modified. */
    default int[] writers(Key key) {
        return of(key);
    }

    /** Whether a node must be told what is written to a key. */
    default boolean isWriter(int node, Key key) {
        for (int writer : writers(key)) {
            if (writer == node) {
                return true;
            }
        }
        return false;
    }

    /** Whether a node owns a key. */
    default boolean isOwner(int node, Key key) {
        for (int owner : of(key)) {
            if (owner == node) {
                return true;
            }
        }
        return false;
    }
}
