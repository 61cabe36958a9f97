package tutti.node;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Group;

/**
 * Whom this node keeps the order's log for: all nodes, but for those that have been away, or excluded, for longer than a time, or
 * for whom it would grow beyond a size. Each node decides for its own log. A node that was given up and comes back finds either
 * that what it lacks is still there, and is one like any other again, or that it needs a copy.
 *
 * <p>
 * Nobody is given up by a node that reaches no majority: it is the one that is away then, and its log does not grow. What a
 * node has heard of absences is forgotten with its life. Of the replica's loop, except {@link #givenUp}.
 */
final class LogRetention {
    private static final Logger LOG = LoggerFactory.getLogger(LogRetention.class);

    private final int self;
    private Set<Integer> replicas;
    private final ReplicaNode.Retention limits;
    private final Map<Integer, Long> awaySinceNanos = new HashMap<>();
    private volatile Set<Integer> givenUp = Set.of();

    LogRetention(int self, Set<Integer> replicas, ReplicaNode.Retention limits) {
        this.self = self;
        this.replicas = replicas;
        this.limits = limits;
    }

    /** For these it is kept from now on. */
    void members(Set<Integer> now) {
        replicas = Set.copyOf(now);
        awaySinceNanos.keySet().retainAll(now);
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
            awaySinceNanos.clear();
            return false;
        }
        Set<Integer> now = new TreeSet<>(givenUp);
        int furthest = -1;
        for (int node : replicas) {
            if (view.members().contains(node) && !excluded.contains(node)) {
                awaySinceNanos.remove(node);
                if (now.remove(node)) {
                    LOG.info("node {}: node {} is back, the order's log is kept for it again", self, node);
                }
                continue;
            }
            long away = nowNanos - awaySinceNanos.computeIfAbsent(node, _ -> nowNanos);
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

    private void giveUp(Set<Integer> now, int node, String why) {
        now.add(node);
        LOG.warn("node {}: node {} {}: the order's log is no longer kept for it. If it comes back and finds the log too"
                + " short, it needs a copy of another node's database", self, node, why);
    }
}
