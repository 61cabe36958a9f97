package tutti.grid.genuine;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import tutti.core.schema.Type;
import tutti.core.schema.Types;

/**
 * Which nodes form which group. A node is in one group at most. Immutable.
 *
 * @param members by the group's number, 0 to 255: its nodes, 0 to 255, each once; their order counts
 */
public record Groups(Map<Integer, List<Integer>> members) {
    /** Groups have numbers below this. */
    public static final int GROUPS_MAX = 256;
    static final Type<int[]> NUMBERS = Types.ints(GROUPS_MAX);

    /** Checks them. */
    public Groups {
        Map<Integer, Integer> groups = new HashMap<>();
        members = new TreeMap<>(members);
        members.replaceAll((_, nodes) -> List.copyOf(nodes));
        members.forEach((group, nodes) -> {
            if (group < 0 || group >= GROUPS_MAX || nodes.isEmpty()) {
                throw new IllegalArgumentException(
                        "group " + group + " of nodes " + nodes + ": it needs a number below "
                                + GROUPS_MAX + " and a node at least");
            }
            for (int node : nodes) {
                Integer other = groups.putIfAbsent(node, group);
                if (other != null) {
                    throw new IllegalArgumentException(
                            "node " + node + " is in group " + other + " and in group " + group
                                    + ": give each node one place");
                }
            }
        });
    }

    /** The nodes of a group. */
    List<Integer> of(int group) {
        List<Integer> nodes = members.get(group);
        if (nodes == null) {
            throw new IllegalArgumentException("there is no group " + group + ", of " + members.keySet());
        }
        return nodes;
    }

    /** The place of a node in its group, or -1. */
    int placeOf(int node) {
        return groupOf(node) < 0 ? -1 : of(groupOf(node)).indexOf(node);
    }

    /** The group of a node, or -1. */
    int groupOf(int node) {
        for (Map.Entry<Integer, List<Integer>> group : members.entrySet()) {
            if (group.getValue().contains(node)) {
                return group.getKey();
            }
        }
        return -1;
    }

    /** How many nodes of a group are more than half. */
    int quorum(int group) {
        return of(group).size() / 2 + 1;
    }

    /** Who leads a group in a ballot. */
    int leader(int group, long ballot) {
        List<Integer> nodes = of(group);
        return nodes.get((int) (ballot % nodes.size()));
    }
}
