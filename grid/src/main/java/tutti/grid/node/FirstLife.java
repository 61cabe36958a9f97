package tutti.grid.node;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.grid.store.GroupOwners;

/**
 * Without views: whether a process is the first life of its node, which takes part from the start, or another one, which has to be {@linkplain Replacement taken in}. On the node's loop.
 *
 * <p>
 * Each node remembers the first process that it has heard of each other one, and says to who connects whether it is that. A process is the first life of its node if more than half of the
 * other members of its group, as it was founded, say so, and none says otherwise: two processes cannot both be, since some member that both have asked remembers one of them. Of a group of one, all nodes are asked.
 * A node that has not founded the grid has no first life, nor has one whose group has other members by now, as any node says: perhaps none is left of those that would remember.
 */
final class FirstLife {
    private final boolean isFounder;
    private final Set<Integer> judges;
    private final int members;
    private final Map<Integer, Boolean> said = new HashMap<>();
    private boolean hasChanged;

    FirstLife(int self, GroupOwners groups, Set<Integer> founders) {
        isFounder = founders.contains(self);
        List<Integer> group = groups.groups().getOrDefault(groups.groupOf(self), List.of());
        members = group.size();
        judges = new TreeSet<>(members > 1 ? group : founders);
        judges.remove(self);
    }

    /** Why a node ends that cannot be taken in. */
    static String tooFewOthers(int self) {
        return "node " + self
                + " was there before, what it had is lost, and its group has too few other members to give"
                + " it back: start all nodes anew; a degree of 3 survives that";
    }

    /** A node says whether this process is the first one that it has heard of this node, and whether the members of its group have changed. */
    void said(int by, boolean isFirst, boolean others) {
        hasChanged |= others;
        if (judges.contains(by)) {
            said.put(by, isFirst);
        }
    }

    /** Whether it is; null if that is not known yet. */
    @Nullable
    Boolean verdict() {
        if (!isFounder || hasChanged || said.containsValue(false)) {
            return false;
        }
        boolean enough = judges.isEmpty() || 2 * said.size() > judges.size();
        return enough ? Boolean.TRUE : null;
    }

    /** Whether another life can be taken in: more than half of the group must be there without it. Of one that has changed, who is left says who its members are: see {@link GroupMembership}. */
    boolean canBeReplaced() {
        return !isFounder || hasChanged || members - 1 > members / 2;
    }
}
