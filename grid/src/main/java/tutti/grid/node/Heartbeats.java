package tutti.grid.node;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;

/** What each member has said of itself in the present view. On the node's loop. */
final class Heartbeats {
    private final Map<Integer, GridMessage.Heartbeat> last = new HashMap<>();

    void said(int node, GridMessage.Heartbeat heartbeat) {
        last.put(node, heartbeat);
    }

    /** A node is no member any more. */
    void left(int node) {
        last.remove(node);
    }

    /** Another view begins. */
    void clear() {
        last.clear();
    }

    /** Whether a node has stored as much as it may. */
    boolean isFull(int node) {
        GridMessage.Heartbeat of = last.get(node);
        return of != null && of.full();
    }

    /** Whether all of these have said something that is so. */
    boolean haveAllSaid(Set<Integer> nodes, Predicate<GridMessage.Heartbeat> what) {
        return nodes.stream().map(last::get).allMatch(said -> said != null && what.test(said));
    }

    boolean areOf(Set<Integer> members) {
        return last.keySet().containsAll(members);
    }

    /** The least that members have said, who have all said something; 0 if there are none. */
    long least(Set<Integer> members, ToLongFunction<GridMessage.Heartbeat> what) {
        return members.stream().map(last::get).mapToLong(what).min().orElse(0);
    }

    /** The {@linkplain Times#earliest times} of those who were heard but for this node. */
    List<Long> timesOfOthers(int self) {
        List<Long> times = new ArrayList<>();
        last.forEach((node, said) -> {
            if (node != self) {
                times.add(said.timeMillis());
            }
        });
        return times;
    }
}
