package tutti.sim.model;

import java.util.Set;
import tutti.core.protocol.Message;

/**
 * How the replicas of a model speak with each other. Messages are handed over as they are, and their encoded sizes take the
 * network's time: they are immutable, and that they survive being encoded is tested elsewhere.
 */
interface Channel {
    /** What a replica is told; each call is an event of the kernel. */
    interface Receiver {
        /** A message of the total order; positions increase, and are the same at all replicas. */
        void delivered(long position, int sender, Message message);

        /** A message outside of the order. */
        void received(int sender, Message message);

        /** Who is alive. */
        void view(Set<Integer> members);
    }

    /** Begins to tell a replica. */
    void start(int node, Receiver receiver);

    /** Has a message ordered and delivered to all replicas. */
    void order(int from, Message message);

    /** Sends a message to some replicas, reliably, in order between two of them. */
    void multicast(int from, Message message, Set<Integer> nodes);

    /** What went over the network so far. */
    Traffic traffic();
}
