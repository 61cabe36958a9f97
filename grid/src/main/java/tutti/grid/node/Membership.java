package tutti.grid.node;

import java.nio.ByteBuffer;
import java.util.Set;
import tutti.core.schema.Encoded;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.genuine.Configuration;
import tutti.grid.multicast.LamportClock;
import tutti.grid.store.Key;
import tutti.grid.store.Layouts;
import tutti.grid.store.Store;
import tutti.grid.view.View;
import tutti.runtime.Clock;

/**
 * Who is a member, who of them is there, and how that changes: what differs between a grid with views ({@link ViewMembership}) and one of groups ({@link GroupMembership}). A part of a {@link GridMember}, on the
 * node's loop.
 */
interface Membership {
    /** What it shares with the rest of its member. */
    record Shared(GridConfig config, Clock machineClock, PeerLinks links, LamportClock clock, Layouts layouts,
            Store store, L1 l1, Hearing hearing, Heartbeats heartbeats, Times times) {
        int self() {
            return config.self();
        }

        /** Those of some nodes that were not heard for so long that they are taken for crashed. */
        Set<Integer> unheard(Set<Integer> of) {
            return hearing.silent(of, config.failureTimeout().toNanos());
        }
    }

    /** The member that it is a part of. */
    interface Member {
        /** Sends a message to another node. */
        void send(int to, Encoded message);

        /** Runs something when all that runs now has. */
        void later(Runnable task);

        /** Takes frames that have come too early, and may be looked at now. */
        void dispatchHeld();

        /** Whether it is a member no more. */
        boolean isOver();

        /** Who owns keys, or who of them is there, has changed. */
        void ownersChanged();

        /** These have not answered for a while: another owner may. */
        void askOthersThan(Set<Integer> slow);

        /** What this node says of itself; noted as said by it. */
        GridMessage.Heartbeat heartbeat(GridMessage.Moving moving);

        /** The others go on without this process. */
        void excluded(View by);

        /** This node ends. */
        void ended(String why);
    }

    /** Begins; when all else of the member is there. */
    void begin();

    /** The members, as agreed on last, or as far as this node knows. */
    View view();

    /** The view that this node goes by. */
    View entered();

    /** Members that take no part now. */
    default Set<Integer> silent() {
        return Set.of();
    }

    /** Lives of nodes that are not taken in yet. */
    default Set<Integer> joining() {
        return Set.of();
    }

    /** Whether a node counts as a member. */
    boolean isMember(int node);

    /** Whether this node has what it needs to serve clients. */
    default boolean isBroughtUp() {
        return true;
    }

    /** How far this node is with that, for people; empty if there is nothing to tell. */
    default String howFar() {
        return "";
    }

    /** Whether keys may have lost all their owners. */
    default boolean isLost() {
        return false;
    }

    /** How many nodes must be there besides these for all keys of a cache to be known. */
    long missing(Set<Integer> asked, int degree);

    /**
     * Wants to leave.
     *
     * @throws GridException if too few would be left
     */
    void leave();

    /**
     * Has the others go on without a node that has crashed, as soon as they can, if they do not by themselves; to be called often until they do.
     *
     * @throws GridException if too few would be left
     */
    default void remove(int node) {
        // They do.
    }

    /** See {@link GridNode#acceptLoss}. */
    default void acceptLoss() {
        // Nothing is taken for lost.
    }

    /** Of groups: another process has come as a node. */
    default void begins(int node, long process) {
        // Not before it is in a view.
    }

    /** With views: another process comes as a node, and is not the one that is a member. */
    default void superseded(int node) {
        // Who comes last is the node.
    }

    /** Whether the group of a node has other members than it was founded with, as far as this node knows. */
    default boolean hasChanged(int node) {
        return false;
    }

    /** Of groups: who is a member has changed, says the commit protocol, which must not be called back from here. */
    default void changed() {
        // It does not say so with views.
    }

    /** Of groups: which of them own which keys has changed, says the commit protocol, which must not be called back from here. */
    default void layoutChanged(Configuration founded) {
        // It does not say so with views.
    }

    /** Whether this node answers reads of a key. */
    default boolean answersFor(Key key) {
        return true;
    }

    /** With views: whether a frame has come too early, and is kept until it may be looked at; or what it holds was taken at once. */
    default boolean isEarly(int from, ByteBuffer frame) {
        return false;
    }

    /**
     * Takes a message that is about who is a member, or is of who is none.
     *
     * @param stamp its sender's clock, which was not seen yet
     * @return whether it was
     */
    boolean takes(int from, Encoded message, long stamp);

    /** Takes any other message of its own, by a member; whether it was. */
    boolean received(int from, Encoded message);

    /**
     * A member says that it lives.
     *
     * @param isPresent whether it goes by the same view
     */
    void heartbeat(int from, GridMessage.Heartbeat heartbeat, boolean isPresent);

    /** Time has passed: looks who was not heard. How far keys are moved. */
    GridMessage.Moving tick();

    /** Tells the others that this node lives. Whose heartbeats say what may be forgotten. */
    Set<Integer> say(GridMessage.Moving moving);

    /** Whether something may be forgotten. */
    boolean mayForget();
}
