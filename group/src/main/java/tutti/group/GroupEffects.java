package tutti.group;

import tutti.core.spi.Group;

/**
 * What a {@link GroupMember} asks of its world. Each call is made during an event; the world carries it out after it and
 * never calls the member back from here.
 */
public interface GroupEffects {
    /** Sends a packet to another member, if it can: it may be lost, late, out of turn or doubled, but not damaged. */
    void send(int to, Packet packet);

    /** Sends a packet to all other configured members, each as {@link #send} would. */
    void multicast(Packet packet);

    /** Asks for {@link GroupMember#timer} with this id after this time; the member itself keeps it from doubling. */
    void timer(long id, long delayNanos);

    /**
     * Asks for a record to be put on stable storage, after all earlier ones.
     *
     * @param serial 1, 2, ... in this life of the member, for {@link GroupMember#persisted}
     */
    void persist(long serial, StableRecord record);

    /** The next message of the total order; it is on this member's stable storage and on that of a majority. */
    void deliver(Ordered message);

    /**
     * A message has been received, from this member itself too, and will probably be ordered before those of later calls
     * (the spontaneous order, D5.1 section 2.3.3). Not told of a message that comes by way of the log after a failure,
     * told at most once in a life of this member, and told in vain if the message's sender dies.
     */
    default void optimistic(int sender, long incarnation, long number, byte[] payload) {}

    /** Membership or reachability changed; told when it did. A member that has begun a new life is first told to be absent. */
    void view(Group.View view);

    /** Nothing submitted here is ordered for the time being. Told when the reason changed. */
    default void blocked(Blocked why) {}

    /** What is submitted here is ordered again. */
    default void unblocked() {}

    /**
     * This member's log ends before the others' logs begin: it can never join again until it is given a copy of the state
     * and a log of its own. Told at most once in a life.
     */
    default void stateNeeded(long firstRetained) {}

    /** Why nothing is ordered. */
    enum Blocked {
        /** The member's new life is not yet on stable storage. */
        STARTING,
        /** A majority of the configured members cannot be reached. */
        NO_MAJORITY,
        /** The next view is being agreed on. */
        VIEW_CHANGE,
        /** The member is not in the view: it catches up, or waits to be let in. */
        OUTSIDE,
        /**
         * So many members have forgotten the group, because they keep no log, that those who remember it are no majority: unless
         * such come back, nothing is ever ordered again.
         */
        FORGOTTEN,
        /** The others have forgotten messages that the member lacks, see {@link GroupEffects#stateNeeded}. */
        STATE_NEEDED
    }
}
