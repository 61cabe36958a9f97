package tutti.sim.world;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Group;
import tutti.core.txn.TablePlacement;
import tutti.node.ReplicaNode;
import tutti.sim.world.database.Catalog;
import tutti.sim.world.node.NodeHost;

/**
 * Looks, when a node lets its part of the order forget something, whether the majority of those who keep a table that some nodes lack
 * have durably what was written to it.
 *
 * @param founders with which the cluster began
 * @param nodes by number; filled later
 */
record KeepersWatch(Set<Integer> founders, List<NodeHost> nodes) {
    /** What is wrong, in words; null if nothing is. */
    @Nullable
    String forgets(int node, long position) {
        TablePlacement placement = nodes.get(node).database().kept().placement();
        for (int table = 0; table < Catalog.TABLES; table++) {
            int of = table;
            Set<Integer> keepers = placement.keepers().containsKey(Catalog.tableKey(table))
                    ? placement.keepersOf(List.of(Catalog.tableKey(table)), voters(node))
                    : new TreeSet<>();
            keepers.removeIf(each -> !nodes.get(each).database().kept().placement().keeps(each, Catalog.tableKey(of)));
            long written = nodes.stream().filter(each -> placement.keeps(each.node(), Catalog.tableKey(of)))
                    .mapToLong(each -> each.database().lastChanged(of, position)).max().orElse(0);
            long durable = keepers.stream().filter(each -> nodes.get(each).database().durable() >= written).count();
            if (!keepers.isEmpty() && 2 * durable <= keepers.size()) {
                return "node " + node + " lets position " + position + " be forgotten, but of " + keepers
                        + ", who keep table " + table + ", only " + durable + " hold durably what position " + written
                        + " wrote";
            }
        }
        return null;
    }

    /** Who decides with the others, as a node knows it. */
    private Set<Integer> voters(int node) {
        ReplicaNode replica = nodes.get(node).replica();
        Group.Members members = replica == null ? null : replica.members();
        if (members == null || members.number() == 0) {
            return founders;
        }
        Set<Integer> voters = new TreeSet<>(members.addresses().keySet());
        voters.removeAll(members.learners());
        return voters;
    }
}
