package tutti.sim.world.database;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.NavigableSet;
import java.util.TreeSet;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;

/**
 * All versions of all rows, by the position that wrote them. A snapshot is a position; the state is always the effects of
 * positions up to {@link #visible}. Versions are kept for the whole run.
 */
final class Store {
    /** What a row that was never written holds. */
    static final Version NEVER = new Version(0, null, null);

    private static final long GOLDEN = 0x9E3779B97F4A7C15L;
    private static final int MIX_SHIFT = 31;

    /**
     * A version of a row.
     *
     * @param position that wrote it
     * @param writer the transaction that did; null if none
     * @param value null if the row is not there
     */
    record Version(long position, @Nullable TransactionId writer, int @Nullable [] value) {}

    private final Map<Long, List<Version>> versions = new HashMap<>();
    private final NavigableSet<Long> ends = new TreeSet<>();
    private long visible;
    /** By table. */
    private final long[] hashes = new long[Catalog.TABLES];

    long visible() {
        return visible;
    }

    /** Another one with the same rows; versions never change. */
    Store copy() {
        Store copy = new Store();
        copy.become(this);
        return copy;
    }

    /** Holds what another one holds, and nothing else. */
    void become(Store other) {
        versions.clear();
        other.versions.forEach((row, all) -> versions.put(row, new ArrayList<>(all)));
        ends.clear();
        ends.addAll(other.ends);
        visible = other.visible;
        System.arraycopy(other.hashes, 0, hashes, 0, hashes.length);
    }

    /** Drops what is not kept here. */
    void keep(LocalTables kept) {
        versions.keySet().removeIf(row -> !kept.keeps(row));
        cut(visible);
    }

    /** Removes what is not kept here any more, at a position that becomes visible. */
    void drop(long position, LocalTables kept) {
        versions.forEach((row, all) -> {
            Version last = all.isEmpty() ? NEVER : all.getLast();
            if (last.value != null && !kept.keeps(row)) {
                hashes[Catalog.table(row)] ^= hash(row, last.value);
                all.add(new Version(position, last.writer, null));
            }
        });
    }

    /** How many rows there are or were. */
    int rows() {
        return versions.size();
    }

    /** A hash of all rows that are there; equal states have equal hashes. */
    long hash() {
        long all = 0;
        for (long each : hashes) {
            all ^= each;
        }
        return all;
    }

    /** Likewise, of a table's rows. */
    long hash(int table) {
        return hashes[table];
    }

    Version read(long row, long snapshot) {
        List<Version> all = versions.get(row);
        if (all != null) {
            for (int i = all.size() - 1; i >= 0; i--) {
                if (all.get(i).position <= snapshot) {
                    return all.get(i);
                }
            }
        }
        return NEVER;
    }

    /** Position that wrote a row last, 0 if none. */
    long lastWritten(long row) {
        List<Version> all = versions.get(row);
        return all == null || all.isEmpty() ? 0 : all.getLast().position;
    }

    /** The last position up to another one that wrote a row of a table, 0 if none. */
    long lastChanged(int table, long upTo) {
        return versions.keySet().stream().filter(row -> Catalog.table(row) == table)
                .mapToLong(row -> read(row, upTo).position).max().orElse(0);
    }

    /** Whether a row was away at some time after a position. */
    boolean wasAway(long row, long after) {
        List<Version> all = versions.get(row);
        if (all != null) {
            for (int i = all.size() - 1; i >= 0 && all.get(i).position > after; i--) {
                if (all.get(i).value == null) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Writes what becomes visible at a position, of which {@link #visible(long)} tells when it is complete. */
    void write(long position, Changes changes) {
        if (position <= visible) {
            throw new IllegalStateException("position " + position + " becomes visible after " + visible);
        }
        changes.rows().forEach((row, change) -> {
            hashes[Catalog.table(row)] ^= hash(row, read(row, Long.MAX_VALUE).value) ^ hash(row, change.value());
            versions.computeIfAbsent(row, _ -> new ArrayList<>())
                    .add(new Version(position, changes.transaction(), change.value()));
        });
    }

    /** From now on a position is visible. */
    void visible(long position) {
        visible = position;
        ends.add(position);
    }

    /** Positions at which transactions of the database ended: what a copy of it may hold. */
    NavigableSet<Long> ends() {
        return ends;
    }

    /** Links to registers that are not there, in words; empty if the foreign key holds. */
    List<String> dangling() {
        List<String> found = new ArrayList<>();
        for (long link : Catalog.allLinks()) {
            int[] value = read(link, Long.MAX_VALUE).value;
            if (value != null && read(Catalog.referred(value), Long.MAX_VALUE).value == null) {
                found.add(Catalog.name(link) + " refers to " + Catalog.name(Catalog.referred(value))
                        + ", which is not there");
            }
        }
        return found;
    }

    /** What was committed after this position is gone. */
    void cut(long position) {
        visible = position;
        ends.tailSet(position, false).clear();
        Arrays.fill(hashes, 0);
        versions.forEach((row, all) -> {
            while (!all.isEmpty() && all.getLast().position > position) {
                all.removeLast();
            }
            hashes[Catalog.table(row)] ^= hash(row, read(row, position).value);
        });
    }

    private static long hash(long row, int @Nullable [] value) {
        if (value == null) {
            return 0;
        }
        long mixed = (row * GOLDEN ^ Arrays.hashCode(value)) * GOLDEN;
        return mixed ^ mixed >>> MIX_SHIFT;
    }
}
