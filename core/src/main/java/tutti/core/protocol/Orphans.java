package tutti.core.protocol;

import java.util.List;
import java.util.Set;
import tutti.core.protocol.ClassMessage.Release;
import tutti.core.txn.TransactionId;

/**
 * Transactions that have places in the class queues and whose replica will not end them, and how they lose their places.
 *
 * <p>
 * The places are given up by an ordered {@link Release}, which does nothing if the transaction has left the queues by then.
 * So of two that ask for it, and of a release and a late message of a replica that was taken for gone, whatever comes first in
 * the order counts, at all replicas alike: suspicions cause releases, they decide nothing. The lowest of those that seem
 * to be alive asks, again and again until it is seen to have happened; if views differ, several ask. It may be so far behind that it
 * knows nothing of the transaction, so at each further look one more asks, the next lowest. A replica asks by itself for
 * what it does not know, which is of a former life.
 */
final class Orphans {
    private final int node;
    private final long intervalNanos;
    private final long timer;
    private final ReplicaWorld world;
    private final RepeatedProposal asking;
    private Set<Integer> alive;
    private boolean timerRuns;
    /** So many times it was looked, after the first time, and there was one. */
    private int looks;

    /**
     * @param node this replica
     * @param replicas all of them
     * @param intervalNanos until a release is asked for again, in nanoseconds
     * @param timer number of the timer that is used for it
     */
    Orphans(int node, Set<Integer> replicas, long intervalNanos, long timer, ReplicaWorld world) {
        this.node = node;
        this.world = world;
        this.asking = new RepeatedProposal(node, world);
        this.alive = replicas;
        this.intervalNanos = intervalNanos;
        this.timer = timer;
    }

    /** These are believed alive now. */
    void view(Set<Integer> nodes) {
        alive = Set.copyOf(nodes);
        looks = 0;
    }

    /**
     * Whether nobody will finish it.
     *
     * @param known whether this replica is about to finish it, or its client waits for that
     */
    boolean isOne(TransactionId transaction, boolean known) {
        return transaction.node() == node ? !known : !alive.contains(transaction.node());
    }

    /** Whether it is for this replica to ask for it. */
    private boolean asks(TransactionId orphan) {
        return orphan.node() == node
                || (alive.contains(node) && alive.stream().filter(other -> other < node).count() <= looks);
    }

    /** The timer has run out. */
    void ranOut() {
        timerRuns = false;
        looks++;
    }

    /** There is one: it will be looked after later. */
    void watch() {
        if (!timerRuns) {
            timerRuns = true;
            world.timer(timer, intervalNanos);
        }
    }

    /** Asks for the release of all that there are, as far as that is for this replica to do. */
    void release(List<TransactionId> orphans) {
        if (orphans.isEmpty()) {
            looks = 0;
            return;
        }
        watch();
        List<TransactionId> asked = orphans.stream().filter(this::asks).toList();
        if (!asked.isEmpty()) {
            asking.order(new Release(asked));
        }
    }

    /** A release was delivered. */
    void released(int sender) {
        asking.delivered(sender);
    }
}
