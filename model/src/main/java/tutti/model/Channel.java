package tutti.model;

import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Message;
import tutti.sim.net.Network;

/**
 * How the replicas of a model speak with each other. Messages are handed over as they are, and their encoded sizes take the
 * network's time: they are immutable, and that they survive being encoded is tested elsewhere.
 */
interface Channel {
    /** What a replica is told; each call is an event of the kernel. */
    interface Receiver {
        /** A message of the total order; positions increase, and are the same at all replicas. */
        void delivered(long position, int sender, Message message);

        /** A message of the total order has come, and will be delivered; told only if it was {@linkplain ModelConfig.OrderChoice asked for}. */
        void tentative(int sender, Message message);

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

    /** A site has crashed. Those that are left are told the view without it, when they have found out. */
    void crashed(int node);

    /** The network of packets below, or null if it is modelled by arithmetic. */
    @Nullable
    Network network();

    /** What went over the network so far. */
    Traffic traffic();
}
