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
import java.util.stream.Stream;

/**
 * The versions of the keys that a node owns, and what is about to write them. One thread.
 *
 * <p>
 * <b>Reads.</b> A read has a stamp that its reader's node had seen when the transaction began; this node's clock has seen it, too, so
 * what gets a stamp here from now on is above. The read waits for whatever is about to write the key and may have a stamp not
 * above; then all such versions are there. It gets the newest version at or below its stamp, or, if it wants the latest, the
 * newest of all, which is at least as new. What holds when this node is left out says {@link tutti.grid.view.ViewEntry}.
 *
 * <p>
 * <b>What is dropped.</b> Below the horizon nobody reads: older versions than the newest one there, and a removal that is the newest, or
 * what is the newest and has expired for everybody. An expired version is thus nothing but a removal that some readers do not see yet.
 */
public final class Store {
    /** The newest version of each key that has one. Nothing else is kept of a key that nobody writes: an entry costs what these take. */
    private final Map<Key, Version> newest = new HashMap<>();
    /** What is about to write a key, and who waits for that. */
    private final Map<Key, UnderWay> underWay = new HashMap<>();
    /** What may be dropped when the horizon has passed it, roughly by stamp. */
    private final Deque<Garbage> garbage = new ArrayDeque<>();
    /** Keys whose newest version expires, by when. */
    private final NavigableMap<Long, Set<Key>> expiring = new TreeMap<>();
    private Consumer<Key> announced = _ -> {};
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

    private static final class UnderWay {
        private final List<Writer> writers = new ArrayList<>(1);
        private final List<Read> reads = new ArrayList<>(0);

        /** Whether something may still write a version that a read must see. */
        boolean mustWait(long stamp) {
            for (Writer writer : writers) {
                if (writer.bound() <= stamp) {
                    return true;
                }
            }
            return false;
        }
    }

    private UnderWay underWay(Key key) {
        return underWay.computeIfAbsent(key, _ -> new UnderWay());
    }

    /** The newest version that was applied, up to a stamp. */
    private Version version(Key key, long stamp) {
        Version version = newest.get(key);
        while (version != null && version.stamp() > stamp) {
            version = version.older;
        }
        return version == null ? Version.ABSENT : version;
    }

    /** How many keys have a version, a writer or a reader. */
    public int size() {
        return newest.size() + (int) underWay.keySet().stream().filter(key -> !newest.containsKey(key)).count();
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

    /** Nobody reads below this stamp; see {@link #trim}. */
    public long horizon() {
        return horizon;
    }

    /** No transaction that reads here has an earlier time; see {@link #trim}. */
    public long timeHorizonMillis() {
        return timeHorizonMillis;
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
        UnderWay here = underWay.get(key);
        if (here != null && here.mustWait(stamp)) {
            waitingReads++;
            here.reads.add(new Read(stamp, latest, reader));
        } else {
            reader.accept(version(key, latest ? Long.MAX_VALUE : stamp));
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
        List<Key> asked = Stream.concat(newest.keySet().stream(),
                underWay.keySet().stream().filter(key -> !newest.containsKey(key)))
                .filter(key -> key.cache() == cache && which.test(key)).toList();
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
        return version(key, stamp - 1).stamp();
    }

    /** The newest version that was applied, whatever is about to write. */
    public Version newest(Key key) {
        return newest.getOrDefault(key, Version.ABSENT);
    }

    /** Who hears of each key that something is about to write, when it is announced. */
    public void onAnnounced(Consumer<Key> hears) {
        announced = hears;
    }

    /** Something is about to write a key. */
    public void announce(Key key, Writer writer) {
        announced.accept(key);
        underWay(key).writers.add(writer);
    }

    /** It will not, or has. */
    public void withdraw(Key key, Writer writer) {
        UnderWay here = underWay.get(key);
        if (here != null) {
            here.writers.remove(writer);
            changed(key);
        }
    }

    /** What is about to write a key, in the order of announcement. */
    public List<Writer> writers(Key key) {
        UnderWay here = underWay.get(key);
        return here == null ? List.of() : here.writers;
    }

    /** Adds a version, at its place by stamp. Without effect if it is there. */
    public void apply(Key key, Version version) {
        Version above = null;
        Version below = newest.get(key);
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
            newest.put(key, version);
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
        UnderWay here = underWay.get(key);
        if (here == null) {
            return;
        }
        for (Read read : List.copyOf(here.reads)) {
            if (!here.mustWait(read.stamp)) {
                here.reads.remove(read);
                read.reader.accept(version(key, read.latest ? Long.MAX_VALUE : read.stamp));
            }
        }
        if (here.writers.isEmpty() && here.reads.isEmpty()) {
            // A reader may have come back, and what is under way may be something else.
            underWay.remove(key, here);
        }
    }

    /** The keys that have a version and are as they should be. */
    public List<Key> keys(Predicate<Key> which) {
        return newest.keySet().stream().filter(which).toList();
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
            Version last = newest.remove(key);
            for (Version version = last; version != null; version = version.older) {
                bytes -= bytes(key, version);
            }
            if (last != null) {
                expiresNoMore(key, last);
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
        Version last = newest.get(key);
        if (last == null) {
            return;
        }
        Version kept = last;
        while (kept.stamp() > horizon && kept.older != null) {
            kept = kept.older;
        }
        if (kept.stamp() <= horizon) {
            for (Version dropped = kept.older; dropped != null; dropped = dropped.older) {
                bytes -= bytes(key, dropped);
            }
            kept.older = null;
        }
        if (Objects.equals(kept, last) && !kept.isThere(timeHorizonMillis) && kept.stamp() <= horizon) {
            expiresNoMore(key, kept);
            expired += kept.value() == null ? 0 : 1;
            newest.remove(key);
            bytes -= bytes(key, kept);
        }
    }
}
