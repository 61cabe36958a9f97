package tutti.check.graph;

import java.util.Set;

/**
 * Which edges of a graph count, and whether two anti-dependencies may follow each other directly.
 *
 * <p>
 * With {@code antiDependenciesApart} a path is one in the product of the graph with a flag: whether it has arrived by an
 * anti-dependency, and so may not leave by one. A node is then two <em>states</em>, {@code 2 * node} without the flag and
 * {@code 2 * node + 1} with it. A cycle among states is a cycle of the graph in which no two anti-dependencies are
 * adjacent, the last and the first included; these are the cycles that snapshot isolation forbids (Cerone and Gotsman,
 * Analysing Snapshot Isolation, theorem 9: dependencies followed by at most one anti-dependency are acyclic).
 */
record Paths(DependencyGraph graph, int kinds, boolean antiDependenciesApart) {
    private static final int ANTI_DEPENDENCY = Dependency.READ_WRITE.bit();

    static Paths of(DependencyGraph graph, Set<Dependency> kinds, boolean antiDependenciesApart) {
        int bits = 0;
        for (Dependency kind : kinds) {
            bits |= kind.bit();
        }
        return new Paths(graph, bits, antiDependenciesApart);
    }

    int states() {
        return antiDependenciesApart ? 2 * graph.nodes() : graph.nodes();
    }

    int node(int state) {
        return antiDependenciesApart ? state >>> 1 : state;
    }

    /** Where an edge leads from a state, or -1 if it may not be taken. */
    int follow(int state, int edge) {
        int bit = graph.kindBit(edge);
        if ((kinds & bit) == 0) {
            return -1;
        }
        if (!antiDependenciesApart) {
            return graph.target(edge);
        }
        if (bit != ANTI_DEPENDENCY) {
            return 2 * graph.target(edge);
        }
        return (state & 1) == 0 ? 2 * graph.target(edge) + 1 : -1;
    }
}
