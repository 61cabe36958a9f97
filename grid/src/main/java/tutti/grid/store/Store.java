package tutti.grid.store;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The versions of the keys that a node owns, and what is about to write them. One thread.
 *
 * <p>
 * <b>Reads.</b> A read has a stamp that its reader's node had seen when the transaction began; this node's clock has seen it, too, so
 * what gets a stamp here from now on is above. The read waits for whatever is about to write the key and may have a stamp not
 * above; then all such versions are there. It gets the newest version at or below its stamp, or, if it wants the latest, the
 * newest of all, which is at least as new.
 *
 * <p>
 * <b>What is dropped.</b> Below the horizon nobody reads: older versions than the newest one there, and a removal that is the newest, or
 * what is the newest and has expired for everybody. An expired version is thus nothing but a removal that some readers do not see yet.
 */
public final class Store {
    private final Map<Key, Cell> cells = new HashMap<>();
    /** What may be dropped when the horizon has passed it, roughly by stamp. */
    private final Deque<Garbage> garbage = new ArrayDeque<>();
    /** Keys whose newest version expires, by when. */
    private final NavigableMap<Long, Set<Key>> expiring = new TreeMap<>();
    private long waitingReads;
    private long horizon;
    private long timeHorizonMillis;
    private long expired;
    private long bytes;

    private record Garbage(Key key, long stamp) {}

    /** What is about to write a key. */
    public interface Writer {
        /** Its stamp will not be below this. */
        long bound();
    }

    private record Read(long stamp, boolean latest, Consumer<Version> reader) {}

    private static final class Cell {
        private @Nullable Version newest;
        private final List<Writer> writers = new ArrayList<>(1);
        private final List<Read> reads = new ArrayList<>(0);

        boolean isEmpty() {
            return newest == null && writers.isEmpty() && reads.isEmpty();
        }

        /** Whether something may still write a version that a read must see. */
        boolean mustWait(long stamp) {
            for (Writer writer : writers) {
                if (writer.bound() <= stamp) {
                    return true;
                }
            }
            return false;
        }

        Version version(long stamp) {
            Version version = newest;
            while (version != null && version.stamp() > stamp) {
                version = version.older;
            }
            return version == null ? Version.ABSENT : version;
        }
    }

    private Cell cell(Key key) {
        return cells.computeIfAbsent(key, _ -> new Cell());
    }

    /** How many keys have a version, a writer or a reader. */
    public int size() {
        return cells.size();
    }

    /** Bytes of the keys and values of all versions. */
    public long bytes() {
        return bytes;
    }

    private static long bytes(Key key, Version version) {
        byte[] value = version.value();
        return (long) key.bytes().length + (value == null ? 0 : value.length);
    }

    /** How many entries were dropped since they had expired. */
    public long expired() {
        return expired;
    }

    /** How many reads have had to wait so far. */
    public long waitingReads() {
        return waitingReads;
    }

    /** Whether what a snapshot of this stamp would find may have been dropped. */
    public boolean isTrimmed(long stamp) {
        return stamp < horizon;
    }

    /**
     * Reads a key.
     *
     * @param stamp seen by the clock of this node
     * @param latest whether newer versions will do as well
     * @param reader told the version, now or later
     */
    public void read(Key key, long stamp, boolean latest, Consumer<Version> reader) {
        Cell cell = cells.get(key);
        if (cell == null) {
            reader.accept(Version.ABSENT);
        } else if (cell.mustWait(stamp)) {
            waitingReads++;
            cell.reads.add(new Read(stamp, latest, reader));
        } else {
            reader.accept(cell.version(latest ? Long.MAX_VALUE : stamp));
        }
    }

    /**
     * Looks which keys a snapshot has, as if each was read.
     *
     * @param cache whose
     * @param which of them are asked for
     * @param stamp seen by the clock of this node
     * @param timeMillis by which it is judged what has expired
     * @param reader told them, now or later
     */
    public void keys(int cache, Predicate<Key> which, long stamp, long timeMillis, Consumer<List<byte[]>> reader) {
        List<byte[]> found = new ArrayList<>();
        List<Key> asked = cells.keySet().stream().filter(key -> key.cache() == cache && which.test(key)).toList();
        int[] open = {asked.size()};
        for (Key key : asked) {
            read(key, stamp, false, version -> {
                if (version.isThere(timeMillis)) {
                    found.add(key.bytes());
                }
                if (--open[0] == 0) {
                    reader.accept(found);
                }
            });
        }
        if (asked.isEmpty()) {
            reader.accept(found);
        }
    }

    /** The stamp of the newest version below a stamp that was applied; 0 if there is none. */
    public long stampBelow(Key key, long stamp) {
        Cell cell = cells.get(key);
        return cell == null ? 0 : cell.version(stamp - 1).stamp();
    }

    /** The newest version that was applied, whatever is about to write. */
    public Version newest(Key key) {
        Cell cell = cells.get(key);
        return cell == null || cell.newest == null ? Version.ABSENT : cell.newest;
    }

    /** Something is about to write a key. */
    public void announce(Key key, Writer writer) {
        cell(key).writers.add(writer);
    }

    /** It will not, or has. */
    public void withdraw(Key key, Writer writer) {
        cell(key).writers.remove(writer);
        changed(key);
    }

    /** What is about to write a key, in the order of announcement. */
    public List<Writer> writers(Key key) {
        Cell cell = cells.get(key);
        return cell == null ? List.of() : cell.writers;
    }

    /** Adds a version, at its place by stamp. Without effect if it is there. */
    public void apply(Key key, Version version) {
        Cell cell = cell(key);
        Version above = null;
        Version below = cell.newest;
        while (below != null && below.stamp() > version.stamp()) {
            above = below;
            below = below.older;
        }
        if (below != null && below.stamp() == version.stamp()) {
            return;
        }
        bytes += bytes(key, version);
        version.older = below;
        if (above == null) {
            if (below != null) {
                expiresNoMore(key, below);
            }
            if (version.isThere(Long.MIN_VALUE) && version.expiryMillis() != Version.NEVER) {
                expiring.computeIfAbsent(version.expiryMillis(), _ -> new HashSet<>(2)).add(key);
            }
            cell.newest = version;
        } else {
            above.older = version;
        }
        if (above != null || below != null || version.value() == null) {
            garbage.add(new Garbage(key, above == null ? version.stamp() : above.stamp()));
        }
    }

    /** This was the newest version of a key, and is it no more. */
    private void expiresNoMore(Key key, Version version) {
        expiring.computeIfPresent(version.expiryMillis(),
                (_, keys) -> keys.remove(key) && keys.isEmpty() ? null : keys);
    }

    /** A bound of what is about to write a key has risen, or somebody writes it no more: reads may go on. */
    public void changed(Key key) {
        Cell cell = cells.get(key);
        if (cell == null) {
            return;
        }
        if (!cell.reads.isEmpty()) {
            for (Read read : List.copyOf(cell.reads)) {
                if (!cell.mustWait(read.stamp)) {
                    cell.reads.remove(read);
                    read.reader.accept(cell.version(read.latest ? Long.MAX_VALUE : read.stamp));
                }
            }
        }
        if (cell.isEmpty()) {
            // A reader may have come back, and the cell may be another.
            cells.remove(key, cell);
        }
    }

    /** The keys that have a version and are as they should be. */
    public List<Key> keys(Predicate<Key> which) {
        return cells.entrySet().stream().filter(cell -> cell.getValue().newest != null).map(Map.Entry::getKey)
                .filter(which).toList();
    }

    /** All versions of a key that are kept, copied, the newest first. */
    public List<Version> versions(Key key) {
        List<Version> versions = new ArrayList<>();
        for (Version version = newest(key); version != null && version.stamp() > 0; version = version.older) {
            versions.add(new Version(version.stamp(), version.value(), version.expiryMillis()));
        }
        return versions;
    }

    /** Drops all versions of keys of which nothing will be read here, nor written before they are copied here anew. */
    public void drop(Predicate<Key> which) {
        for (Key key : keys(which)) {
            Cell cell = cell(key);
            for (Version version = cell.newest; version != null; version = version.older) {
                bytes -= bytes(key, version);
            }
            Version newest = cell.newest;
            if (newest != null) {
                expiresNoMore(key, newest);
            }
            cell.newest = null;
            if (cell.isEmpty()) {
                cells.remove(key);
            }
        }
    }

    /**
     * Drops what nobody finds any more.
     *
     * @param below nobody reads below this stamp any more
     * @param timeMillis no transaction that reads here has an earlier time
     */
    public void trim(long below, long timeMillis) {
        horizon = Math.max(horizon, below);
        timeHorizonMillis = Math.max(timeHorizonMillis, timeMillis);
        while (!garbage.isEmpty() && garbage.getFirst().stamp <= horizon) {
            trim(garbage.removeFirst().key);
        }
        // What was written just now, and has expired already, stays until the horizon has passed it.
        List<Key> due = new ArrayList<>();
        expiring.headMap(timeHorizonMillis, true).values().forEach(due::addAll);
        due.forEach(this::trim);
    }

    private void trim(Key key) {
        Cell cell = cells.get(key);
        if (cell == null || cell.newest == null) {
            return;
        }
        Version kept = cell.newest;
        while (kept.stamp() > horizon && kept.older != null) {
            kept = kept.older;
        }
        if (kept.stamp() <= horizon) {
            for (Version dropped = kept.older; dropped != null; dropped = dropped.older) {
                bytes -= bytes(key, dropped);
            }
            kept.older = null;
        }
        if (Objects.equals(kept, cell.newest) && !kept.isThere(timeHorizonMillis) && kept.stamp() <= horizon) {
            expiresNoMore(key, kept);
            expired += kept.value() == null ? 0 : 1;
            cell.newest = null;
            bytes -= bytes(key, kept);
        }
        if (cell.isEmpty()) {
            cells.remove(key);
        }
    }
}
