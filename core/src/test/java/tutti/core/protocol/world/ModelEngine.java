package tutti.core.protocol.world;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * One replica's database in the test world: every version of every row by the position that wrote it, and row locks. A
 * snapshot is a position; the state is always the effects of positions 1 to {@link #visible()}.
 */
final class ModelEngine {
    /** Whoever holds row locks. */
    static class Owner {
        final TreeSet<Integer> locked = new TreeSet<>();
        /** Whose lock it waits for. */
        @Nullable
        Owner waitsFor;
    }

    private final Map<Integer, TreeMap<Long, Long>> versions = new HashMap<>();
    private final Map<Integer, Owner> locks = new HashMap<>();
    private long visible;

    /** What has been committed is 1 to this position. */
    long visible() {
        return visible;
    }

    /** What a row holds in a snapshot; 0 if it is not there. */
    long read(int row, long snapshot) {
        TreeMap<Long, Long> all = versions.get(row);
        Map.Entry<Long, Long> version = all == null ? null : all.floorEntry(snapshot);
        return version == null ? 0 : version.getValue();
    }

    /** Position that wrote a row last, 0 if none. */
    long lastWritten(int row) {
        TreeMap<Long, Long> all = versions.get(row);
        return all == null || all.isEmpty() ? 0 : all.lastKey();
    }

    /** Who holds the lock of a row. */
    @Nullable
    Owner holder(int row) {
        return locks.get(row);
    }

    void lock(int row, Owner owner) {
        Owner before = locks.put(row, owner);
        if (before != null && !before.equals(owner)) {
            throw new AssertionError("row " + row + " was locked by another");
        }
        owner.locked.add(row);
    }

    void release(Owner owner) {
        for (int row : owner.locked) {
            locks.remove(row, owner);
        }
        owner.locked.clear();
        owner.waitsFor = null;
    }

    /** Whether waiting for this owner would close a cycle. */
    boolean deadlock(Owner waiter, Owner holder) {
        for (Owner next = holder; next != null; next = next.waitsFor) {
            if (next.equals(waiter)) {
                return true;
            }
        }
        return false;
    }

    /** Commits rows at a position, all before which is visible. */
    void commit(long position, Map<Integer, Long> rows) {
        if (position <= visible) {
            throw new AssertionError("position " + position + " becomes visible after " + visible);
        }
        visible = position;
        rows.forEach((row, value) -> versions.computeIfAbsent(row, _ -> new TreeMap<>()).put(position, value));
    }

    /** The server restarted: locks are gone, and so is what was committed after this position. */
    void crash(long durable) {
        locks.clear();
        visible = durable;
        versions.values().forEach(all -> all.tailMap(durable, false).clear());
    }

    /** All rows that are there. */
    Map<Integer, Long> state() {
        Map<Integer, Long> state = new TreeMap<>();
        versions.forEach((row, all) -> {
            long value = read(row, visible);
            if (value != 0) {
                state.put(row, value);
            }
        });
        return state;
    }
}
