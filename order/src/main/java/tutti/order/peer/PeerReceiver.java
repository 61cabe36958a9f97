package tutti.order.peer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Set;

/** What happens with frames and connections. */
public interface PeerReceiver {
    /**
     * A frame has come.
     *
     * @param frame valid during the call only
     * @throws IOException if no node would have sent it
     */
    void received(int from, ByteBuffer frame) throws IOException;

    /** The set of {@linkplain PeerNetwork#reachable reachable} nodes is another now. */
    void reachabilityChanged();

    /**
     * The process of a node has ended: its connections were closed, and where it listened, nobody does. Not told of a node that is merely
     * silent.
     */
    void gone(int node);

    /** With what this node greets others now. */
    Greeting.Hello hello();

    /**
     * Whether a member may take part that comes with this directory.
     *
     * @param otherwise why it may not for another reason, or nothing
     * @throws IOException if that cannot be known
     */
    Greeting.Answer admit(Greeting.Hello hello, String otherwise) throws IOException;

    /**
     * Whether a node cannot know the members as they are: it has become one and has never come yet, or it comes with another directory than the one
     * that it had.
     *
     * @param proven whether it is certain that it is that node
     */
    boolean needsCopy(Greeting.Hello hello, boolean proven) throws IOException;

    /** Nodes that were members, and are no more. */
    Set<Integer> removed();

    /** Every other node has answered for the first time, or could not be reached. */
    void asked();

    /**
     * This one may not take part.
     *
     * @param outdated whether another node has found its directory to be an old copy; if not, no other node accepts it
     * @param lost whether that is because it comes with another directory than the one that it had
     */
    void rejected(String reason, boolean outdated, boolean lost);

    /** This one was removed from the cluster. */
    void wasRemoved(String reason);
}
