package tutti.core.protocol;

import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.tune.ConcurrencyTuning;
import tutti.core.txn.AbortReason;
import tutti.core.txn.TransactionId;

/**
 * One replica's side of a replication algorithm: a deterministic state machine that is told events and asks its world
 * for effects through {@link ReplicaWorld}. Its {@link ProtocolDescriptor}
 * says what else a world must know of it. The hooks are those of GORDA D5.1 section 2.3.2, completed.
 *
 * <p>
 * <b>Contract for the world.</b> Events are told one at a time, from one thread at a time. Effects asked during an event
 * are carried out after it; none calls back into the protocol before the event returns. {@code delivered} comes in
 * order of position, the same at every replica; several positions may be delivered before the first has
 * been applied. Everything told about a transaction of another incarnation of this node is told as about a remote one.
 *
 * <p>
 * <b>Contract for the protocol.</b> The same events in the same order produce the same effects. Each local transaction
 * that was submitted is answered exactly once.
 */
public interface Protocol {
    /**
     * A client began a transaction, or handed in a whole request. It does not run before {@link ReplicaWorld#run} is asked.
     *
     * <p>
     * For a protocol that {@linkplain Trait#EXECUTES_AT_ONCE executes at once} the world lets transactions run without waiting for
     * {@code run}, except requests {@linkplain TransactionRequest.Placement#ALL for every replica}, and may tell {@code submitted}
     * only when one asks to commit, directly before {@code executed}.
     *
     * @param transaction of this node, never told before
     * @param request what is known of it before it runs
     */
    void submitted(TransactionId transaction, TransactionRequest request);

    /**
     * A local transaction has run and is ready to commit. It holds its locks in the engine.
     *
     * @param execution its write set is empty only if the protocol does not {@linkplain Trait#EXECUTES_AT_ONCE execute at
     *            once}: to others, a transaction that changed nothing has read one snapshot of one replica, which is a
     *            prefix of the total order, and ends without the protocol
     */
    void executed(TransactionId transaction, Execution execution);

    /**
     * Whole requests that this replica {@linkplain ReplicaWorld#undertake undertakes} have run, in one engine transaction. It holds its
     * locks in the engine if they have changed anything; if not, the engine has ended it.
     *
     * @param transaction the first of them
     * @param execution what all together have done; its write set is empty if the only one did not take effect
     * @param responses what their clients are to be told, in order, at least one; those for which there is none have not been executed. Each
     *            has taken effect, unless it is the only one
     */
    default void undertaken(TransactionId transaction, Execution execution, List<Response> responses) {
        throw new IllegalStateException(
                transaction + " was undertaken, but this protocol asks for nothing of the kind");
    }

    /** A remote transaction's changes are in place, as asked by {@link ReplicaWorld#prepare}, and hold their locks. */
    default void prepared(TransactionId transaction) {
        throw new IllegalStateException(transaction + " was prepared, but this protocol asks for nothing of the kind");
    }

    /**
     * A transaction waits in the engine for locks: a remote one whose changes are being {@linkplain ReplicaWorld#prepare
     * prepared}, and to a protocol that {@linkplain Trait#HEARS_OF_WAITS hears of waits} a local one that runs, too.
     * Told while it lasts, at least whenever the holders are others; not every world can tell.
     *
     * @param transaction that waits; perhaps one that got its locks, or was given up, a moment ago
     * @param holders in an order that is the same in every replay. For a local one: the local transactions that were submitted and
     *            that it waits for directly, and perhaps others. For a remote one: for whom it waits, directly or through
     *            others, of local transactions that have been {@code executed} and remote ones that are prepared or to be
     *            prepared. Where it waits for a local transaction that its replica does not let ask yet because so many
     *            others wait for their outcome, those are among them; and {@code transaction} itself where local ones that still
     *            run wait for it
     */
    default void blocked(TransactionId transaction, Set<TransactionId> holders) {}

    /**
     * A local transaction ended before it asked to commit, a run asked for by the protocol failed, or the changes of a
     * remote one could not be {@linkplain ReplicaWorld#prepare prepared}. The engine has rolled it back.
     */
    void failed(TransactionId transaction, AbortReason.Failed cause);

    /**
     * A local transaction was rolled back in the engine because it stood in the way of an ordered one. The client has
     * not been told. If it has been ordered already it may yet commit: its write set is then applied like a remote one.
     * A whole request may be {@linkplain ReplicaWorld#run run} again.
     *
     * @param forPosition position of the ordered transaction that needed the lock
     */
    void victim(TransactionId transaction, long forPosition);

    /**
     * A local transaction that has asked to commit is about to be rolled back in the engine, though nobody needs its locks: its client waits no
     * more. Told before its locks are free, so before anybody else is {@code executed} or {@code prepared} who could not have got them. As a {@link #victim}
     * that has been ordered it may yet commit. Means nothing to a protocol whose guarantee does not rest on the engine's locks.
     */
    default void locksLost(TransactionId transaction) {}

    /**
     * The transaction at this position, and all before it, are visible in this node's engine.
     *
     * @param horizon no local transaction has begun below this position that may commit as far as the protocol has been told, nor
     *            will one have that it is told of from now on; never decreases
     */
    void committed(long position, long horizon);

    /**
     * The total order delivered a message.
     *
     * @param position 1 and up, increasing; positions that the world uses for itself are left out
     * @param sender the node that asked for it to be ordered
     * @param message what it sent, one of {@link ProtocolDescriptor#messages}
     */
    void delivered(long position, int sender, Message message);

    /**
     * The order delivered a message tentatively: most likely it will be {@code delivered} soon, in about this order. Not
     * every world tells, and it may be wrong; only ever a reason to begin early.
     */
    default void tentative(int sender, Message message) {}

    /** A message came by {@link ReplicaWorld#multicast}: reliably, in no particular order. */
    default void received(int sender, Message message) {
        throw new IllegalArgumentException(
                "node " + sender + " sent " + message + ", but this protocol multicasts nothing");
    }

    /**
     * The set of nodes that are believed alive, and able to go on, changed. This replica is not among them if it is not itself, and nobody is if it can have nothing
     * ordered at present: then it is others' turn, or nobody's, to do what those have left that are gone. Means nothing to a protocol for which the order alone decides.
     */
    default void view(Set<Integer> members) {}

    /**
     * The members are others from here on: those that decide with the others. A function of the ordered prefix: every replica is told at the same position.
     * Part of the {@link #snapshot}, where something depends on it: it is not told again behind one.
     *
     * @param position between the last one and the next one that are {@code delivered}
     * @param members all of them
     */
    default void members(long position, Set<Integer> members) {}

    /**
     * The operator of this replica has it undertake other numbers of requests from now on. Nothing is decided by them.
     *
     * @param executors how many engine transactions at a time; 0 for what keeps it from being behind
     * @param together how many requests in one of them, at most; 0 likewise
     */
    default void undertake(int executors, int together) {
        throw new IllegalStateException("this protocol undertakes nothing");
    }

    /** A timer asked for by {@link ReplicaWorld#timer} has run out. */
    void timer(long timer);

    /**
     * Among which replicas the order should be decided, as of the last position delivered: advice to a world in which
     * places matter. Empty if it does not matter. A change of it is not an event; the world asks after events.
     */
    default Set<Integer> orderers() {
        return Set.of();
    }

    /**
     * The one replica at which changes can be submitted, as of the last position delivered; empty unless the protocol has
     * {@linkplain Trait#ONE_PRIMARY one primary}.
     */
    default OptionalInt primary() {
        return OptionalInt.empty();
    }

    /**
     * Whether a transaction may yet commit, as of the last position delivered, whatever becomes of its node: somebody else can
     * finish it. A function of the ordered prefix.
     */
    default boolean undecided(TransactionId transaction) {
        return false;
    }

    /**
     * How many keys of other transactions this replica keeps to decide by, as of the last event: those that committed, and those that are ordered and
     * undecided. Bounded, wherever it is not 0, by a parameter of the protocol or by what is in flight.
     */
    default int remembered() {
        return 0;
    }

    /**
     * About how many bytes of memory the whole requests take, of all replicas' clients, that are ordered and have no outcome, as of the last position
     * delivered. A function of the ordered prefix; the {@link #snapshot} carries them.
     */
    default long waitingBytes() {
        return 0;
    }

    /** How many executors execute how many requests together, as of the last event, if this replica chooses that by itself; else null. */
    default ConcurrencyTuning.@Nullable Choice undertaking() {
        return null;
    }

    /**
     * The parameters that the order can change, as of the last position delivered: the same at every replica. The same object as long as nothing
     * changes.
     */
    default OrderedParameters ordered() {
        return OrderedParameters.NONE;
    }

    /**
     * Everything that future decisions depend on, as of the last position delivered. A replica that starts from it and is
     * delivered the positions after it decides exactly as this one will; the order's log may forget what came before.
     * Local transactions that are open are not part of it.
     */
    byte[] snapshot();

    /**
     * Begins from what {@link #snapshot} of any replica gave. Called at most once, before any event.
     *
     * @throws IllegalArgumentException if it is not a snapshot of this protocol with these parameters
     */
    void restore(byte[] snapshot);
}
