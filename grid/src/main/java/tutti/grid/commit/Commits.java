package tutti.grid.commit;

import java.util.Set;
import java.util.function.Consumer;
import tutti.core.schema.Encoded;
import tutti.core.txn.TransactionId;
import tutti.grid.genuine.Configuration;

/**
 * One node's side of a protocol that commits transactions on all owners of their keys. A pure state machine. What it stands on is what
 * {@link tutti.grid.multicast.Multicast} says of channels, crashes and views.
 */
public interface Commits {
    /** What the state machine asks of its world. It may call the state machine back. */
    interface World {
        /** Send a message to another node. */
        void send(int to, Encoded message);

        /** A transaction is applied here, on the keys that this node owns. Told once. */
        void applied(TransactionId id, long stamp, CommitRequest request);

        /** Without views: who is a member of some group has changed. It must not call back from there. */
        default void membersChanged() {
            // Others learn of it by views.
        }

        /**
         * Without views: keys are being moved to other groups, or lie there now. It must not call back from there.
         *
         * @param founded who is to found a group; nobody if none is founded
         */
        default void layoutChanged(Configuration founded) {
            // Others learn of it by views.
        }

        /** Without views: this life of this node is no member any more: it was to go, or another one takes part instead. */
        default void over() {
            // Others learn of it by views.
        }
    }

    /**
     * Commits a transaction.
     *
     * @param id not used before, of this node
     * @param request with at least one key
     * @param done told how it has ended, now or later; never if this node is cut off from the owners, or its life is {@linkplain World#over over}
     */
    void commit(TransactionId id, CommitRequest request, Consumer<Result> done);

    /** A message has come; see {@link tutti.grid.multicast.Multicast#received}. */
    void received(int from, Encoded message);

    /**
     * Who was not heard for some time, and who was given up since the last time: nothing comes from there any more, and nothing that is sent arrives, until another life of the node comes. For
     * protocols without views.
     */
    default void absent(Set<Integer> notHeard, Set<Integer> gone) {
        // Others learn of it by views.
    }

    /**
     * Another view; see {@link tutti.grid.multicast.Multicast#view}. If it lacks somebody, all of its members take nothing any more from there, and this node's clock has
     * seen how far theirs were since; see {@link tutti.grid.view.ViewEntry}.
     */
    void view(long number, Set<Integer> members);

    /** Whether nothing is under way here any more that was sent in an earlier layout than the present one. */
    default boolean isDrained() {
        return true;
    }

    /** Whether nothing is kept here of nodes that are not in the view. */
    default boolean isClean() {
        return true;
    }

    /**
     * Time has passed.
     *
     * @param nanos since some moment
     */
    void tick(long nanos);

    /**
     * What is applied here from now on has a stamp above, and what is on its way began above or at it: nothing that this node still
     * decides about needs anything below.
     */
    long settled();

    /**
     * All nodes have settled up to this: what is only kept for others that far may be forgotten.
     *
     * @return up to where versions may be dropped that only older snapshots would find
     */
    long forget(long horizon);

    /** The stamp of a snapshot that begins now. Never smaller than before. */
    long present();

    /** Something has committed at this stamp, as another node says. */
    default void seen(long stamp) {
        // The clock has seen it.
    }

    /** Does something when the {@link tutti.grid.store.Store} can answer reads of a stamp: now or later. */
    default void whenThere(long stamp, Runnable then) {
        then.run();
    }

    /** How often that was later, so far. */
    default long waitingReads() {
        return 0;
    }

    /** How many transactions are kept, for people. */
    int size();
}
