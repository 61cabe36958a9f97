package tutti.check.graph;

import java.util.ArrayList;
import java.util.List;
import tutti.check.column.IntColumn;

/**
 * The strongly connected components of more than one state: whatever lies on a cycle lies in one of them. Tarjan's
 * algorithm (Depth-first search and linear graph algorithms, 1972) with a stack of its own, for graphs of any depth;
 * linear in states and edges.
 */
final class Components {
    private static final int NOT_SEEN = 0;

    private final Paths paths;
    private final int[] seen;
    private final int[] low;
    private final IntColumn open = new IntColumn();
    private final IntColumn callStates = new IntColumn();
    private final IntColumn callEdges = new IntColumn();
    private final List<int[]> found = new ArrayList<>();
    private int counter;

    private Components(Paths paths) {
        this.paths = paths;
        seen = new int[paths.states()];
        low = new int[paths.states()];
    }

    /** The states of each, in no particular order. */
    static List<int[]> of(Paths paths) {
        Components components = new Components(paths);
        for (int state = 0; state < components.seen.length; state++) {
            if (components.seen[state] == NOT_SEEN) {
                components.search(state);
            }
        }
        return components.found;
    }

    private void search(int root) {
        enter(root);
        while (callStates.size() > 0) {
            int top = callStates.size() - 1;
            int state = callStates.get(top);
            int edge = callEdges.get(top);
            if (edge < paths.graph().edgesTo(paths.node(state))) {
                callEdges.set(top, edge + 1);
                int next = paths.follow(state, edge);
                if (next >= 0) {
                    if (seen[next] == NOT_SEEN) {
                        enter(next);
                    } else {
                        low[state] = Math.min(low[state], low[next] == Integer.MAX_VALUE ? low[state] : seen[next]);
                    }
                }
            } else {
                leave(state);
            }
        }
    }

    private void enter(int state) {
        seen[state] = ++counter;
        low[state] = counter;
        open.add(state);
        callStates.add(state);
        callEdges.add(paths.graph().edgesFrom(paths.node(state)));
    }

    // A state whose component is complete gets the lowest link MAX_VALUE: edges to it are of no account any more.
    private void leave(int state) {
        callStates.removeLast();
        callEdges.removeLast();
        int lowest = low[state];
        if (callStates.size() > 0) {
            int caller = callStates.get(callStates.size() - 1);
            low[caller] = Math.min(low[caller], lowest);
        }
        if (lowest == seen[state]) {
            int last = open.removeLast();
            low[last] = Integer.MAX_VALUE;
            if (last == state) {
                return;
            }
            IntColumn members = new IntColumn();
            members.add(last);
            while (last != state) {
                last = open.removeLast();
                low[last] = Integer.MAX_VALUE;
                members.add(last);
            }
            found.add(members.toArray());
        }
    }
}
