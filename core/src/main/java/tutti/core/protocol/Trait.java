package tutti.core.protocol;

/**
 * What a world must know of a protocol in order to run it. Worlds ask for traits and never for a protocol's name or class.
 * A trait that is left out is the safe or usual case.
 */
public enum Trait {
    /**
     * The world lets transactions run without waiting for {@link ReplicaWorld#run}; see {@link Protocol#submitted}. Without it
     * transactions wait to be run.
     */
    EXECUTES_AT_ONCE,
    /** {@link Protocol#executed} must bring a read set. */
    NEEDS_READS,
    /**
     * {@link Protocol#executed} may bring a read set, of any transaction: that one is then serializable, whatever others are. It has
     * read what those before it in the order have left, and nothing that is older.
     */
    TAKES_READS,
    /** Undeclared transactions are slow, because their conflict classes must be assumed to be all. */
    NEEDS_CLASSES,
    /** Interactive transactions may only read: what changes the database must be handed in whole. */
    WHOLE_ONLY,
    /** All changes must be submitted at one replica, which {@link Protocol#primary} names; the lowest at first. */
    ONE_PRIMARY,
    /**
     * Whole requests that every replica can execute are executed by every replica unless their client asks for something else. The only trait that
     * may come and go with parameters that the order changes.
     */
    EVERYWHERE_IF_POSSIBLE,
    /**
     * A transaction is compared, by its keys, with all that were ordered between what its node showed when it asked to commit and itself,
     * and with nothing else: what is promised to a prepared transaction of a client's by its keys alone, without locks, can be kept.
     */
    CERTIFIES_BY_KEYS,
    /** {@link Protocol#blocked} is told of local transactions that run, too, where the world can tell. */
    HEARS_OF_WAITS,
    /**
     * Whole requests {@linkplain TransactionRequest.Placement#OWNER for an owner} may be handed in: {@link ReplicaWorld#undertake} and
     * {@link ReplicaWorld#respond} are asked for.
     */
    UNDERTAKES,
    /**
     * Replicas may come and go. Replicas of which the protocol was not told in the beginning may ask for transactions, and the
     * {@linkplain Protocol#view view} says who takes part. What is decided at a position does not depend on how many there are, or it depends on those that
     * were told by {@link Protocol#members}.
     */
    MEMBERS_MAY_CHANGE,
    /** {@link ReplicaWorld#prepare} is asked for: transactions of other replicas hold locks here before they are decided. */
    PREPARES,
    /**
     * Every transaction commits at the position of a message that its own node, and no other, has asked to be ordered: then
     * nothing of a node's former life commits behind the first message of its next, except what the protocol says is
     * {@linkplain Protocol#undecided undecided} there.
     */
    COMMITS_BY_OWN_MESSAGE,
    /**
     * What a node was handed may commit behind the first message of its next life, by messages of others:
     * {@link Protocol#undecided} tells which. So the node may not show yet what another has told to have committed.
     */
    REQUESTS_OUTLIVE_THEIR_NODE,
    /**
     * Other replicas may wait to hear that a position is visible at this one, so that it must not be made visible later than
     * necessary.
     */
    VISIBILITY_AWAITED_ELSEWHERE,
    /** Clients are answered when another cluster than the one that orders has stored what was committed. */
    ANSWERS_AWAIT_ANOTHER_CLUSTER,
    /** The world's order may span one cluster alone; without it every replica must be delivered the order. */
    ORDER_OF_ONE_CLUSTER
}
