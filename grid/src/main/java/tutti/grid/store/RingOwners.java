package tutti.grid.store;

import java.util.Arrays;
import java.util.Set;
import java.util.stream.IntStream;

/** Owners by a ring of nodes: each key has as many as its cache's degree says. While keys are moved there are two rings. */
public final class RingOwners implements Owners {
    private final Ring ring;
    private final Ring also;
    private final int[] degrees;

    /**
     * Of a grid in which nothing is moved.
     *
     * @param nodes all of them
     * @param degrees by cache: how many nodes own each key
     */
    public RingOwners(Set<Integer> nodes, int[] degrees) {
        this(nodes, nodes, degrees);
    }

    /**
     * Of a grid in which keys may be moved.
     *
     * @param nodes of the ring whose nodes have all
     * @param others of the ring whose nodes are told what is written, too
     * @param degrees by cache: how many nodes own each key
     */
    public RingOwners(Set<Integer> nodes, Set<Integer> others, int[] degrees) {
        int most = Arrays.stream(degrees).max().orElse(1);
        this.ring = new Ring(nodes, most);
        this.also = others.equals(nodes) ? ring : new Ring(others, most);
        this.degrees = degrees.clone();
    }

    @Override
    public int[] of(Key key) {
        return ring.owners(key.hash(), degrees[key.cache()]);
    }

    @Override
    public int[] writers(Key key) {
        int[] all = of(key);
        return also == ring
                ? all
                : IntStream.concat(Arrays.stream(all),
                        Arrays.stream(also.owners(key.hash(), degrees[key.cache()]))).distinct().toArray();
    }

    /** Whether there may be keys all of whose owners are gone. */
    public boolean isLost(Set<Integer> left) {
        return Arrays.stream(degrees).anyMatch(degree -> ring.isLost(degree, left));
    }
}
