package tutti.core.txn;

/**
 * Names one transaction, uniquely over all nodes and all their restarts.
 *
 * @param node the node at which the client submitted it, 0 to 255
 * @param serial unique among the transactions of that node, over restarts too (the world puts the node's incarnation in
 *            the upper 32 bits and counts in the lower)
 */
public record TransactionId(int node, long serial) {
    public TransactionId {
        if (node < 0 || node > 255) {
            throw new IllegalArgumentException("node must be 0 to 255, was " + node);
        }
    }

    @Override
    public String toString() {
        return node + ":" + (serial >>> 32) + "." + (serial & 0xffff_ffffL);
    }
}
