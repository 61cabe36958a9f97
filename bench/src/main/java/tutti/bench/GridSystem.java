package tutti.bench;

import tutti.grid.GridException;

/** Nodes in this virtual machine that have one cache together, of which each key has some owners. For many threads. */
interface GridSystem extends AutoCloseable {
    /** How many nodes. */
    int nodes();

    /**
     * Runs a transaction at a node.
     *
     * @return how long its commit took, in nanoseconds
     * @throws GridException why it has not committed
     */
    long run(int node, GridScript script);

    /** What nodes have sent to each other. */
    long messages();

    /** Whether nothing is kept of transactions any more but what they have written. */
    default boolean isAtRest() {
        return true;
    }

    @Override
    void close();
}
