package tutti.node;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Group;

/**
 * Whom this node keeps the order's log for: all nodes, but for those that have been away, or excluded, for longer than a time, or
 * for whom it would grow beyond a size. Each node decides for its own log. A node that was given up and comes back finds either
 * that what it lacks is still there, and is one like any other again, or that it needs a copy.
 *
 * <p>
 * Nobody is given up by a node that reaches no majority: it is the one that is away then, and its log does not grow. So only the time counts in which
 * this node has reached a majority, in all its lives since the other one was there: whoever keeps {@link #absences} begins the next life
 * with them. Of the replica's loop, except {@link #givenUp}.
 */
final class LogRetention {
    private static final Logger LOG = LoggerFactory.getLogger(LogRetention.class);

    private final int self;
    private Set<Integer> replicas;
    private ReplicaNode.Retention limits;
    /** Part of the time limit, after which what has been counted is worth keeping again. */
    private static final int KEPT_PARTS = 64;

    private final Map<Integer, Long> awayNanos;
    private Map<Integer, Long> kept;
    /** When a majority was reached and looked at last; null if it was not reached then. */
    private @Nullable Long reviewedNanos;
    private volatile Set<Integer> givenUp = Set.of();

    /** @param before how long others had been away when this node's last life ended, in nanoseconds */
    LogRetention(int self, Set<Integer> replicas, ReplicaNode.Retention limits, Map<Integer, Long> before) {
        this.awayNanos = new HashMap<>(before);
        this.awayNanos.keySet().retainAll(replicas);
        this.kept = Map.copyOf(before);
        this.self = self;
        this.replicas = replicas;
        this.limits = limits;
    }

    /** It is kept for so long from now on. */
    void limits(ReplicaNode.Retention now) {
        limits = now;
    }

    /** For these it is kept from now on. */
    void members(Set<Integer> now) {
        replicas = Set.copyOf(now);
        awayNanos.keySet().retainAll(now);
        Set<Integer> still = new TreeSet<>(givenUp);
        still.retainAll(now);
        givenUp = Set.copyOf(still);
    }

    /** Nodes for which the log is not kept. Any thread. */
    Set<Integer> givenUp() {
        return givenUp;
    }

    /**
     * Looks who is away.
     *
     * @param nowNanos as the node's clock counts them
     * @param excluded nodes that take part in the order only
     * @param logBytes what the log takes
     * @param restart by node: from where on it would need the log
     * @return whether somebody was given up
     */
    boolean review(long nowNanos, Group.View view, Set<Integer> excluded, long logBytes, long[] restart) {
        if (!view.majority()) {
            reviewedNanos = null;
            return false;
        }
        Long reviewed = reviewedNanos;
        long since = reviewed == null ? 0 : nowNanos - reviewed;
        reviewedNanos = nowNanos;
        Set<Integer> now = new TreeSet<>(givenUp);
        int furthest = -1;
        for (int node : replicas) {
            if (view.members().contains(node) && !excluded.contains(node)) {
                awayNanos.remove(node);
                if (now.remove(node)) {
                    LOG.info("node {}: node {} is back, the order's log is kept for it again", self, node);
                }
                continue;
            }
            Long before = awayNanos.get(node);
            long away = before == null ? 0 : before + since;
            awayNanos.put(node, away);
            if (now.contains(node)) {
                continue;
            }
            if (away > limits.nanos()) {
                giveUp(now, node, "has been away or excluded for " + Duration.ofNanos(away).toSeconds()
                        + " s, longer than order.retention-time");
            } else if (furthest < 0 || restart[node] < restart[furthest]) {
                furthest = node;
            }
        }
        if (logBytes > limits.bytes() && furthest >= 0) {
            giveUp(now, furthest, "is away or excluded, and the log takes " + logBytes
                    + " bytes, more than order.retention-bytes");
        }
        boolean more = !givenUp.containsAll(now);
        givenUp = Set.copyOf(now);
        return more;
    }

    /** How long others have been away, if that is worth keeping: somebody has come or gone since it was, or time has passed; otherwise null. */
    @Nullable
    Map<Integer, Long> absences() {
        boolean more = awayNanos.entrySet().stream().anyMatch(each -> each.getValue()
                - kept.getOrDefault(each.getKey(), 0L) > limits.nanos() / KEPT_PARTS);
        if (!more && awayNanos.keySet().equals(kept.keySet())) {
            return null;
        }
        kept = Map.copyOf(awayNanos);
        return kept;
    }

    private void giveUp(Set<Integer> now, int node, String why) {
        now.add(node);
        LOG.warn("node {}: node {} {}: the order's log is no longer kept for it. If it comes back and finds the log too"
                + " short, it needs a copy of another node's database", self, node, why);
    }
}
