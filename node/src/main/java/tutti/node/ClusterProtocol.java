package tutti.node;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.function.Consumer;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Message;

/**
 * Which protocol, with which parameters, the cluster runs, and so who may take part.
 *
 * <p>
 * <b>Who decides.</b> The first node of which the order has heard, for good. Who begins with a snapshot runs what wrote it, since a node's data is of
 * one protocol, and a copy is given only to whoever has the same. Who begins with none is delivered the order from its first message on, which is
 * that node's. So all know the same, and whoever runs something else stops, while to the others its life is fenced where it begins: one node that was
 * configured otherwise stops no other.
 *
 * <p>
 * <b>What a node says before it knows.</b> Messages of another protocol the others could not read, and would stop at. So none is sent before this node
 * knows that it may take part. Of the replica's loop.
 */
final class ClusterProtocol {
    private final ChosenProtocol own;
    private final Consumer<Message> orders;
    private final Queue<Message> unsent = new ArrayDeque<>();
    private boolean known;

    /**
     * Not known yet.
     *
     * @param own what this node runs
     * @param orders has a message of the protocol ordered
     */
    ClusterProtocol(ChosenProtocol own, Consumer<Message> orders) {
        this.own = own;
        this.orders = orders;
    }

    /** This node begins with a snapshot. */
    void recovered() {
        known = true;
    }

    /** Has a message of the protocol ordered, as soon as it may be. */
    void order(Message message) {
        if (known) {
            orders.accept(message);
        } else {
            unsent.add(message);
        }
    }

    /**
     * A node begins a life.
     *
     * @param told what it says that it runs
     * @return whether it may take part
     * @throws ReplicaNode.OtherProtocolException if this one may not
     */
    boolean admits(int node, String told) {
        boolean same = own.fits(told);
        if (!known && !same) {
            throw new ReplicaNode.OtherProtocolException("the cluster began with protocol " + told + " at node " + node
                    + ", this node runs " + own
                    + ": give all nodes the `protocol` and `protocol-parameters` with which the cluster began; what has changed since is in the"
                    + " order (`tutti parameters`)");
        }
        known = true;
        while (!unsent.isEmpty()) {
            orders.accept(unsent.remove());
        }
        return same;
    }
}
