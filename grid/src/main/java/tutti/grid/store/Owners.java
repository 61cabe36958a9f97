package tutti.grid.store;

import java.util.Arrays;
import java.util.Set;

/** Which nodes own which keys, by the degree of each cache. Whether they live is another question. Immutable. */
public final class Owners {
    private final Ring ring;
    private final int[] degrees;

    /**
     * Of a grid.
     *
     * @param nodes all of them
     * @param degrees by cache: how many nodes own each key
     */
    public Owners(Set<Integer> nodes, int[] degrees) {
        this.ring = new Ring(nodes, Arrays.stream(degrees).max().orElse(1));
        this.degrees = degrees.clone();
    }

    /** Those of a key, the first one first. */
    public int[] of(Key key) {
        return ring.owners(key.hash(), degrees[key.cache()]);
    }

    /** Whether a node owns a key. */
    public boolean isOwner(int node, Key key) {
        for (int owner : of(key)) {
            if (owner == node) {
                return true;
            }
        }
        return false;
    }
}
