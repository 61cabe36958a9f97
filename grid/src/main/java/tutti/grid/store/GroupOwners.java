package tutti.grid.store;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Owners by a ring of groups of nodes that do not overlap: all nodes of a group own the group's keys, of every cache. */
public final class GroupOwners implements Owners {
    private final Map<Integer, List<Integer>> groups = new TreeMap<>();
    private final Map<Integer, int[]> members = new TreeMap<>();
    private final Ring ring;

    /**
     * As many groups as there can be of {@code size} nodes; the nodes that are over make some of them larger.
     *
     * @param nodes all of them, which are dealt out to the groups by number
     * @param size how many a group must have, at least 1; if there are fewer, they are one group
     */
    public GroupOwners(Set<Integer> nodes, int size) {
        int count = Math.max(1, nodes.size() / size);
        int next = 0;
        for (int node : new TreeSet<>(nodes)) {
            // Nodes with numbers that follow each other are in one group, as far as it goes.
            groups.computeIfAbsent(next++ * count / nodes.size(), _ -> new ArrayList<>()).add(node);
        }
        groups.forEach((group, of) -> members.put(group, of.stream().mapToInt(Integer::intValue).toArray()));
        ring = new Ring(groups.keySet(), 1);
    }

    /** The nodes of each group, by its number. */
    public Map<Integer, List<Integer>> groups() {
        return groups;
    }

    /** The group of a node, which must be one of the grid's. */
    public int groupOf(int node) {
        return groups.entrySet().stream().filter(group -> group.getValue().contains(node)).findFirst().orElseThrow()
                .getKey();
    }

    /** The group of a key. */
    public int groupOf(Key key) {
        return ring.owners(key.hash(), 1)[0];
    }

    @Override
    public int[] of(Key key) {
        return members.getOrDefault(groupOf(key), new int[0]);
    }
}
