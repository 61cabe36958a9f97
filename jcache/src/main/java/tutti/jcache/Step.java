package tutti.jcache;

import java.time.Instant;
import javax.cache.event.EventType;
import org.jspecify.annotations.Nullable;
import tutti.grid.api.Cache;
import tutti.grid.api.Transaction;

/** What one run of a transaction reads and writes of one entry. One thread. */
final class Step<K, V> {
    private final GridCache<K, V> cache;
    private final Cache<byte[], byte[]> entries;
    private final Transaction in;
    private final K key;
    private final byte[] bytes;
    private final Cache.@Nullable Entry<byte[]> found;
    private final @Nullable V old;
    private final Statistics.Counts counts = new Statistics.Counts();
    private @Nullable EventType happened;
    private @Nullable V now;

    /** Reads the entry. */
    Step(GridCache<K, V> cache, Cache<byte[], byte[]> entries, Transaction in, K key, byte[] bytes) {
        this.cache = cache;
        this.entries = entries;
        this.in = in;
        this.key = key;
        this.bytes = bytes;
        this.found = entries.entry(in, bytes).orElse(null);
        this.old = found == null ? null : cache.value(found.value());
    }

    K key() {
        return key;
    }

    /** What was there; null if there was nothing. */
    @Nullable
    V old() {
        return old;
    }

    /** What is counted if this run commits. */
    Statistics.Counts counts() {
        return counts;
    }

    /** Counts whether there was something. */
    @Nullable
    V lookedFor() {
        if (old == null) {
            counts.misses++;
        } else {
            counts.hits++;
        }
        return old;
    }

    /** The entry was read: its policy may renew it, which writes it again. */
    void accessed() {
        Cache.Entry<byte[]> there = found;
        if (there != null) {
            Instant until = cache.expiry().accessed(in.time());
            if (until != null && !until.equals(there.expiry())) {
                entries.put(in, bytes, there.value(), until);
            }
        }
    }

    /** Writes a value. */
    void put(V value) {
        if (write(value)) {
            counts.puts++;
        }
    }

    /**
     * Writes a value that a loader has brought.
     *
     * @return whether it is there
     */
    boolean write(V value) {
        Cache.Entry<byte[]> there = found;
        Instant time = in.time();
        if (there == null) {
            Instant until = cache.expiry().created(time);
            if (!until.isAfter(time)) {
                return false;
            }
            entries.put(in, bytes, cache.bytes(value), until);
            happened = EventType.CREATED;
        } else {
            Instant until = cache.expiry().updated(time);
            entries.put(in, bytes, cache.bytes(value), until == null ? there.expiry() : until);
            happened = EventType.UPDATED;
        }
        now = value;
        return true;
    }

    /** Removes what is there. */
    boolean remove() {
        if (found == null) {
            return false;
        }
        entries.remove(in, bytes);
        counts.removals++;
        happened = EventType.REMOVED;
        now = old;
        return true;
    }

    /** What listeners are told if this run commits. */
    Listeners.@Nullable Event<K, V> event() {
        EventType type = happened;
        V value = now;
        return type == null || value == null ? null : new Listeners.Event<>(cache, type, key, value, old);
    }
}
