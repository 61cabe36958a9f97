package tutti.grid.store;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import tutti.grid.multicast.LamportClock;

/**
 * Owners by a ring of groups of nodes that do not overlap: all members of a group own the group's keys, of every cache. Which groups own keys changes by {@link GroupLayout layouts}, and who their members are changes besides; which group a node belongs to
 * never does. Any thread may ask; one tells.
 */
public final class GroupOwners implements Owners {
    /** So many layouts are remembered: what was sent in an earlier one is refused. */
    private static final int LAYOUTS_MAX = 32;

    private final Map<Integer, List<Integer>> groups = new TreeMap<>();
    /** The nodes that this one would found a group with; none if it would not. */
    private final Set<Integer> own;
    private volatile Map<Integer, int[]> members = Map.of();
    private volatile GroupRings rings;
    private NavigableMap<Long, GroupRings> history = new TreeMap<>();

    /**
     * As many groups as there can be of {@code size} nodes; the nodes that are over make some of them larger.
     *
     * @param nodes those that found the grid, which are dealt out to the groups by number
     * @param size how many a group must have, at least 1; if there are fewer, they are one group
     */
    public GroupOwners(Set<Integer> nodes, int size) {
        this(nodes, size, Set.of());
    }

    /**
     * The same at a node that would found a further group.
     *
     * @param own the nodes that may be members of that group, whose number is that of the first of them
     */
    public GroupOwners(Set<Integer> nodes, int size, Set<Integer> own) {
        int count = Math.max(1, nodes.size() / size);
        int next = 0;
        for (int node : new TreeSet<>(nodes)) {
            // Nodes with numbers that follow each other are in one group, as far as it goes.
            groups.computeIfAbsent(next++ * count / nodes.size(), _ -> new ArrayList<>()).add(node);
        }
        this.own = Sorted.copy(own);
        groups.forEach(this::members);
        rings = new GroupRings(GroupLayout.first(groups.keySet()), null);
        history.put(0L, rings);
    }

    /** The number of the group that some nodes found. */
    public static int number(Set<Integer> nodes) {
        return new TreeSet<>(nodes).getFirst();
    }

    /** The nodes that are in each group at first, by its number: of those that have founded the grid. */
    public Map<Integer, List<Integer>> groups() {
        return groups;
    }

    /** The numbers of the groups that there are: they own keys, or get them, or did so before. */
    public Set<Integer> numbers() {
        return new TreeSet<>(members.keySet());
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

    /** A group has no members any more, and will have none. */
    public void dissolved(int group) {
        Map<Integer, int[]> all = new TreeMap<>(members);
        all.remove(group);
        members = all;
    }

    /** The group of a node, whether it is a member or may become one: of who has not founded the grid nor is named by a further group, the one whose number is the remainder of its own by the number of groups at first. */
    public int groupOf(int node) {
        for (Map.Entry<Integer, List<Integer>> group : groups.entrySet()) {
            if (group.getValue().contains(node)) {
                return group.getKey();
            }
        }
        for (Map.Entry<Integer, Set<Integer>> group : rings.layout().further().entrySet()) {
            if (group.getValue().contains(node)) {
                return group.getKey();
            }
        }
        return own.contains(node) ? number(own) : node % groups.size();
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

    // ------------------------------------------------------------------------------------------ layouts

    /** The present layout. */
    public GroupLayout layout() {
        return rings.layout();
    }

    /** The same with its rings. */
    public GroupRings rings() {
        return rings;
    }

    /** All that are remembered, the present one last. */
    public List<GroupLayout> layouts() {
        return history.values().stream().map(GroupRings::layout).toList();
    }

    /** Another layout; or the same, in which something more was copied. */
    public void next(GroupLayout layout) {
        GroupRings next = new GroupRings(layout, rings);
        history.put(layout.number(), next);
        if (history.size() > LAYOUTS_MAX) {
            history.pollFirstEntry();
        }
        rings = next;
    }

    /** What another node has: this one knew nothing. */
    public void layouts(List<GroupLayout> all) {
        history = new TreeMap<>();
        GroupRings last = null;
        for (GroupLayout layout : all) {
            last = new GroupRings(layout, last);
            history.put(layout.number(), last);
        }
        rings = history.lastEntry().getValue();
    }

    /** A layout; null if it is not remembered. */
    public @Nullable GroupRings in(long number) {
        return history.get(number);
    }

    /** The layout in which something with a stamp is dealt with. */
    public GroupRings at(long stamp) {
        Map.Entry<Long, GroupRings> then = history.floorEntry(stamp);
        return then == null ? history.firstEntry().getValue() : then.getValue();
    }

    /** The stamp below which a group cannot tell what was written to all of the keys that it has got from others; 0 if it got none. */
    public long gained(int group) {
        return layouts().stream().filter(one -> one.number() < layout().number() && one.gaining().contains(group))
                .mapToLong(GroupLayout::number).max().orElse(0);
    }

    /** The group of a key. */
    public int groupOf(Key key) {
        return rings.groupOf(key);
    }

    /** Whether a key is moved from one group to another in the present layout. */
    public boolean isMoved(Key key, int from, int to) {
        GroupRings now = rings;
        return now.groupOf(key) == from && now.nextOf(key) == to;
    }

    /** Whether some of these have all keys: a member of each group that owns some is among them. */
    public boolean isEverythingAt(Set<Integer> some) {
        return rings.layout().owning().stream()
                .allMatch(group -> Arrays.stream(of(group)).anyMatch(some::contains));
    }

    @Override
    public int[] of(Key key) {
        return of(groupOf(key));
    }

    @Override
    public int[] writers(Key key) {
        GroupRings now = rings;
        int group = now.groupOf(key);
        int next = now.nextOf(key);
        return group == next
                ? of(group)
                : IntStream.concat(Arrays.stream(of(group)), Arrays.stream(of(next))).toArray();
    }
}
