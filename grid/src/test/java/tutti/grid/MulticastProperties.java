package tutti.grid;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import tutti.core.txn.TransactionId;

/**
 * What section IV-B of the paper promises of a total order multicast, as far as it can be told from what each node has delivered. What is owed
 * (validity, uniform agreement) depends on which crashes are survived, and is for each run to judge.
 */
public final class MulticastProperties {
    /**
     * What a node has delivered.
     *
     * @param node its number
     * @param messages in the order in which they were delivered
     * @param stamps of each of these
     */
    public record Deliveries(int node, List<TransactionId> messages, List<Long> stamps) {
        private boolean before(TransactionId first, TransactionId second) {
            int at = messages.indexOf(first);
            return at >= 0 && at < messages.indexOf(second);
        }
    }

    private final List<Deliveries> all;
    private final BiPredicate<TransactionId, Integer> destination;
    private final Consumer<String> fail;

    /**
     * Of a run that is over.
     *
     * @param destination whether a message was meant for a node
     * @param fail is told what does not hold
     */
    public MulticastProperties(List<Deliveries> all, BiPredicate<TransactionId, Integer> destination,
            Consumer<String> fail) {
        this.all = all;
        this.destination = destination;
        this.fail = fail;
    }

    /** Uniform integrity: nothing twice, and nothing that was not meant for the node; and, of every node, by the stamps. */
    public void integrity() {
        for (Deliveries node : all) {
            if (new HashSet<>(node.messages).size() != node.messages.size()) {
                fail.accept("uniform integrity: node " + node.node + " delivered twice: " + node.messages);
            }
            for (TransactionId id : node.messages) {
                if (!destination.test(id, node.node)) {
                    fail.accept("uniform integrity: node " + node.node + " delivered " + id + ", not meant for it");
                }
            }
            for (int i = 1; i < node.stamps.size(); i++) {
                if (node.stamps.get(i) <= node.stamps.get(i - 1)) {
                    fail.accept("node " + node.node + " delivered " + node.messages.get(i) + " not by its stamp");
                }
            }
        }
    }

    /** Uniform prefix order: of two messages that are meant for two nodes, one is before the other at each that delivers the other. */
    public void prefixOrder() {
        for (Deliveries one : all) {
            for (Deliveries other : all) {
                prefixOrder(one, other);
            }
        }
    }

    private void prefixOrder(Deliveries one, Deliveries other) {
        for (TransactionId m : one.messages) {
            for (TransactionId n : other.messages) {
                boolean both = destination.test(m, other.node) && destination.test(n, one.node);
                if (both && !m.equals(n) && !one.before(n, m) && !other.before(m, n)) {
                    fail.accept("uniform prefix order: node " + one.node + " delivered " + m + " and not " + n
                            + " before; node " + other.node + " delivered " + n + " and not " + m + " before");
                    return;
                }
            }
        }
    }

    /** Uniform acyclic order: takes away, again and again, a message that no node has delivered after another one that is left. */
    public void acyclicOrder() {
        Map<TransactionId, Integer> before = new HashMap<>();
        Map<TransactionId, List<TransactionId>> after = new HashMap<>();
        for (Deliveries node : all) {
            for (int i = 0; i < node.messages.size(); i++) {
                before.merge(node.messages.get(i), i > 0 ? 1 : 0, Integer::sum);
                if (i > 0) {
                    after.computeIfAbsent(node.messages.get(i - 1), _ -> new ArrayList<>()).add(node.messages.get(i));
                }
            }
        }
        Deque<TransactionId> free = new ArrayDeque<>();
        before.forEach((id, count) -> {
            if (count == 0) {
                free.add(id);
            }
        });
        int taken = 0;
        while (!free.isEmpty()) {
            taken++;
            for (TransactionId next : after.getOrDefault(free.remove(), List.of())) {
                if (before.merge(next, -1, Integer::sum) == 0) {
                    free.add(next);
                }
            }
        }
        if (taken < before.size()) {
            fail.accept("uniform acyclic order: " + (before.size() - taken) + " messages lie on or behind a cycle");
        }
    }
}
