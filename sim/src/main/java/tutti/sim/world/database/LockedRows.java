package tutti.sim.world.database;

import java.util.TreeMap;
import java.util.stream.Stream;
import tutti.check.isolation.LockExclusionCheck.Hold;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.RowLock;
import tutti.core.txn.WriteSet;

/**
 * What a transaction has locked without changing it, rows and advisory locks, in place of the class of the same name that front ends of real databases use:
 * the keys that it gets for them if it changes something, too, are those of {@link RowLock} (docs/decisions/0128, 0129).
 */
public final class LockedRows {
    private final TreeMap<Long, RowLock> rows = new TreeMap<>();

    void add(long row, RowLock lock) {
        rows.merge(row, lock, RowLock::and);
    }

    /** Whether nothing has been locked. */
    public boolean isEmpty() {
        return rows.isEmpty();
    }

    /** The same, for who checks that it excludes. */
    Stream<Hold> holds() {
        return rows.entrySet().stream().map(row -> new Hold(row.getKey(), row.getValue(), false));
    }

    /**
     * What a transaction has changed, with the keys of what it has locked.
     *
     * @param compared whether {@link #reads} are compared
     */
    public WriteSet addTo(WriteSet writes, boolean compared) {
        KeySet.Builder keys = new KeySet.Builder();
        for (int i = 0; i < writes.keys().size(); i++) {
            keys.add(writes.keys().hash(i), writes.keys().kind(i));
        }
        keys.add(KeySet.LOCKS, KeyKind.REFERENCE);
        rows.forEach((row, lock) -> {
            RowLock.Keys of = Catalog.lockKeys(row);
            if (Catalog.isAdvisory(row)) {
                keys.add(of.row(), lock.advisory(compared));
            } else {
                keys.add(Catalog.tableKey(Catalog.table(row)), KeyKind.REFERENCE);
                lock.write(of, compared, (kind, key) -> keys.add(key, kind));
            }
        });
        return new WriteSet(keys.build(), writes.changes());
    }

    /** What is to be compared as if it had been read; empty if nothing is. */
    public ReadSet reads() {
        ReadSet.Builder reads = new ReadSet.Builder();
        rows.forEach((row, lock) -> {
            if (!Catalog.isAdvisory(row)) {
                reads.row(Catalog.tableKey(Catalog.table(row)), lock.read(Catalog.lockKeys(row)));
            } else if (lock == RowLock.SHARE) {
                reads.row(Catalog.ADVISORY_KEY, Catalog.lockKeys(row).row());
            }
        });
        return reads.build();
    }
}
