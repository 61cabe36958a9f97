package tutti.node;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import tutti.core.spi.Completion;

/**
 * Which positions the other nodes show: so that a client can be told of its transaction when everybody can read it. All on the
 * node's event loop.
 *
 * <p>
 * <b>What is promised.</b> Whoever waits for a position is told when every node that this one can reach, and that is not excluded,
 * has said that it shows the position. A node shows a position when it is visible there, and goes on showing it: one that begins
 * anew serves nobody before it has caught up with all that was ordered before ({@link Control.Hello}), so what was told once
 * stays true of every node that serves. A node that cannot be reached is not waited for: it knows no majority and refuses changes,
 * but may go on showing what it had until it hears of the others again.
 *
 * <p>
 * Messages outside of the order may be lost, so questions are asked again while somebody waits.
 */
final class ShownElsewhere {
    private static final long AGAIN_NANOS = 500_000_000L;

    /** What of the node is needed here. */
    interface Node {
        long visible();

        /** Nodes that are waited for: all members that can be reached, are not excluded, and not new; this one included. */
        Set<Integer> serving();

        void multicast(VisibilityMessage message, Set<Integer> nodes);

        void schedule(long delayNanos, Runnable task);

        /** Somebody waits for this position. */
        void hurry(long position);
    }

    /** What a node has asked for and was not told of: positions from the lowest to the highest, both included. */
    private record Wanted(long lowest, long highest) {
        Wanted and(Wanted other) {
            return new Wanted(Math.min(lowest, other.lowest), Math.max(highest, other.highest));
        }
    }

    private record Waiter(long position, Completion<Set<Integer>> done) {}

    private final Node node;
    private final int self;
    private final List<Waiter> waiters = new ArrayList<>();
    /** By node, the highest position that it has said to show. */
    private final Map<Integer, Long> shown = new HashMap<>();
    private final Map<Integer, Wanted> asked = new HashMap<>();
    private boolean asksAgain;

    /** One that knows nothing of the others yet. */
    ShownElsewhere(Node node, int self) {
        this.node = node;
        this.self = self;
    }

    /**
     * Waits for all others to show what is visible here.
     *
     * @param done told the nodes that were waited for in vain until {@code patienceNanos} were over: none, if all show it
     */
    void await(long position, long patienceNanos, Completion<Set<Integer>> done) {
        Set<Integer> missing = missing(position);
        if (missing.isEmpty()) {
            done.succeeded(missing);
            return;
        }
        Waiter waiter = new Waiter(position, done);
        waiters.add(waiter);
        node.multicast(new VisibilityMessage.Asked(position), missing);
        node.schedule(patienceNanos, () -> {
            if (waiters.remove(waiter)) {
                done.succeeded(missing(position));
            }
        });
        askAgainLater();
    }

    private Set<Integer> missing(long position) {
        Set<Integer> missing = new TreeSet<>(node.serving());
        missing.remove(self);
        missing.removeIf(other -> shown.getOrDefault(other, -1L) >= position);
        return missing;
    }

    private void askAgainLater() {
        if (asksAgain) {
            return;
        }
        asksAgain = true;
        node.schedule(AGAIN_NANOS, () -> {
            asksAgain = false;
            reconsider();
            long highest = waiters.stream().mapToLong(Waiter::position).max().orElse(-1);
            if (highest >= 0) {
                node.multicast(new VisibilityMessage.Asked(highest), missing(highest));
                askAgainLater();
            }
        });
    }

    /** The nodes that can be reached have changed. */
    void reconsider() {
        if (waiters.isEmpty()) {
            return;
        }
        List<Waiter> told = waiters.stream().filter(waiter -> missing(waiter.position()).isEmpty()).toList();
        waiters.removeAll(new HashSet<>(told));
        told.forEach(waiter -> waiter.done().succeeded(Set.of()));
    }

    /** Another node has said something. */
    void received(int sender, VisibilityMessage message) {
        switch (message) {
            case VisibilityMessage.Asked question -> {
                if (node.visible() >= question.position()) {
                    node.multicast(new VisibilityMessage.Shown(node.visible()), Set.of(sender));
                } else {
                    asked.merge(sender, new Wanted(question.position(), question.position()), Wanted::and);
                    node.hurry(question.position());
                }
            }
            case VisibilityMessage.Shown answer -> {
                shown.merge(sender, answer.position(), Math::max);
                reconsider();
            }
        }
    }

    /** The visible position has moved. */
    void visible(long position) {
        if (asked.isEmpty()) {
            return;
        }
        Set<Integer> told = new TreeSet<>();
        asked.replaceAll((other, wanted) -> {
            if (wanted.lowest() > position) {
                return wanted;
            }
            told.add(other);
            return new Wanted(position + 1, wanted.highest());
        });
        asked.values().removeIf(wanted -> wanted.lowest() > wanted.highest());
        if (!told.isEmpty()) {
            node.multicast(new VisibilityMessage.Shown(position), told);
        }
    }
}
