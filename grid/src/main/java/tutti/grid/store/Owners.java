package tutti.grid.store;

/** Which nodes own which keys. Whether they live is another question. Immutable. */
public interface Owners {
    /** Those of a key, each once. Not to be modified. */
    int[] of(Key key);

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
