package tutti.node;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.TablePlacement;

/**
 * Which tables some nodes lack, as of the position that was delivered last: what the cluster began with, and what messages in the order have changed
 * since. A function of the delivered prefix, so that all nodes count the same keepers at the same position.
 *
 * <p>
 * <b>Two messages and a barrier between them.</b> Whether a placement can be made depends on the schema, which a node that is delivered the request may not have
 * come to yet. So the request counts first for what nodes decide: who votes, for whom the log is kept, who gives copies. Then a barrier has
 * the databases do it, at one position. Its outcome, the same at all nodes, is told by the last message, and a placement that was refused is
 * taken back. In between nodes count on fewer copies of a table than there are, which is safe. If whoever asked has died in between, the
 * same request completes it.
 *
 * <p>
 * <b>One more keeper.</b> No rows are brought to a node by a message: it begins anew with a copy of a keeper's database. So until it says itself that
 * it keeps the table, nobody counts on it, gives copies as if it did not have to have the table, or lets another node leave for a copy. A placement is
 * forgotten only where the databases agree: its table is gone.
 *
 * <p>
 * Changed on the replica's loop; any thread may look.
 */
final class Placements {
    /** So many tables there may be that some nodes lack. */
    static final int TABLES_MAX = 1 << 16;
    /** One of so many may be away, and there is a majority. */
    private static final int MEMBERS_MIN = 3;

    /**
     * A table that is placed.
     *
     * @param name as people read it
     * @param nodes that keep it, or are to
     * @param made nodes that keep it in their databases, as the order has told; none if all do
     * @param since position of the message that placed it last; 0 if the cluster began so
     */
    record Table(String name, Set<Integer> nodes, Set<Integer> made, long since) {
        static final Schema<Table> SCHEMA = Schema.part("placed table", Table.class).of(
                Field.of("name", Types.text(Control.Place.NAME_BYTES_MAX), Table::name),
                Field.of("nodes", Control.Place.NODES, Table::nodes),
                Field.of("made", Control.Place.NODES, Table::made),
                Field.of("since", Types.NATURAL, Table::since), Table::new);

        Table {
            nodes = new TreeSet<>(nodes);
            made = new TreeSet<>(made);
        }

        /** Whether the databases are known to have done it. */
        boolean isMade() {
            return nodes.equals(made);
        }

        /** Whether nobody is waited for: whoever has not done it is no member any more. */
        boolean isOver(Set<Integer> members) {
            return isMade() || (!coming().isEmpty() && coming().stream().noneMatch(members::contains));
        }

        /** Those that have its rows now, and go on having them. */
        Set<Integer> keepers() {
            Set<Integer> keepers = new TreeSet<>(nodes);
            if (!made.isEmpty()) {
                keepers.retainAll(made);
            }
            return keepers;
        }

        /** Those that are to keep it, and do not have its rows yet. */
        Set<Integer> coming() {
            Set<Integer> coming = new TreeSet<>(nodes);
            coming.removeAll(keepers());
            return coming;
        }
    }

    private final TablePlacement founding;
    private volatile SortedMap<Long, Table> tables = new TreeMap<>();
    private volatile TablePlacement now = TablePlacement.EVERYWHERE;
    private TablePlacement wanted = TablePlacement.EVERYWHERE;
    private TablePlacement made = TablePlacement.EVERYWHERE;

    /** @param founding placement with which the cluster began */
    Placements(TablePlacement founding) {
        this.founding = founding;
        restore(begun());
    }

    private SortedMap<Long, Table> begun() {
        SortedMap<Long, Table> begun = new TreeMap<>();
        founding.keepers().forEach((key, nodes) -> begun.put(key, new Table(String.valueOf(key), nodes, nodes, 0)));
        return begun;
    }

    /** Begins from a snapshot. */
    void restore(Map<Long, Table> image) {
        SortedMap<Long, Table> copy = new TreeMap<>(image);
        tables = copy;
        now = placement(copy, Table::keepers);
        wanted = placement(copy, Table::nodes);
        made = placement(copy, Table::made);
    }

    private static TablePlacement placement(Map<Long, Table> tables, Function<Table, Set<Integer>> of) {
        Map<Long, Set<Integer>> nodes = new TreeMap<>();
        tables.forEach((key, table) -> {
            Set<Integer> keepers = of.apply(table);
            if (!keepers.isEmpty()) {
                nodes.put(key, keepers);
            }
        });
        return new TablePlacement(nodes);
    }

    /** By the keys that write sets name them by. Any thread. */
    SortedMap<Long, Table> tables() {
        return tables;
    }

    /** Whether there is something that a snapshot must keep. */
    boolean hasChanged() {
        return !tables.equals(begun());
    }

    /** What nodes count on. Any thread. */
    TablePlacement now() {
        return now;
    }

    /** What databases are known to have done, which is to have forgotten less. */
    TablePlacement made() {
        return made;
    }

    /** Those of some nodes that have all that another one keeps or is to keep. */
    Set<Integer> donors(int receiver, Collection<Integer> nodes) {
        return donors(wanted, receiver, nodes);
    }

    private Set<Integer> donors(TablePlacement to, int receiver, Collection<Integer> nodes) {
        Set<Integer> donors = new TreeSet<>(nodes);
        donors.remove(receiver);
        Set<Long> kept = to.keepers().keySet().stream().filter(table -> to.keeps(receiver, table))
                .collect(Collectors.toSet());
        donors.removeIf(donor -> !now.keepsAll(donor, kept));
        return donors;
    }

    /** The tables of the first request by which a node is to keep more, if it does not have their rows yet; otherwise none. */
    Map<Long, Table> coming(int node) {
        Map<Long, Table> coming = new TreeMap<>(tables);
        coming.values().removeIf(table -> !table.coming().contains(node));
        long first = coming.values().stream().mapToLong(Table::since).min().orElse(0);
        coming.values().removeIf(table -> table.since != first);
        return coming;
    }

    /** Whether a node is to keep a table that does not have its rows yet. */
    boolean isComing(long key) {
        Table table = tables.get(key);
        return table != null && !table.coming().isEmpty();
    }

    /** Why a placement cannot be, whoever asks for it; null if it can. */
    @Nullable
    String refusal(Control.Place wanted, Set<Integer> members) {
        Set<Integer> unknown = new TreeSet<>(wanted.nodes());
        unknown.removeAll(members);
        if (!unknown.isEmpty()) {
            return "there are no nodes " + unknown + ", only " + new TreeSet<>(members);
        }
        for (Map.Entry<Long, String> each : wanted.tables().entrySet()) {
            String why = refusal(each.getKey(), each.getValue(), wanted.nodes(), members);
            if (why != null) {
                return why;
            }
        }
        Map<Long, Set<Integer>> then = new TreeMap<>(this.wanted.keepers());
        wanted.tables().keySet().forEach(key -> then.put(key, wanted.nodes()));
        Set<Integer> alone = wanted.nodes().isEmpty() ? Set.of() : new TablePlacement(then).withoutDonor(members);
        if (!alone.isEmpty()) {
            return "nobody could give a copy to nodes " + alone
                    + ": no other node keeps all the tables that one of them keeps; place some tables on one node more";
        }
        Set<Integer> withoutRows = new TreeSet<>(wanted.nodes());
        withoutRows.removeIf(node -> wanted.tables().keySet().stream().allMatch(table -> now.keeps(node, table))
                || !donors(new TablePlacement(then), node, members).isEmpty());
        if (!withoutRows.isEmpty()) {
            return "nobody could give nodes " + withoutRows
                    + " the rows: no other node has all the tables that one of them would keep";
        }
        return tables.size() + wanted.tables().size() <= TABLES_MAX
                ? null
                : "there are " + tables.size() + " tables that some nodes lack, and there can be no more than "
                        + TABLES_MAX;
    }

    private @Nullable String refusal(long key, String name, Set<Integer> nodes, Set<Integer> members) {
        Table before = tables.get(key);
        if (before == null) {
            return nodes.isEmpty() ? "table " + name + " is kept on all nodes" : null;
        }
        boolean waits = before.coming().isEmpty()
                ? !before.isMade()
                : before.coming().stream().anyMatch(members::contains);
        if (waits && !nodes.equals(before.nodes)) {
            return "table " + name + " is being placed on nodes " + people(before.nodes)
                    + ": wait until that is over, or give the same command again if whoever has given it is gone";
        }
        Set<Integer> more = new TreeSet<>(nodes);
        more.removeAll(before.keepers());
        return more.isEmpty() ? null : refusesMore(name, before, nodes, more, members);
    }

    /** Why no more nodes can keep a table; null if they can. */
    private @Nullable String refusesMore(String name, Table before, Set<Integer> nodes, Set<Integer> more,
            Set<Integer> members) {
        String what = "table " + name + " is kept on nodes " + people(before.keepers()) + " only";
        Set<Integer> others = tables.values().stream().flatMap(table -> table.coming().stream())
                .filter(members::contains).collect(Collectors.toCollection(TreeSet::new));
        others.removeAll(more);
        if (members.size() < MEMBERS_MIN) {
            return what + ", and whoever is to keep it, too, is away for a copy meanwhile, which takes a cluster of "
                    + MEMBERS_MIN + " nodes";
        }
        if (more.size() > 1 || !nodes.containsAll(before.keepers())) {
            return what + ": name these and one more node, which gets its rows, and others later";
        }
        return others.isEmpty()
                ? null
                : what + ", and nodes " + people(others) + " get the rows of other tables: wait until that is over";
    }

    /** Somebody asks for a placement that is not {@linkplain #refusal refused}. */
    void placing(long position, Control.Place told) {
        SortedMap<Long, Table> copy = new TreeMap<>(tables);
        if (!told.nodes().isEmpty()) {
            told.tables().forEach((key, name) -> {
                Table before = copy.get(key);
                copy.put(key, new Table(name, told.nodes(), before == null ? Set.of() : before.made, position));
            });
        }
        restore(copy);
    }

    /** What has become of one in the databases. */
    void placed(long position, Control.Placed told) {
        SortedMap<Long, Table> copy = new TreeMap<>(tables);
        told.tables().forEach((key, name) -> {
            Table before = copy.get(key);
            // Of two requests for the same the one may have been refused, and taken back, before the other was made.
            long since = before == null ? position : before.since;
            Set<Integer> nodes = told.nodes();
            if (!told.tookEffect()) {
                boolean takenBack = before != null && before.nodes.equals(told.nodes());
                nodes = before == null ? Set.of() : takenBack ? before.made : before.nodes;
            }
            copy.remove(key);
            if (!nodes.isEmpty()) {
                copy.put(key, new Table(name, nodes, told.tookEffect() || before == null ? nodes : before.made, since));
            }
        });
        restore(copy);
    }

    /** Why a node may not go; null if it may. */
    @Nullable
    String refusesToLose(int node, Set<Integer> members) {
        Set<String> lost = tables.values().stream()
                .filter(table -> members.stream().filter(table.keepers()::contains).toList().equals(List.of(node)))
                .map(Table::name).collect(Collectors.toCollection(TreeSet::new));
        return lost.isEmpty()
                ? null
                : "no other node keeps tables " + String.join(", ", lost) + ", which would be lost with node " + node
                        + ": if they are to be given up, drop them, forget where they were (`tutti tables place TABLE --nodes all`),"
                        + " and ask again";
    }

    /** Those whom a person reads of. */
    static String people(Collection<Integer> nodes) {
        return new TreeSet<>(nodes).toString();
    }
}
