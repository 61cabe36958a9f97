package tutti.grid.multicast;

/**
 * A node's logical clock (Lamport, Time, Clocks, and the Ordering of Events in a Distributed System, 1978). Its stamps are
 * numbers of 64 bits: a count above, the node that drew it in the lowest eight; so no two nodes draw the same. One thread.
 */
public final class LamportClock {
    /** Nodes have numbers below this. */
    public static final int NODES_MAX = 1 << Byte.SIZE;

    private final int node;
    private long latest;

    /** Of a node, 0 to 255, that has seen nothing. */
    public LamportClock(int node) {
        if (node < 0 || node >= NODES_MAX) {
            throw new IllegalArgumentException("nodes are 0 to " + (NODES_MAX - 1) + ", not " + node);
        }
        this.node = node;
    }

    /** The largest stamp that was drawn or seen here; 0 at first. Whatever is drawn from now on is larger. */
    public long latest() {
        return latest;
    }

    /** Draws a stamp: larger than all that were drawn or seen here. */
    public long next() {
        latest = (((latest >> Byte.SIZE) + 1) << Byte.SIZE) + node;
        return latest;
    }

    /** A stamp was seen. */
    public void seen(long stamp) {
        latest = Math.max(latest, stamp);
    }
}
