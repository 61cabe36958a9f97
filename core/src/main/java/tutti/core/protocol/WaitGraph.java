package tutti.core.protocol;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import tutti.core.protocol.TwoPhaseMessage.Wait;
import tutti.core.txn.TransactionId;

/**
 * Which transactions wait for which others, at all replicas, and who is to give way where they wait for one another.
 *
 * <p>
 * Of each largest set of transactions that all wait for one another, directly or not, the youngest gives way: the one with
 * the highest number. Every replica that has heard of the same waits names the same ones. A transaction waits in a
 * circle if and only if it is in such a set, so whenever there is a circle somebody in it gives way; and the oldest never
 * does.
 *
 * <p>
 * Replicas tell all their waits as long as they have any, again and again. What was told longer ago than
 * {@code staysTicks} is forgotten: messages may arrive in another order than they were sent, and replicas are lost, so an
 * old list may be the last one that arrived; it must not name for ever somebody who is gone, for whom the others would
 * wait to give way. Not for use by several threads.
 */
final class WaitGraph {
    private static final Comparator<TransactionId> BY_AGE = Comparator
            .comparingLong((TransactionId id) -> id.serial() & 0xffff_ffffL).thenComparingInt(TransactionId::node)
            .thenComparingLong(TransactionId::serial);

    private record Told(List<Wait> waits, long tick) {}

    private final int staysTicks;
    private final Map<Integer, Told> byNode = new TreeMap<>();
    private long tick;

    /** @param staysTicks how many ticks what a node has told is true, 1 and up */
    WaitGraph(int staysTicks) {
        this.staysTicks = staysTicks;
    }

    /** Whether, if the two wait for each other, the second gives way. */
    static boolean isOlder(TransactionId one, TransactionId than) {
        return BY_AGE.compare(one, than) < 0;
    }

    /** A node has told all its waits. */
    void told(int node, List<Wait> waits) {
        byNode.put(node, new Told(waits, tick));
    }

    /** A node is gone. */
    void forget(int node) {
        byNode.remove(node);
    }

    /** Time passes. */
    void tick() {
        tick++;
        byNode.values().removeIf(told -> told.tick() + staysTicks < tick);
    }

    /** Those of these transactions that are to give way. */
    Set<TransactionId> givingWay(Set<TransactionId> of) {
        Map<TransactionId, Set<TransactionId>> forward = new HashMap<>();
        Map<TransactionId, Set<TransactionId>> backward = new HashMap<>();
        for (Told told : byNode.values()) {
            for (Wait wait : told.waits()) {
                forward.computeIfAbsent(wait.waiter(), _ -> new HashSet<>()).add(wait.holder());
                backward.computeIfAbsent(wait.holder(), _ -> new HashSet<>()).add(wait.waiter());
            }
        }
        Set<TransactionId> giving = new HashSet<>();
        for (TransactionId one : of) {
            Set<TransactionId> together = reachable(one, forward);
            if (together.contains(one)) {
                together.retainAll(reachable(one, backward));
                if (together.stream().allMatch(other -> BY_AGE.compare(other, one) <= 0)) {
                    giving.add(one);
                }
            }
        }
        return giving;
    }

    private static Set<TransactionId> reachable(TransactionId from, Map<TransactionId, Set<TransactionId>> arrows) {
        Set<TransactionId> reached = new HashSet<>();
        ArrayDeque<TransactionId> open = new ArrayDeque<>(arrows.getOrDefault(from, Set.of()));
        while (!open.isEmpty()) {
            TransactionId next = open.remove();
            if (reached.add(next)) {
                open.addAll(arrows.getOrDefault(next, Set.of()));
            }
        }
        return reached;
    }
}
