package tutti.sim.world.database;

import java.util.TreeMap;
import tutti.core.txn.TablePlacement;

/**
 * Which tables a database keeps: what it makes of changes, what it may execute, and what it drops of another node's copy.
 *
 * @param placement of all tables
 * @param node whose database it is
 */
public record LocalTables(TablePlacement placement, int node) {
    /** All tables. */
    public static final LocalTables ALL = new LocalTables(TablePlacement.EVERYWHERE, 0);

    /** Whether a row may be here. */
    public boolean keeps(long row) {
        return placement.keeps(node, Catalog.tableKey(Catalog.table(row)));
    }

    /** Whether a program may be executed here. */
    public boolean mayExecute(Program program) {
        return placement.keepsAll(node, program.tables());
    }

    /** Whether a statement may be executed here: a scan names no row, a foreign key those of two tables, which are kept together. */
    boolean mayExecute(Program.Step step) {
        return !step.hasTable() || placement.keeps(node, Catalog.tableKey(step.table()));
    }

    /** What is made here of changes; perhaps nothing. */
    Changes of(Changes changes) {
        if (placement.isEverywhere()) {
            return changes;
        }
        TreeMap<Long, Changes.Change> rows = new TreeMap<>(changes.rows());
        rows.keySet().removeIf(row -> !keeps(row));
        return new Changes(changes.transaction(), rows);
    }

    /** A hash of what all nodes keep. */
    long common(Store store) {
        long hash = 0;
        for (int table = 0; table < Catalog.TABLES; table++) {
            if (!isPartial(table)) {
                hash ^= store.hash(table);
            }
        }
        return hash;
    }

    /** Whether a table is kept on some nodes only. */
    public boolean isPartial(int table) {
        return placement.keepers().containsKey(Catalog.tableKey(table));
    }

    /** Whether a table is kept on some nodes only, of which this is one. */
    boolean isPartialAndHere(int table) {
        return isPartial(table) && placement.keeps(node, Catalog.tableKey(table));
    }
}
