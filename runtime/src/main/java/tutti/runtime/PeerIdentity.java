package tutti.runtime;

/**
 * Who a node is, as it proves to the others.
 *
 * @param cluster id of its cluster, which no other has
 * @param node its number, from 0
 */
public record PeerIdentity(String cluster, int node) {
    /** Checks both. */
    public PeerIdentity {
        if (cluster.isEmpty() || node < 0) {
            throw new IllegalArgumentException("node " + node + " of cluster '" + cluster + "' is nobody");
        }
    }

    @Override
    public String toString() {
        return "node " + node + " of cluster " + cluster;
    }
}
