package tutti.macro.distribution;

import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;

/**
 * A map of which only changes travel: what functions that are passed to it compute is computed once, at one node, and may
 * depend on clocks and chance. Of each key it keeps the values that open transactions may still look at.
 *
 * <p>
 * A single call reads only keys that it writes, or writes nothing, so single calls are linearizable at {@link ReadLevel#LINEARIZABLE}. Two
 * transactions of several calls at the same time may each read what the other one writes, unless they write the same key.
 *
 * <p>
 * Keys that are equal must be encoded equally, which sets and maps, and what contains such, are not. Null keys are allowed. Thread safe; a transaction's map is
 * not, and must not be used after its end. Views (key sets, entry sets) show the transaction's state at the time when their iteration begins.
 */
public final class VersionedMap<K, V> implements TransactionalComponent<Map<K, V>> {
    private static final long FNV_BASIS = 0xcbf29ce484222325L;
    private static final long FNV_PRIME = 0x100000001b3L;

    /** A value since a position. */
    private record Version<V>(long position, boolean present, @Nullable V value, @Nullable Version<V> older) {
        @Nullable
        Version<V> at(long snapshot) {
            Version<V> found = this;
            while (found != null && found.position > snapshot) {
                found = found.older;
            }
            return found == null || !found.present ? null : found;
        }

        /** Without what nobody sees who sees this position or a later one. */
        Version<V> since(long oldest) {
            if (position <= oldest || older == null) {
                return new Version<>(position, present, value, null);
            }
            return new Version<>(position, present, value, older.since(oldest));
        }
    }

    private final ObjectCodec values;
    private final ReentrantLock lock = new ReentrantLock();
    // All guarded by the lock.
    private final Map<K, Version<V>> versions = new HashMap<>();
    /** How many transactions look at each position. */
    private final TreeMap<Long, Integer> snapshots = new TreeMap<>();
    private long last;
    /** Keys with several versions, or none that is present. */
    private final Set<K> several = new HashSet<>();
    /** Up to which position old versions of these have been dropped. */
    private long dropped;

    /** @param values knows keys and values */
    public VersionedMap(ObjectCodec values) {
        this.values = values;
    }

    @Override
    public Transaction<Map<K, V>> begin(boolean readOnly, Runnable renewed) {
        lock.lock();
        try {
            snapshots.merge(last, 1, Integer::sum);
            return new MapTransaction(last);
        } finally {
            lock.unlock();
        }
    }

    private void forget(long snapshot) {
        int count = snapshots.getOrDefault(snapshot, 1);
        if (count == 1) {
            snapshots.remove(snapshot);
        } else {
            snapshots.put(snapshot, count - 1);
        }
    }

    private Set<K> known() {
        lock.lock();
        try {
            return new LinkedHashSet<>(versions.keySet());
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void apply(long position, WriteSet writes) {
        Map<K, Change<V>> changes = decode(writes.changes());
        lock.lock();
        try {
            last = position;
            changes.forEach((key, change) -> {
                versions.put(key, new Version<>(position, change.present(), change.value(), versions.get(key)));
                several.add(key);
            });
            long oldest = snapshots.isEmpty() ? position : snapshots.firstKey();
            if (oldest > dropped) {
                dropped = oldest;
                several.removeIf(key -> keptWhole(key, oldest));
            }
        } finally {
            lock.unlock();
        }
    }

    /** Drops what nobody sees of a key any more, and tells whether nothing of it will ever have to be dropped. */
    private boolean keptWhole(K key, long oldest) {
        Version<V> newest = Objects.requireNonNull(versions.get(key), "a key with versions").since(oldest);
        if (newest.older() != null) {
            versions.put(key, newest);
            return false;
        }
        if (newest.present()) {
            versions.put(key, newest);
        } else {
            versions.remove(key);
        }
        return true;
    }

    @Override
    public StateCodec<Map<K, V>> stateCodec() {
        return StateCodec.map();
    }

    /** What becomes of a key. */
    private record Change<V>(boolean present, @Nullable V value) {}

    private byte[] encode(Map<K, Change<V>> changes) {
        Output to = new Output();
        to.writeUnsigned(changes.size());
        changes.forEach((key, change) -> {
            values.write(key, to);
            to.writeByte(change.present() ? 1 : 0);
            if (change.present()) {
                values.write(change.value(), to);
            }
        });
        return to.toBytes();
    }

    @SuppressWarnings("unchecked")
    private Map<K, Change<V>> decode(byte[] bytes) {
        Input from = new Input(bytes);
        Map<K, Change<V>> changes = new LinkedHashMap<>();
        for (int left = from.readCount(); left > 0; left--) {
            K key = (K) values.read(from);
            boolean present = from.readByte() == 1;
            changes.put(key, new Change<>(present, present ? (V) values.read(from) : null));
        }
        return changes;
    }

    private static void checkKey(@Nullable Object key) {
        if (key instanceof Set || key instanceof Map) {
            throw new EncodingException(
                    "a set or a map cannot be a key here: equal ones may be encoded in several ways");
        }
    }

    private long hash(K key) {
        Output to = new Output();
        values.write(key, to);
        long hash = FNV_BASIS;
        for (byte each : to.toBytes()) {
            hash = (hash ^ (each & 0xff)) * FNV_PRIME;
        }
        return hash;
    }

    private final class MapTransaction implements Transaction<Map<K, V>> {
        private final long snapshot;
        private final Map<K, Change<V>> changes = new LinkedHashMap<>();
        private final Map<K, V> view = new View<>(this);
        private boolean over;

        MapTransaction(long snapshot) {
            this.snapshot = snapshot;
        }

        @Override
        public Map<K, V> component() {
            return view;
        }

        @Override
        public WriteSet changes() {
            if (changes.isEmpty()) {
                return WriteSet.EMPTY;
            }
            KeySet.Builder keys = new KeySet.Builder();
            changes.keySet().forEach(key -> keys.add(hash(key), KeyKind.UPDATE));
            return new WriteSet(keys.build(), encode(changes));
        }

        /** Its changes are made as those of others are, so that all nodes have the same objects whoever made them. */
        @Override
        public boolean commit(long position) {
            end();
            return false;
        }

        @Override
        public void end() {
            lock.lock();
            try {
                if (!over) {
                    over = true;
                    forget(snapshot);
                }
            } finally {
                lock.unlock();
            }
        }

        /** What it sees of a key; null if there is nothing. */
        @Nullable
        Change<V> look(@Nullable Object key) {
            Change<V> own = changes.get(key);
            if (own != null) {
                return own.present() ? own : null;
            }
            lock.lock();
            try {
                Version<V> newest = versions.get(key);
                Version<V> found = newest == null ? null : newest.at(snapshot);
                return found == null ? null : new Change<>(true, found.value());
            } finally {
                lock.unlock();
            }
        }

        Set<K> keys() {
            Set<K> keys = known();
            keys.addAll(changes.keySet());
            keys.removeIf(key -> look(key) == null);
            return keys;
        }
    }

    /** The map that a transaction's operations are called on. */
    private static final class View<K, V> extends AbstractMap<K, V> {
        private final VersionedMap<K, V>.MapTransaction transaction;

        View(VersionedMap<K, V>.MapTransaction transaction) {
            this.transaction = transaction;
        }

        @Override
        public @Nullable V get(@Nullable Object key) {
            Change<V> found = transaction.look(key);
            return found == null ? null : found.value();
        }

        @Override
        public boolean containsKey(@Nullable Object key) {
            return transaction.look(key) != null;
        }

        @Override
        public @Nullable V put(K key, @Nullable V value) {
            V before = get(key);
            checkKey(key);
            transaction.changes.put(key, new Change<>(true, value));
            return before;
        }

        @Override
        @SuppressWarnings("unchecked")
        public @Nullable V remove(@Nullable Object key) {
            Change<V> before = transaction.look(key);
            if (before == null) {
                return null;
            }
            transaction.changes.put((K) key, new Change<>(false, null));
            return before.value();
        }

        @Override
        public Set<Map.Entry<K, V>> entrySet() {
            return new AbstractSet<>() {
                @Override
                public Iterator<Map.Entry<K, V>> iterator() {
                    return entries(transaction.keys().iterator());
                }

                @Override
                public int size() {
                    return transaction.keys().size();
                }
            };
        }

        private Iterator<Map.Entry<K, V>> entries(Iterator<K> keys) {
            return new Iterator<>() {
                private @Nullable K current;

                @Override
                public boolean hasNext() {
                    return keys.hasNext();
                }

                @Override
                public Map.Entry<K, V> next() {
                    K key = keys.next();
                    current = key;
                    return new SimpleEntry<>(key, get(key)) {
                        private static final long serialVersionUID = 1;

                        @Override
                        public V setValue(V value) {
                            put(key, value);
                            return super.setValue(value);
                        }
                    };
                }

                @Override
                public void remove() {
                    View.this.remove(current);
                }
            };
        }
    }
}
