package tutti.core.protocol;

import java.util.Set;

/**
 * Where one replica of a protocol runs.
 *
 * @param node this replica
 * @param replicas all replicas, alive or not, with which the order began: this one included, unless it has come later
 * @param ordered the replicas that the world's order delivers to: all of them, or those of one cluster
 */
public record Deployment(int node, Set<Integer> replicas, Set<Integer> ordered) {
    public Deployment {
        replicas = Checks.founders(replicas);
        ordered = Set.copyOf(ordered);
        if (ordered.isEmpty() || !replicas.containsAll(ordered)) {
            throw new IllegalArgumentException("ordered are " + ordered + ", the replicas are " + replicas);
        }
    }

    /** In a world whose order spans all replicas. */
    public static Deployment spanning(int node, Set<Integer> replicas) {
        return new Deployment(node, replicas, replicas);
    }

    /** Whether every replica is delivered the order. */
    public boolean spans() {
        return ordered.equals(replicas);
    }
}
