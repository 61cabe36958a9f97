package tutti.grid.store;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Which nodes own a key: consistent hashing (Karger and others, Consistent Hashing and Random Trees, 1997). Every node stands at many
 * points of a ring of hashes; the owners of a key are the first different nodes that are met from its hash upwards. So nodes own
 * equal shares, nearly, and a node more or less moves only keys that it gets or had. Immutable.
 */
public final class Ring {
    /** Points of each node: with these the shares of ten nodes differ by about a tenth. */
    static final int POINTS = 160;

    private final long[] points;
    /** By point: as many nodes as may be asked for, in the order in which they are met from there. */
    private final int[][] met;
    private final int nodes;
    private final int degreeMax;

    /**
     * Of these nodes.
     *
     * @param degreeMax how many owners are asked for at most
     */
    public Ring(Set<Integer> nodes, int degreeMax) {
        if (nodes.isEmpty() || degreeMax < 1) {
            throw new IllegalArgumentException("a ring of " + nodes.size() + " nodes and up to " + degreeMax
                    + " owners: it needs one of each at least");
        }
        this.nodes = nodes.size();
        this.degreeMax = degreeMax;
        int most = Math.min(degreeMax, nodes.size());
        TreeMap<Long, Integer> ring = new TreeMap<>();
        for (int node : nodes) {
            for (int point = 0; point < POINTS; point++) {
                // Two nodes at one point, if that ever happens: the lower one stays, on every node.
                ring.merge(Hash.mix(Hash.mix(node + 1L) + point), node, Math::min);
            }
        }
        points = ring.keySet().stream().mapToLong(Long::longValue).toArray();
        met = new int[points.length][];
        List<Map.Entry<Long, Integer>> all = new ArrayList<>(ring.entrySet());
        for (int i = 0; i < met.length; i++) {
            Set<Integer> order = new LinkedHashSet<>();
            for (int j = 0; order.size() < most && j < met.length; j++) {
                order.add(all.get((i + j) % met.length).getValue());
            }
            met[i] = order.stream().mapToInt(Integer::intValue).toArray();
        }
    }

    /**
     * The owners of a key.
     *
     * @param degree how many, at least 1, and at most as many as the ring was made for; if there are fewer nodes, all
     */
    public int[] owners(long hash, int degree) {
        if (degree > degreeMax) {
            throw new IllegalArgumentException(degree + " owners of a ring that was made for " + degreeMax);
        }
        int found = Arrays.binarySearch(points, hash);
        int at = found >= 0 ? found : -found - 1;
        return Arrays.copyOf(met[at % points.length], Math.min(degree, nodes));
    }

    /** Whether there is a place on the ring whose owners are all gone. */
    public boolean isLost(int degree, Set<Integer> left) {
        for (int[] from : met) {
            boolean lost = true;
            for (int i = 0; i < Math.min(degree, from.length); i++) {
                lost &= !left.contains(from[i]);
            }
            if (lost) {
                return true;
            }
        }
        return false;
    }
}
