package tutti.sim.world.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/** One of the locks that changes need, in the order in which all appliers take them. */
record LockStep(long key, Locks.Mode mode) {
    static List<LockStep> of(SimEngine engine, Changes changes) {
        List<LockStep> steps = new ArrayList<>();
        if (engine.isLocking()) {
            TreeSet<Integer> tables = new TreeSet<>();
            changes.rows().keySet().forEach(row -> tables.add(Catalog.table(row)));
            tables.forEach(table -> steps.add(new LockStep(Catalog.tableKey(table), Locks.Mode.INTENTION)));
        }
        changes.rows().keySet().forEach(row -> steps.add(new LockStep(Catalog.rowKey(row), Locks.Mode.EXCLUSIVE)));
        return steps;
    }
}
