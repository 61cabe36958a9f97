package tutti.grid.store;

import java.util.Arrays;
import java.util.Set;

/** Owners by a ring of nodes: each key has as many as its cache's degree says. */
public final class RingOwners implements Owners {
    private final Ring ring;
    private final int[] degrees;

    /**
     * Of a grid.
     *
     * @param nodes all of them
     * @param degrees by cache: how many nodes own each key
     */
    public RingOwners(Set<Integer> nodes, int[] degrees) {
        this.ring = new Ring(nodes, Arrays.stream(degrees).max().orElse(1));
        this.degrees = degrees.clone();
    }

    @Override
    public int[] of(Key key) {
        return ring.owners(key.hash(), degrees[key.cache()]);
    }
}
