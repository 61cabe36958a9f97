package tutti.grid.store;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import tutti.grid.multicast.LamportClock;

/**
 * Owners by a ring of groups of nodes that do not overlap: all members of a group own the group's keys, of every cache. Which groups there are never changes, nor which key belongs to which; who their members are does. Any thread may
 * ask; one tells.
 */
public final class GroupOwners implements Owners {
    private final Map<Integer, List<Integer>> groups = new TreeMap<>();
    private volatile Map<Integer, int[]> members = Map.of();
    private final Ring ring;

    /**
     * As many groups as there can be of {@code size} nodes; the nodes that are over make some of them larger.
     *
     * @param nodes those that found the grid, which are dealt out to the groups by number
     * @param size how many a group must have, at least 1; if there are fewer, they are one group
     */
    public GroupOwners(Set<Integer> nodes, int size) {
        int count = Math.max(1, nodes.size() / size);
        int next = 0;
        for (int node : new TreeSet<>(nodes)) {
            // Nodes with numbers that follow each other are in one group, as far as it goes.
            groups.computeIfAbsent(next++ * count / nodes.size(), _ -> new ArrayList<>()).add(node);
        }
        groups.forEach(this::members);
        ring = new Ring(groups.keySet(), 1);
    }

    /** The nodes that are in each group at first, by its number. */
    public Map<Integer, List<Integer>> groups() {
        return groups;
    }

    /** The members of a group. Not to be modified. */
    public int[] of(int group) {
        return members.getOrDefault(group, new int[0]);
    }

    /** From now on these are the members of a group. */
    public void members(int group, List<Integer> nodes) {
        Map<Integer, int[]> all = new TreeMap<>(members);
        all.put(group, nodes.stream().mapToInt(Integer::intValue).toArray());
        members = all;
    }

    /** The group of a node, whether it is a member or may become one: who has not founded the grid joins the group whose number is the remainder of its own by the number of groups. */
    public int groupOf(int node) {
        return groups.entrySet().stream().filter(group -> group.getValue().contains(node)).findFirst()
                .map(Map.Entry::getKey).orElse(node % groups.size());
    }

    /** The group that each node which has not founded the grid may join. */
    public Map<Integer, Integer> others() {
        Map<Integer, Integer> others = new TreeMap<>();
        for (int node = 0; node < LamportClock.NODES_MAX; node++) {
            int number = node;
            if (groups.values().stream().noneMatch(of -> of.contains(number))) {
                others.put(node, groupOf(node));
            }
        }
        return others;
    }

    /** The group of a key. */
    public int groupOf(Key key) {
        return ring.owners(key.hash(), 1)[0];
    }

    /** Whether some of these have all keys: a member of each group is among them. */
    public boolean isEverythingAt(Set<Integer> some) {
        return members.values().stream().allMatch(of -> Arrays.stream(of).anyMatch(some::contains));
    }

    @Override
    public int[] of(Key key) {
        return of(groupOf(key));
    }
}
