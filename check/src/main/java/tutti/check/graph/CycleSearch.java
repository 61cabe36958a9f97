package tutti.check.graph;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import tutti.check.column.IntColumn;

/**
 * Finds the shortest cycle of certain dependencies, if there is one. Components first, which is linear; then, in one
 * component, breadth first from every transaction until all have been tried or the budget is used up: what is then
 * returned is a short cycle, for components within the budget a shortest one. A step through real time counts as one.
 */
public final class CycleSearch {
    private static final long EDGES_MAX = 4_000_000;

    private CycleSearch() {}

    /** Whether there is no such cycle. Linear. */
    public static boolean isAcyclic(DependencyGraph graph, Set<Dependency> kinds, boolean antiDependenciesApart) {
        return Components.of(Paths.of(graph, kinds, antiDependenciesApart)).isEmpty();
    }

    /**
     * Components of a graph.
     *
     * @param count how many there are
     * @param parts the smallest of them, each as a graph of its own
     */
    public record Found(int count, List<DependencyGraph.Part> parts) {}

    /** The components that such cycles lie in; at most so many of them as graphs. */
    public static Found components(DependencyGraph graph, Set<Dependency> kinds, boolean antiDependenciesApart,
            int partsMax) {
        Paths paths = Paths.of(graph, kinds, antiDependenciesApart);
        List<int[]> components = Components.of(paths);
        return new Found(components.size(), components.stream()
                .sorted(Comparator.comparingInt((int[] states) -> states.length).thenComparingInt(states -> states[0]))
                .limit(partsMax).map(states -> Arrays.stream(states).map(paths::node).sorted().distinct().toArray())
                .map(graph::between).toList());
    }

    /** A shortest such cycle in the smallest component that has any. */
    public static Optional<Cycle> shortest(DependencyGraph graph, Set<Dependency> kinds,
            boolean antiDependenciesApart) {
        Paths paths = Paths.of(graph, kinds, antiDependenciesApart);
        return Components.of(paths).stream()
                .min(Comparator.comparingInt((int[] states) -> states.length).thenComparingInt(states -> states[0]))
                .map(states -> new Search(paths).shortest(states));
    }

    private static final class Search {
        private final Paths paths;
        private final DependencyGraph graph;
        private final boolean[] inside;
        private final int[] distance;
        private final int[] arrivedBy;
        private final int[] arrivedFrom;
        private final IntColumn reached = new IntColumn();
        // A double-ended queue of states: those at the same distance in front, those one further behind.
        private int[] queue = new int[64];
        private int head;
        private int length;
        private long edgesLeft = EDGES_MAX;

        Search(Paths paths) {
            this.paths = paths;
            graph = paths.graph();
            inside = new boolean[paths.states()];
            distance = new int[paths.states()];
            arrivedBy = new int[paths.states()];
            arrivedFrom = new int[paths.states()];
            Arrays.fill(distance, Integer.MAX_VALUE);
        }

        Cycle shortest(int[] component) {
            for (int state : component) {
                inside[state] = true;
            }
            int[] starts = IntStream.of(component).filter(state -> graph.isTransaction(paths.node(state))).sorted()
                    .toArray();
            int best = Integer.MAX_VALUE;
            List<Cycle.Step> steps = List.of();
            for (int start : starts) {
                if (best == 2 || (edgesLeft <= 0 && best < Integer.MAX_VALUE)) {
                    break;
                }
                search(start, best);
                if (distance[start] < best) {
                    best = distance[start];
                    steps = steps(start);
                }
                while (reached.size() > 0) {
                    distance[reached.removeLast()] = Integer.MAX_VALUE;
                }
            }
            return new Cycle(steps);
        }

        // Breadth first from the start's successors until the start itself is reached, whose distance is then the length
        // of the cycle, or until no cycle shorter than the best so far can be found.
        private void search(int start, int best) {
            head = 0;
            length = 0;
            expand(start, 0);
            while (length > 0) {
                int state = takeFirst();
                if (state == start || distance[state] >= best) {
                    return;
                }
                expand(state, distance[state]);
            }
        }

        private void expand(int state, int at) {
            int node = paths.node(state);
            int cost = graph.isTransaction(node) ? 1 : 0;
            for (int edge = graph.edgesFrom(node); edge < graph.edgesTo(node); edge++) {
                int next = paths.follow(state, edge);
                edgesLeft--;
                if (next >= 0 && inside[next] && at + cost < distance[next]) {
                    if (distance[next] == Integer.MAX_VALUE) {
                        reached.add(next);
                    }
                    distance[next] = at + cost;
                    arrivedBy[next] = edge;
                    arrivedFrom[next] = state;
                    put(next, cost == 0);
                }
            }
        }

        private List<Cycle.Step> steps(int start) {
            List<Cycle.Step> steps = new ArrayList<>();
            int state = start;
            do {
                int to = paths.node(state);
                int edge = arrivedBy[state];
                state = arrivedFrom[state];
                while (!graph.isTransaction(paths.node(state))) {
                    state = arrivedFrom[state];
                }
                steps.add(new Cycle.Step(paths.node(state), to, graph.kind(edge), graph.label(edge)));
            } while (state != start);
            return steps.reversed();
        }

        private int takeFirst() {
            int state = queue[head];
            head = (head + 1) & (queue.length - 1);
            length--;
            return state;
        }

        private void put(int state, boolean first) {
            if (length == queue.length) {
                int[] larger = new int[2 * queue.length];
                for (int i = 0; i < length; i++) {
                    larger[i] = queue[(head + i) & (queue.length - 1)];
                }
                queue = larger;
                head = 0;
            }
            if (first) {
                head = (head - 1) & (queue.length - 1);
                queue[head] = state;
            } else {
                queue[(head + length) & (queue.length - 1)] = state;
            }
            length++;
        }
    }
}
