package tutti.jdbc;

import java.util.Collection;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The newest position that was seen of a cluster, by one connection or by all of this virtual machine: what a transaction
 * begins after must be at least as new. Safe for use by several threads.
 *
 * <p>
 * <b>Why nothing that was seen gets lost.</b> A node tells its visible position before its client hears of the end of a
 * transaction, and {@link #saw} is called before the application does; so whoever begins a transaction after that, on
 * whichever thread, finds at least that position here.
 */
final class NewestPosition {
    private static final ConcurrentHashMap<Set<HostPort>, NewestPosition> BY_ALL = new ConcurrentHashMap<>();

    private final AtomicLong position = new AtomicLong(-1);

    /** What all connections of this virtual machine see that name the same nodes, in whatever order. */
    static NewestPosition byAll(Collection<HostPort> nodes) {
        return BY_ALL.computeIfAbsent(Set.copyOf(nodes), _nodes -> new NewestPosition());
    }

    /** -1 if nothing has been seen. */
    long position() {
        return position.get();
    }

    /** A transaction has seen this position; -1 if that is not known. */
    void saw(long seen) {
        position.accumulateAndGet(seen, Math::max);
    }

    /**
     * A node to which everything is visible that was ordered before has less than was seen. So it is of another cluster
     * than the one that was seen, as one that was made anew at the same addresses, and has nothing to catch up on.
     *
     * @param before what was seen of the one before
     * @param visible what that node has
     */
    void another(long before, long visible) {
        position.updateAndGet(now -> now <= before ? visible : now);
    }
}
