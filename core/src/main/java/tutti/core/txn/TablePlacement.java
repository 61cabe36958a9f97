package tutti.core.txn;

import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Says which tables are kept on some nodes only (docs/decisions/0115). A table that is not named is kept on all. Immutable.
 *
 * <p>
 * <b>What is partial.</b> There is one total order. Every node is delivered every write set and certifies it, so all come to the same
 * outcome without asking anybody. Only the rows are partial: a node makes those changes of a write set that are of tables which it keeps,
 * and passes over the others. The position becomes visible there like any other.
 *
 * <p>
 * <b>Why reads are right.</b> Compare a node that keeps some tables with one that keeps all and has applied the same positions. Applying a
 * change looks at the row that is changed and at nothing else: foreign keys and triggers do not run, and what they have done travels with the write set. So by induction
 * over positions both hold the same rows of the tables that both keep. A transaction executes on one node,
 * which keeps all tables that it names ({@link #keepsAll}), so it reads, locks and writes as it would at the node that keeps all. Its write
 * set and the order are then those of a run in which every table is kept everywhere, and whatever a protocol promises there it
 * promises here.
 *
 * <p>
 * <b>What must hold for that.</b>
 * <ul>
 * <li>A statement that names a table which is not here fails; it must not find the table empty.
 * <li>What every node executes by itself (schema changes, active requests) names no table that is kept on some nodes only
 * ({@link #keptByAll}): its effects would differ.
 * <li>Tables joined by foreign keys are kept together. A child is checked against its parent, and a parent against its children, by the node that
 * executes.
 * <li>A copy of a node's state is taken from a node that keeps all that the receiver keeps ({@link #mayGiveCopy}); the receiver drops the rest. Each
 * node has such a donor ({@link #withoutDonor}).
 * <li>Whether changes hold that some nodes cannot make is for those to say that keep a table which is changed ({@link #keepsAny}): the others have
 * made nothing, and know nothing of it.
 * <li>What was written to a table is not forgotten by the order's log before a majority of those that keep it have it durably.
 * </ul>
 *
 * @param keepers nodes by table, which write sets name by {@linkplain KeySet the table's key}
 */
public record TablePlacement(Map<Long, Set<Integer>> keepers) {
    /** Every table is kept on every node. */
    public static final TablePlacement EVERYWHERE = new TablePlacement(Map.of());

    /**
     * Keeps a copy.
     *
     * @throws IllegalArgumentException if a table is kept nowhere
     */
    public TablePlacement {
        Map<Long, Set<Integer>> copy = new TreeMap<>();
        keepers.forEach((table, nodes) -> {
            if (nodes.isEmpty()) {
                throw new IllegalArgumentException("table " + table + " is kept on no node: name one at least");
            }
            copy.put(table, Set.copyOf(nodes));
        });
        keepers = Map.copyOf(copy);
    }

    /** Whether nothing is partial. */
    public boolean isEverywhere() {
        return keepers.isEmpty();
    }

    /** Whether a node keeps a table. */
    public boolean keeps(int node, long table) {
        Set<Integer> nodes = keepers.get(table);
        return nodes == null || nodes.contains(node);
    }

    /** Whether a node keeps all these tables, so that it may execute what names them. */
    public boolean keepsAll(int node, Collection<Long> tables) {
        return tables.stream().allMatch(table -> keeps(node, table));
    }

    /** Whether a node keeps one of these tables at least, so that it has something to make of what changes them. */
    public boolean keepsAny(int node, Collection<Long> tables) {
        return tables.stream().anyMatch(table -> keeps(node, table));
    }

    /** Those tables that keys name and some nodes lack. */
    public Set<Long> partial(KeySet keys) {
        if (isEverywhere()) {
            return Set.of();
        }
        Set<Long> named = new TreeSet<>();
        for (int i = 0; i < keys.size(); i++) {
            if (keepers.containsKey(keys.hash(i))) {
                named.add(keys.hash(i));
            }
        }
        return named;
    }

    /** Whether every node keeps all these tables, so that every node may execute what names them. */
    public boolean keptByAll(Collection<Long> tables) {
        return tables.stream().noneMatch(keepers::containsKey);
    }

    /** Those of some nodes that keep all these tables; empty if none does. */
    public Set<Integer> keepersOf(Collection<Long> tables, Collection<Integer> nodes) {
        Set<Integer> found = new TreeSet<>(nodes);
        found.removeIf(node -> !keepsAll(node, tables));
        return found;
    }

    /** Whether a copy of a node's state has all that another node keeps. */
    public boolean mayGiveCopy(int donor, int receiver) {
        return keepers.values().stream().allMatch(nodes -> nodes.contains(donor) || !nodes.contains(receiver));
    }

    /** Those of some nodes that may give another one a copy; empty if none may. */
    public Set<Integer> donors(int receiver, Collection<Integer> nodes) {
        Set<Integer> donors = new TreeSet<>(nodes);
        donors.removeIf(donor -> donor == receiver || !mayGiveCopy(donor, receiver));
        return donors;
    }

    /** Those of a cluster's nodes whom no other one may give a copy: what they keep together would be gone with their disks. */
    public Set<Integer> withoutDonor(Collection<Integer> nodes) {
        Set<Integer> alone = new TreeSet<>(nodes);
        alone.removeIf(node -> !donors(node, nodes).isEmpty());
        return alone;
    }
}
