package tutti.node;

/**
 * From when on a life of a replica has caught up: from its own first message on, which is ordered behind all that was answered before
 * it began. Of the replica's loop.
 */
final class Arrival {
    /** Position of this life's first message, 0 until it has come. */
    private long joinedAt;
    /** Position that the engine held when this life began. */
    private long heldAtStart;

    /** A life begins with what the engine holds. */
    void begins(long position) {
        heldAtStart = position;
    }

    /**
     * The order has given this life's first message a position.
     *
     * @throws IllegalStateException if the engine held that position before, so that this is not the order that it knows
     */
    void joinedAt(long position) {
        if (position <= heldAtStart) {
            throw new IllegalStateException("the order gave this node's first message position " + position
                    + ", but its database held position " + heldAtStart
                    + " before: the order was lost, or is another cluster's; begin a new cluster in empty directories"
                    + " with the data of the node whose position is highest");
        }
        joinedAt = position;
    }

    /** Whether everything up to this life's first message is visible. */
    boolean complete(long visible) {
        return joinedAt > 0 && visible >= joinedAt;
    }
}
