package tutti.sim.world;

import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntPredicate;

/**
 * Which nodes have forgotten an order that is in their memory only, as the world sees it: since a life of theirs ended, until they
 * take part in a majority. What faults have brought about is a reason for an order to be lost; what nodes do by themselves is none.
 */
final class Memories {
    private final IntPredicate hurt;
    private final IntPredicate inMajority;
    /** Those whose life ended because of a fault. */
    private final Set<Integer> forgotten = new TreeSet<>();

    /**
     * Of nodes that remember.
     *
     * @param hurt whether a fault of the plan has lately done something to a node
     * @param inMajority whether a node takes part in a majority now
     */
    Memories(IntPredicate hurt, IntPredicate inMajority) {
        this.hurt = hurt;
        this.inMajority = inMajority;
    }

    /** A life of a node is over. */
    void ended(int node) {
        if (hurt.test(node)) {
            forgotten.add(node);
        }
    }

    /** A node was delivered something. */
    void delivered(int node) {
        if (forgotten.contains(node) && inMajority.test(node)) {
            forgotten.remove(node);
        }
    }

    /** Whether faults have left no majority of so many nodes that remembers. */
    boolean lost(int nodes) {
        forgotten.removeIf(inMajority::test);
        return nodes - forgotten.size() <= nodes / 2;
    }
}
