package tutti.grid.node;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import tutti.grid.GridConfig;
import tutti.grid.store.Key;
import tutti.grid.store.Store;
import tutti.grid.store.Version;

/**
 * What a node keeps of other nodes' entries (a cache of the first level, in the words of Infinispan), and whom it has to tell when its own are written. A pure state machine.
 *
 * <p>
 * <b>An answer from here is one that the owner could have given</b> when it sent its last message. Whoever keeps a version has asked an owner, which has answered with its newest version while nothing was about to
 * write the key, and has taken down who keeps it. When something is about to write the key, the owner tells those, before it says which stamp it proposes for that, and forgets them. Every message carries its
 * sender's clock, and channels are first in, first out. An invalidation's own clock says nothing: the stamp is drawn before the keys are told of one after the other, so others of them may be about to be written at that clock. What comes next from the owner comes behind them all. So when another message with clock c has come from the owner and the version is kept still, nothing was about to write the key when that message was sent, and whatever
 * comes to write it gets a stamp above c: the version is what the {@link Store} of the owner answers to a read of any stamp from the version's own up to c, and the latest at that moment. It is taken
 * if c is not below the stamp of the transaction's snapshot, nor below what was read and committed here ({@link #seen}), and, by who reads a snapshot, if it is not above the snapshot.
 *
 * <p>
 * <b>So all levels hold as they do without</b>, by the arguments for reads of owners: <em>read committed</em>, since the version was committed and no older than what this node's transactions are based on; <em>repeatable read</em>, since
 * a transaction asks once for a key; the <em>write-skew check</em> and <em>serializable</em>, since what was read was the newest at the transaction's begin, from which on owners check at commit: a version that has become
 * old by then makes the transaction fail, and it is told here before that (the owner that voted, and every message after it, carries a clock above the one that wrote it), so the next run does not find it again; a
 * <em>read-only</em> transaction's snapshot has no other version of the key.
 *
 * <p>
 * <b>Which snapshot.</b> The clock of this node is ahead of what it has heard from most others. With a cache that is kept, a transaction begins therefore at the largest of three stamps, {@link #begin}: what was read, committed, or told to listeners here;
 * what all other members have said of their clocks; what this node's clock was some heartbeats ago. The first is what transactions of this node may rely on; the last bounds how old a snapshot is
 * when a member is silent. What was heard of its owner longer ago than as many heartbeats is not taken. After a conflict it is the clock itself.
 *
 * <p>
 * <b>Views.</b> Each begins with nothing kept, on both sides. What an owner has answered in an earlier view is not kept, since it has forgotten that.
 *
 * <p>
 * <b>Bounds.</b> For each cache so many bytes; what was not asked for the longest goes first, silently. An owner takes down {@value #KEYS_TOLD_MAX} keys; for one more, those who keep the oldest drop it.
 */
class L1 {
    /** For how many keys an owner takes down who keeps them. */
    static final int KEYS_TOLD_MAX = 1 << 17;
    /** What an entry takes besides key and value, about. */
    private static final int ENTRY_BYTES = 120;
    /** So many heartbeats ago is long. */
    private static final int HEARTBEATS = 3;

    private final GridConfig config;
    private final List<Map<Key, Entry>> caches = new ArrayList<>();
    private final long[] bytes;
    private final boolean isOn;
    /** By node: its clock when it has sent its last message, and when that came. */
    private final Map<Integer, Heard> heard = new HashMap<>();
    /** By key of this node: who keeps it. */
    private final Map<Key, Set<Integer>> keepers = new LinkedHashMap<>();
    /** What the clock was with the last heartbeats. */
    private final Deque<Long> clocks = new ArrayDeque<>();
    private long begin;
    private long hits;
    private long misses;
    private long invalidations;

    private record Entry(int owner, Version version) {}

    private record Heard(long clock, long nanos) {}

    /** Makes one. */
    interface Factory {
        /** See the constructor. */
        L1 of(GridConfig config);
    }

    L1(GridConfig config) {
        this.config = config;
        this.bytes = new long[config.caches().size()];
        this.isOn = config.caches().stream().anyMatch(cache -> cache.l1BytesMax() > 0);
        config.caches().forEach(_ -> caches.add(new LinkedHashMap<>(0, 0.75f, true)));
    }

    // ------------------------------------------------------------------------------------------ what is kept here

    /** Whether versions of a cache are kept here. */
    boolean keeps(int cache) {
        return config.caches().get(cache).l1BytesMax() > 0;
    }

    /** What can be taken for the answer to a read; null if the owner must be asked. See {@link Store#read}. */
    @Nullable
    Version find(Key key, long stamp, boolean latest, long nowNanos) {
        if (!keeps(key.cache())) {
            return null;
        }
        Entry entry = caches.get(key.cache()).get(key);
        Heard last = entry == null ? null : heard.get(entry.owner);
        if (entry == null || last == null || !isKnown(last.clock, Math.max(stamp, latest ? begin : 0))
                || (!latest && entry.version.stamp() > stamp)
                || nowNanos - last.nanos > HEARTBEATS * config.heartbeat().toNanos()) {
            misses++;
            return null;
        }
        hits++;
        return entry.version;
    }

    /** Whether an owner that has said this of its clock has answered for a stamp. */
    boolean isKnown(long clock, long stamp) {
        return clock >= stamp;
    }

    /** An owner has answered, in the present view, and will tell when the key is written. */
    void keep(int owner, Key key, Version version) {
        int cache = key.cache();
        long max = config.caches().get(cache).l1BytesMax();
        if (size(key, version) > max) {
            return;
        }
        Map<Key, Entry> entries = caches.get(cache);
        drop(key);
        entries.put(key, new Entry(owner, version));
        bytes[cache] += size(key, version);
        var eldest = entries.entrySet().iterator();
        while (bytes[cache] > max) {
            Map.Entry<Key, Entry> next = eldest.next();
            bytes[cache] -= size(next.getKey(), next.getValue().version);
            eldest.remove();
        }
    }

    private static long size(Key key, Version version) {
        byte[] value = version.value();
        return (long) ENTRY_BYTES + key.bytes().length + (value == null ? 0 : value.length);
    }

    private boolean drop(Key key) {
        Entry entry = caches.get(key.cache()).remove(key);
        if (entry != null) {
            bytes[key.cache()] -= size(key, entry.version);
        }
        return entry != null;
    }

    /** An owner tells that a key is about to be written. */
    void invalidated(Key key) {
        invalidations += drop(key) ? 1 : 0;
    }

    /** A message has come from a node, which its clock has said; not one that tells that a key is about to be written. */
    void heard(int from, long clock, long nowNanos) {
        if (isOn) {
            heard.merge(from, new Heard(clock, nowNanos),
                    (before, now) -> new Heard(Math.max(before.clock, now.clock), now.nanos));
        }
    }

    // ------------------------------------------------------------------------------------------ who keeps what lies here

    /**
     * Whether a node may keep the answer to a read: if it is the newest version, and nothing is about to write the key. Then it is told when something is.
     *
     * @param tell tells a node that a key is written, as {@link #written}
     */
    boolean answered(int to, Key key, Version version, Store store, BiConsumer<Integer, Key> tell) {
        if (!mayKeep(store.newest(key).stamp() == version.stamp() && store.writers(key).isEmpty())) {
            return false;
        }
        keepers.computeIfAbsent(key, _ -> new HashSet<>(2)).add(to);
        if (keepers.size() > KEYS_TOLD_MAX) {
            written(keepers.keySet().iterator().next(), tell);
        }
        return true;
    }

    /** Whether what an owner answers may be kept. */
    boolean mayKeep(boolean newest) {
        return newest;
    }

    /** Something is about to write a key that lies here. Those who keep it must be told before anything of its stamp is. */
    void written(Key key, BiConsumer<Integer, Key> tell) {
        Set<Integer> all = keepers.remove(key);
        if (all != null) {
            all.forEach(node -> tell.accept(node, key));
        }
    }

    // ------------------------------------------------------------------------------------------ snapshots and views

    /** The stamp at which a transaction begins; never smaller than before. */
    long begin(long present, Set<Integer> others) {
        if (!isOn) {
            return present;
        }
        long said = Long.MAX_VALUE;
        for (int other : others) {
            Heard last = heard.get(other);
            said = Math.min(said, last == null ? 0 : last.clock);
        }
        begin = Math.max(begin, Math.min(said, present));
        return begin;
    }

    /** No transaction begins below; never smaller than before. */
    long lowestBegin(long present) {
        return isOn ? begin : present;
    }

    /** A heartbeat. */
    void tick(long present) {
        clocks.add(present);
        if (clocks.size() > HEARTBEATS) {
            begin = Math.max(begin, clocks.remove());
        }
    }

    /** A transaction of this node has read, or committed at, this stamp, or a listener was told; or, after a conflict, the clock. Later ones begin there, or above. */
    void seen(long stamp) {
        begin = Math.max(begin, stamp);
    }

    /** A view begins. */
    void installed() {
        caches.forEach(Map::clear);
        Arrays.fill(bytes, 0);
        heard.clear();
        forgetKeepers();
    }

    /** Nobody keeps anything of this node. */
    final void forgetKeepers() {
        keepers.clear();
    }

    /** Figures: see {@link GridStatus.L1}. */
    GridStatus.L1 status() {
        int entries = 0;
        long all = 0;
        for (int i = 0; i < bytes.length; i++) {
            entries += caches.get(i).size();
            all += bytes[i];
        }
        return new GridStatus.L1(hits, misses, invalidations, entries, all);
    }
}
