package tutti.sim.world.database;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.RowLock;

/** One of the locks that a statement or changes need, in the order in which they are taken. */
record LockStep(long key, Locks.Mode mode) {
    /** What an applier locks: the rows that it changes; it checks no foreign keys. */
    static List<LockStep> of(EngineKind kind, Changes changes) {
        List<LockStep> steps = new ArrayList<>();
        if (!kind.snapshots()) {
            TreeSet<Integer> tables = new TreeSet<>();
            changes.rows().keySet().forEach(row -> tables.add(Catalog.table(row)));
            tables.forEach(table -> steps.add(new LockStep(Catalog.tableKey(table), Locks.Mode.INTENTION)));
        }
        changes.rows().forEach((row, change) -> steps.add(new LockStep(Catalog.rowKey(row),
                change.operation() == Changes.Operation.UPDATE ? Locks.Mode.UPDATE : Locks.Mode.EXCLUSIVE)));
        return steps;
    }

    /**
     * What a statement locks before it is carried out.
     *
     * @param isThere whether its row is, as far as the transaction can see
     */
    static List<LockStep> of(EngineKind kind, Program.Step step, boolean isThere) {
        List<LockStep> steps = new ArrayList<>(2);
        if (!kind.snapshots()) {
            if (step.action() == Program.Action.SCAN) {
                steps.add(new LockStep(Catalog.tableKey(step.table()), Locks.Mode.SHARED));
            } else if (step.action().writes()) {
                steps.add(new LockStep(Catalog.tableKey(step.table()), Locks.Mode.INTENTION));
            }
        }
        if (step.action() == Program.Action.LINK && kind.locksReferencedRows()) {
            steps.add(new LockStep(Catalog.rowKey(Catalog.register(step.value())),
                    kind.snapshots() ? Locks.Mode.REFERENCE : Locks.Mode.SHARED));
        }
        Locks.Mode row = rowMode(kind, step, isThere);
        if (row != null) {
            steps.add(new LockStep(Catalog.rowKey(step.row()), row));
        }
        return steps;
    }

    private static Locks.@Nullable Mode rowMode(EngineKind kind, Program.Step step, boolean isThere) {
        return switch (step.action()) {
            case APPEND, SET, LINK -> isThere ? Locks.Mode.UPDATE : Locks.Mode.EXCLUSIVE;
            case DELETE -> Locks.Mode.EXCLUSIVE;
            case LOCK -> kind.locksAlone()
                    ? mode(kind, step.lock())
                    : kind == EngineKind.HSQLDB ? null : Locks.Mode.EXCLUSIVE;
            case ADVISE -> kind.locksAlone() ? mode(kind, step.lock()) : null;
            case READ -> kind.snapshots() ? null : Locks.Mode.SHARED;
            case SCAN -> null;
        };
    }

    private static Locks.Mode mode(EngineKind kind, RowLock lock) {
        return switch (lock) {
            case UPDATE -> Locks.Mode.EXCLUSIVE;
            case NO_KEY_UPDATE -> Locks.Mode.UPDATE;
            case SHARE -> Locks.Mode.SHARED;
            // Who reads under locking shares what it reads.
            case KEY_SHARE -> kind.snapshots() ? Locks.Mode.REFERENCE : Locks.Mode.SHARED;
        };
    }
}
