package tutti.grid.node;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.IntPredicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.grid.commit.GroupCommit;
import tutti.grid.genuine.Configuration;
import tutti.grid.store.GroupLayout;
import tutti.grid.store.GroupOwners;

/**
 * Without views: which nodes want to found a further group, and when it is founded. Every node hears them; who leads the group with the lowest number has it founded, by a message to all groups, as soon as all are heard, or for a while as many as a group must have. The others join it later. If it names a
 * process that has ended meanwhile, that is a member which has crashed. On the node's loop.
 */
final class Founding {
    private static final Logger LOGGER = LoggerFactory.getLogger(Founding.class);

    private final GroupCommit commits;
    private final GroupOwners groups;
    private final int group;
    private final int size;
    private final long patienceNanos;
    private final IntPredicate isMember;
    private final Map<Integer, Wish> wishes = new TreeMap<>();
    /** By the number of a group: since when enough are heard to found it. */
    private final Map<Integer, Long> enough = new HashMap<>();
    /** What was asked for in a layout. */
    private final Set<Integer> asked = new HashSet<>();
    private long askedIn;

    private record Wish(GridMessage.Apply apply, long heardNanos) {}

    /**
     * At a node.
     *
     * @param group its own
     * @param size how many nodes a group must have
     * @param patienceNanos after which who is not heard is not counted, or waited for
     * @param isMember whether a node is a member of some group
     */
    Founding(GroupCommit commits, GroupOwners groups, int group, int size, long patienceNanos, IntPredicate isMember) {
        this.commits = commits;
        this.groups = groups;
        this.group = group;
        this.size = size;
        this.patienceNanos = patienceNanos;
        this.isMember = isMember;
    }

    /** A node wants to found a group with others, or says that it still does. */
    void applied(int from, GridMessage.Apply apply, long nowNanos) {
        wishes.put(from, new Wish(apply, nowNanos));
    }

    /** To be called often. */
    void tick(long nowNanos) {
        GroupLayout layout = groups.layout();
        wishes.values().removeIf(wish -> nowNanos - wish.heardNanos > patienceNanos);
        if (!commits.isLeading() || layout.isMoving() || group != new TreeSet<>(layout.owning()).getFirst()) {
            return;
        }
        if (askedIn != layout.number()) {
            askedIn = layout.number();
            asked.clear();
        }
        Set<Set<Integer>> all = new HashSet<>();
        wishes.values().forEach(wish -> all.add(wish.apply.nodes()));
        all.forEach(nodes -> found(nodes, layout, nowNanos));
        enough.keySet().removeIf(number -> all.stream().noneMatch(nodes -> GroupOwners.number(nodes) == number));
    }

    private void found(Set<Integer> nodes, GroupLayout layout, long nowNanos) {
        int number = GroupOwners.number(nodes);
        List<Configuration.Member> first = new ArrayList<>();
        wishes.forEach((node, wish) -> {
            if (wish.apply.nodes().equals(nodes) && nodes.contains(node)) {
                first.add(new Configuration.Member(node, 0, wish.apply.process(), wish.apply.address()));
            }
        });
        if (first.size() < size) {
            enough.remove(number);
            return;
        }
        long since = enough.computeIfAbsent(number, _ -> nowNanos);
        if (asked.contains(number) || (first.size() < nodes.size() && nowNanos - since <= patienceNanos)) {
            return;
        }
        asked.add(number);
        if (layout.founding(layout.number(), number, nodes) == null || nodes.stream().anyMatch(isMember::test)) {
            LOGGER.error(
                    "nodes {} cannot found a group: a node of them, or the number {}, was in another one; give them others",
                    nodes, number);
            return;
        }
        LOGGER.info("a group is founded by nodes {}", first.stream().map(Configuration.Member::node).toList());
        commits.found(nodes, new Configuration(first));
    }
}
