package tutti.macro.distribution;

/** The group communication system as the replication component sees it (MacroDDB, table 4.1). From any thread. */
public interface GroupCommunication {
    /**
     * {@code TOBCAST(M)}: delivers the message at all nodes, this one included, in the same order everywhere.
     *
     * @throws tutti.macro.WorkQueueFullException if too much waits to be sent already
     */
    void totalOrderBroadcast(byte[] message);

    /**
     * {@code RUCAST(M, D)}: delivers the message at one node, and troubles no other: once if both live and reach each other,
     * otherwise at most once. Messages of two nodes to each other arrive in the order in which they were sent, as long as they
     * reach each other.
     *
     * @throws tutti.macro.WorkQueueFullException if too much waits to be sent already
     */
    void reliableUnicast(byte[] message, int destination);

    /** {@code GETADDR()}: this node's number. */
    int localAddress();

    /**
     * Receives: the upcall {@code onDelivery} of listing 4.1. One call at a time for broadcasts, and one at a time for unicasts; the two may
     * come at once.
     */
    interface Receiver {
        /**
         * A message arrived.
         *
         * @param message for the receiver to keep
         * @param source node that sent it
         * @param position of a broadcast in the total order; grows from call to call, and is the same at all nodes. 0 of a unicast
         * @param broadcast whether all nodes get it
         */
        void onDelivery(byte[] message, int source, long position, boolean broadcast);

        /** Nothing arrives any more. */
        void failed(Throwable cause);
    }
}
