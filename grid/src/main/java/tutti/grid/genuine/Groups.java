package tutti.grid.genuine;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import tutti.core.schema.Type;
import tutti.core.schema.Types;
import tutti.grid.multicast.LamportClock;
import tutti.grid.store.Sorted;

/**
 * Which nodes form which group at first, and which group any other node would join. A node belongs to one group at most, for ever, whether it is a member or not: so nobody counts
 * it in two groups. Further groups are founded later, by nodes that have joined none. Immutable.
 *
 * @param members by the group's number, 0 to 255: its first nodes, 0 to 255, each once; the first of them leads the first ballot
 * @param others by node: the group that it may join later, or found
 */
public record Groups(Map<Integer, List<Integer>> members, Map<Integer, Integer> others) {
    /** Groups have numbers below this. */
    public static final int GROUPS_MAX = 256;
    static final Type<int[]> NUMBERS = Types.ints(GROUPS_MAX);

    /** Checks them. */
    public Groups {
        Map<Integer, Integer> groups = new HashMap<>();
        members = new TreeMap<>(members);
        members.replaceAll((_, nodes) -> List.copyOf(nodes));
        others = Sorted.copy(others);
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
        others.forEach((node, group) -> {
            if (groups.containsKey(node) || group < 0 || group >= GROUPS_MAX) {
                throw new IllegalArgumentException(
                        "node " + node + " cannot join group " + group + " of " + groups.values()
                                + ": it is a member from the start, or there can be no such group");
            }
        });
    }

    /** Which nobody can join. */
    public Groups(Map<Integer, List<Integer>> members) {
        this(members, Map.of());
    }

    /** The first nodes of a group. */
    List<Integer> of(int group) {
        List<Integer> nodes = members.get(group);
        if (nodes == null) {
            throw new IllegalArgumentException("there is no group " + group + ", of " + members.keySet());
        }
        return nodes;
    }

    /** The group of a node, whether it is a member or may become one, or -1. */
    int groupOf(int node) {
        for (Map.Entry<Integer, List<Integer>> group : members.entrySet()) {
            if (group.getValue().contains(node)) {
                return group.getKey();
            }
        }
        return others.getOrDefault(node, -1);
    }

    /** Whether a group is there from the start. */
    boolean isFirst(int group) {
        return members.containsKey(group);
    }

    /** The same with a further group, as far as its nodes have none. */
    Groups with(int group, Collection<Integer> nodes) {
        Map<Integer, Integer> all = new HashMap<>(others);
        nodes.stream().filter(node -> members.values().stream().noneMatch(of -> of.contains(node)))
                .forEach(node -> all.put(node, group));
        return new Groups(members, all);
    }

    /** The ballot in which a group begins; 0, which is none, of a further one. */
    long firstBallot(int group) {
        return isFirst(group) ? of(group).getFirst() : 0;
    }

    /** Who leads a ballot: no two nodes ask for the same. */
    static int leader(long ballot) {
        return (int) (ballot % LamportClock.NODES_MAX);
    }

    /** The lowest ballot above one that a node leads. */
    static long nextBallot(long above, int node) {
        long ballot = above - above % LamportClock.NODES_MAX + node;
        return ballot > above ? ballot : ballot + LamportClock.NODES_MAX;
    }
}
