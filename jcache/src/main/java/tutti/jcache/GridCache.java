package tutti.jcache;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.stream.Stream;
import javax.cache.Cache;
import javax.cache.CacheException;
import javax.cache.CacheManager;
import javax.cache.configuration.CacheEntryListenerConfiguration;
import javax.cache.configuration.Configuration;
import javax.cache.configuration.MutableConfiguration;
import javax.cache.integration.CacheLoaderException;
import javax.cache.integration.CompletionListener;
import javax.cache.processor.EntryProcessor;
import javax.cache.processor.EntryProcessorException;
import javax.cache.processor.EntryProcessorResult;
import org.jspecify.annotations.Nullable;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.api.Grid;
import tutti.grid.api.Serializers;

/**
 * A cache: those entries of the grid's cache whose keys begin with its name. Any thread.
 *
 * <p>
 * Each operation on an entry is a transaction that reads the newest version of it and fails if another one has come to be when it commits; it
 * is then run again. So are its entry processor, loader and writer, which may see several runs of which one commits. Of operations through this object those on the same key
 * wait for each other, so this happens for other nodes' only, and listeners are told in order; but what listeners, processors and writers do waits for nobody. Operations on several entries are so many transactions.
 */
final class GridCache<K, V> implements Cache<K, V> {
    private static final int LOCKS = 64;
    /** So many are removed in one transaction when all are. */
    private static final int CLEARED_AT_ONCE = 100;

    /** Whether the thread is changing an entry, of whatever cache. */
    private static final ThreadLocal<Boolean> CHANGES = ThreadLocal.withInitial(() -> false);

    private final GridCacheManager manager;
    private final String name;
    private final byte[] prefix;
    private final MutableConfiguration<K, V> configuration;
    private final Grid grid;
    private final tutti.grid.api.Cache<byte[], byte[]> entries;
    private final Bytes keyForm;
    private final Bytes valueForm;
    private final Expiry expiry;
    private final Backing<K, V> backing;
    private final Listeners<K, V> listeners = new Listeners<>();
    private final Statistics statistics = new Statistics();
    private final ReentrantLock[] locks = Stream.generate(ReentrantLock::new).limit(LOCKS)
            .toArray(ReentrantLock[]::new);
    private volatile boolean closed;

    GridCache(GridCacheManager manager, String name, MutableConfiguration<K, V> configuration, Grid grid,
            tutti.grid.api.Cache<byte[], byte[]> entries) {
        this.manager = manager;
        this.name = name;
        this.prefix = Serializers.TEXT.write(name + '\0');
        this.configuration = configuration;
        this.grid = grid;
        this.entries = entries;
        this.keyForm = Bytes.ofKeys(manager.getClassLoader());
        this.valueForm = Bytes.ofValues(manager.getClassLoader());
        this.expiry = new Expiry(configuration.getExpiryPolicyFactory().create());
        this.backing = new Backing<>(configuration);
        configuration.getCacheEntryListenerConfigurations().forEach(listeners::add);
        enableManagement(configuration.isManagementEnabled());
        enableStatistics(configuration.isStatisticsEnabled());
    }

    // ------------------------------------------------------------------------------------------ for its parts

    MutableConfiguration<K, V> configuration() {
        return configuration;
    }

    Expiry expiry() {
        return expiry;
    }

    byte[] bytes(V value) {
        return valueForm.write(value);
    }

    @SuppressWarnings("unchecked")
    V value(byte[] from) {
        return (V) valueForm.read(from);
    }

    @Nullable
    V load(K key) {
        return backing.readThrough(key);
    }

    void writeThrough(K key, V value) {
        backing.write(key, value);
    }

    void deleteThrough(K key) {
        backing.delete(key);
    }

    /** Throws if an entry may not be so. */
    void check(K key, V value) {
        check("key", configuration.getKeyType(), key);
        check("value", configuration.getValueType(), value);
    }

    private void checkKey(K key) {
        checkOpen();
        check("key", configuration.getKeyType(), key);
    }

    private void check(String what, Class<?> type, @Nullable Object given) {
        if (!type.isInstance(Objects.requireNonNull(given, what))) {
            throw new ClassCastException("a " + what + " of cache '" + name + "' is a " + type.getName() + ", not a "
                    + given.getClass().getName());
        }
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException("cache '" + name + "' is closed");
        }
    }

    private void checkAll(Iterable<? extends K> keys) {
        checkOpen();
        for (K key : keys) {
            checkKey(key);
        }
    }

    private byte[] keyBytes(K key) {
        byte[] own = keyForm.write(key);
        byte[] whole = Arrays.copyOf(prefix, prefix.length + own.length);
        System.arraycopy(own, 0, whole, prefix.length, own.length);
        return whole;
    }

    @SuppressWarnings("unchecked")
    private K key(byte[] whole) {
        return (K) keyForm.read(Arrays.copyOfRange(whole, prefix.length, whole.length));
    }

    // ------------------------------------------------------------------------------------------ transactions

    /** Changes an entry. A listener, processor or the like that does so has the lock of another one already: it does not wait for this one, whose holder may wait for that. */
    private <R extends @Nullable Object> R change(K key, Function<Step<K, V>, R> work) {
        byte[] keyBytes = keyBytes(key);
        ReentrantLock lock = locks[Math.floorMod(Arrays.hashCode(keyBytes), LOCKS)];
        boolean inner = CHANGES.get();
        boolean locked = !inner || lock.tryLock();
        if (!inner) {
            lock.lock();
            CHANGES.set(true);
        }
        try {
            return run(key, keyBytes, work);
        } finally {
            if (!inner) {
                CHANGES.remove();
            }
            if (locked) {
                lock.unlock();
            }
        }
    }

    private <R extends @Nullable Object> R run(K key, byte[] keyBytes, Function<Step<K, V>, R> work) {
        long begin = System.nanoTime();
        AtomicReference<Step<K, V>> last = new AtomicReference<>();
        R result = asking(() -> grid.transact(IsolationLevel.REPEATABLE_READ_WRITE_SKEW, in -> {
            Step<K, V> step = new Step<>(this, entries, in, key, keyBytes);
            last.set(step);
            return work.apply(step);
        }));
        Step<K, V> committed = last.get();
        if (configuration.isStatisticsEnabled()) {
            statistics.add(committed.counts(), System.nanoTime() - begin);
        }
        Listeners.Event<K, V> event = listeners.isEmpty() ? null : committed.event();
        if (event != null) {
            listeners.tell(event);
        }
        return result;
    }

    private interface Work<T extends @Nullable Object> {
        T run();
    }

    private <T extends @Nullable Object> T asking(Work<T> work) {
        try {
            return work.run();
        } catch (GridException why) {
            throw new CacheException("cache '" + name + "': " + why.getMessage(), why);
        }
    }

    private List<byte[]> allKeys() {
        checkOpen();
        return asking(() -> grid.readOnly(in -> entries.keys(in, prefix)));
    }

    // ------------------------------------------------------------------------------------------ reading

    @Override
    public @Nullable V get(K key) {
        checkKey(key);
        return run(key, keyBytes(key), step -> {
            V found = step.lookedFor();
            if (found != null) {
                step.accessed();
                return found;
            }
            V loaded = load(key);
            if (loaded != null) {
                step.write(loaded);
            }
            return loaded;
        });
    }

    @Override
    public Map<K, V> getAll(Set<? extends K> keys) {
        checkAll(keys);
        Map<K, V> found = new HashMap<>();
        List<K> missing = new ArrayList<>();
        for (K key : keys) {
            V value = find(key);
            if (value == null) {
                missing.add(key);
            } else {
                found.put(key, value);
            }
        }
        if (!missing.isEmpty()) {
            backing.readThrough(missing).forEach((key, value) -> found.put(key, fill(key, value)));
        }
        return found;
    }

    /** Writes what was loaded before, unless something has come to be there meanwhile: that is newer. Returns what is there. */
    private V fill(K key, V loaded) {
        return change(key, step -> {
            V meanwhile = step.old();
            if (meanwhile != null) {
                return meanwhile;
            }
            step.write(loaded);
            return loaded;
        });
    }

    /** What is there, counted and renewed as by reading, but not loaded. */
    private @Nullable V find(K key) {
        return run(key, keyBytes(key), step -> {
            V value = step.lookedFor();
            step.accessed();
            return value;
        });
    }

    @Override
    public boolean containsKey(K key) {
        checkKey(key);
        return run(key, keyBytes(key), step -> step.old() != null);
    }

    @Override
    public Iterator<Entry<K, V>> iterator() {
        Iterator<byte[]> keys = allKeys().iterator();
        return new Iterator<>() {
            private @Nullable Entry<K, V> next;
            private @Nullable Entry<K, V> last;

            @Override
            public boolean hasNext() {
                checkOpen();
                while (next == null && keys.hasNext()) {
                    K key = key(keys.next());
                    V value = find(key);
                    next = value == null ? null : new Backing.Written<>(key, value);
                }
                return next != null;
            }

            @Override
            public Entry<K, V> next() {
                Entry<K, V> now = hasNext() ? next : null;
                if (now == null) {
                    throw new NoSuchElementException("there are no further entries");
                }
                last = now;
                next = null;
                return now;
            }

            @Override
            public void remove() {
                Entry<K, V> which = last;
                if (which == null) {
                    throw new IllegalStateException("there is no entry to be removed");
                }
                last = null;
                var _ = GridCache.this.remove(which.getKey());
            }
        };
    }

    @Override
    public void loadAll(Set<? extends K> keys, boolean replaceExistingValues, @Nullable CompletionListener listener) {
        checkAll(keys);
        List<K> all = List.copyOf(keys);
        Thread.ofVirtual().name("jcache load").start(() -> {
            try {
                load(all, replaceExistingValues);
            } catch (Throwable failed) {
                if (listener != null) {
                    listener.onException(failed instanceof CacheException known
                            ? known
                            : new CacheLoaderException(failed));
                }
                return;
            }
            if (listener != null) {
                listener.onCompletion();
            }
        });
    }

    private void load(List<K> keys, boolean replace) {
        List<K> wanted = keys.stream().filter(key -> replace || !containsKey(key)).toList();
        if (backing.hasLoader() && !wanted.isEmpty()) {
            backing.load(wanted).forEach((key, value) -> {
                check(key, value);
                var _ = replace ? change(key, step -> step.write(value)) : fill(key, value);
            });
        }
    }

    // ------------------------------------------------------------------------------------------ writing

    private @Nullable V put(Step<K, V> step, V value) {
        writeThrough(step.key(), value);
        step.put(value);
        return step.old();
    }

    @Override
    public void put(K key, V value) {
        checkOpen();
        check(key, value);
        var _ = change(key, step -> put(step, value));
    }

    @Override
    public @Nullable V getAndPut(K key, V value) {
        checkOpen();
        check(key, value);
        return change(key, step -> {
            step.lookedFor();
            return put(step, value);
        });
    }

    @Override
    public void putAll(Map<? extends K, ? extends V> map) {
        checkOpen();
        map.forEach(this::check);
        backing.writeAll(map, written -> written.forEach((key, value) -> {
            var _ = change(key, step -> {
                step.put(value);
                return value;
            });
        }));
    }

    @Override
    public boolean putIfAbsent(K key, V value) {
        checkOpen();
        check(key, value);
        return change(key, step -> {
            if (step.lookedFor() != null) {
                return false;
            }
            put(step, value);
            return true;
        });
    }

    private boolean remove(Step<K, V> step) {
        deleteThrough(step.key());
        return step.remove();
    }

    @Override
    public boolean remove(K key) {
        checkKey(key);
        return change(key, this::remove);
    }

    /** Whether an entry is as it is expected to be; if not, it was read. */
    private boolean is(Step<K, V> step, V expected) {
        if (expected.equals(step.lookedFor())) {
            return true;
        }
        step.accessed();
        return false;
    }

    @Override
    public boolean remove(K key, V oldValue) {
        checkOpen();
        check(key, oldValue);
        return change(key, step -> is(step, oldValue) && remove(step));
    }

    @Override
    public @Nullable V getAndRemove(K key) {
        checkKey(key);
        return change(key, step -> {
            step.lookedFor();
            remove(step);
            return step.old();
        });
    }

    @Override
    public boolean replace(K key, V oldValue, V newValue) {
        checkOpen();
        check(key, oldValue);
        check(key, newValue);
        return change(key, step -> {
            boolean as = is(step, oldValue);
            if (as) {
                put(step, newValue);
            }
            return as;
        });
    }

    @Override
    public boolean replace(K key, V value) {
        return getAndReplace(key, value) != null;
    }

    @Override
    public @Nullable V getAndReplace(K key, V value) {
        checkOpen();
        check(key, value);
        return change(key, step -> step.lookedFor() == null ? null : put(step, value));
    }

    @Override
    public void removeAll(Set<? extends K> keys) {
        checkAll(keys);
        backing.deleteAll(keys, deleted -> deleted.forEach(key -> {
            var _ = change(key, Step::remove);
        }));
    }

    @Override
    public void removeAll() {
        List<K> keys = allKeys().stream().map(this::key).toList();
        backing.deleteAll(keys, deleted -> deleted.forEach(key -> {
            var _ = change(key, Step::remove);
        }));
    }

    @Override
    public void clear() {
        List<byte[]> keys = allKeys();
        for (int i = 0; i < keys.size(); i += CLEARED_AT_ONCE) {
            List<byte[]> some = keys.subList(i, Math.min(i + CLEARED_AT_ONCE, keys.size()));
            var _ = asking(() -> grid.transact(IsolationLevel.READ_COMMITTED, in -> {
                some.forEach(key -> entries.remove(in, key));
                return some;
            }));
        }
    }

    // ------------------------------------------------------------------------------------------ processors

    @Override
    public <T> @Nullable T invoke(K key, EntryProcessor<K, V, T> processor, Object... arguments) {
        checkKey(key);
        Objects.requireNonNull(processor, "processor");
        return change(key, step -> {
            ProcessedEntry<K, V> entry = new ProcessedEntry<>(this, step);
            T result;
            try {
                result = processor.process(entry, arguments);
            } catch (CacheException known) {
                throw known;
            } catch (RuntimeException thrown) {
                throw new EntryProcessorException(thrown);
            }
            entry.finish();
            return result;
        });
    }

    @Override
    public <T> Map<K, EntryProcessorResult<T>> invokeAll(Set<? extends K> keys, EntryProcessor<K, V, T> processor,
            Object... arguments) {
        checkAll(keys);
        Objects.requireNonNull(processor, "processor");
        Map<K, EntryProcessorResult<T>> results = new HashMap<>();
        for (K key : keys) {
            try {
                T result = invoke(key, processor, arguments);
                if (result != null) {
                    results.put(key, () -> result);
                }
            } catch (CacheException failure) {
                EntryProcessorException wrapped = failure instanceof EntryProcessorException known
                        ? known
                        : new EntryProcessorException(failure);
                results.put(key, () -> {
                    throw wrapped;
                });
            }
        }
        return results;
    }

    // ------------------------------------------------------------------------------------------ everything else

    @Override
    public String getName() {
        return name;
    }

    @Override
    public CacheManager getCacheManager() {
        return manager;
    }

    @Override
    public <C extends Configuration<K, V>> C getConfiguration(Class<C> type) {
        Configuration<K, V> copy = new MutableConfiguration<>(configuration);
        if (type.isInstance(copy)) {
            return type.cast(copy);
        }
        throw new IllegalArgumentException("the configuration of a cache is no " + type.getName());
    }

    @Override
    public void registerCacheEntryListener(CacheEntryListenerConfiguration<K, V> listener) {
        checkOpen();
        configuration.addCacheEntryListenerConfiguration(listener);
        listeners.add(listener);
    }

    @Override
    public void deregisterCacheEntryListener(CacheEntryListenerConfiguration<K, V> listener) {
        checkOpen();
        configuration.removeCacheEntryListenerConfiguration(listener);
        listeners.remove(listener);
    }

    void enableManagement(boolean enabled) {
        configuration.setManagementEnabled(enabled);
        Management.show(this, "CacheConfiguration", new Management.Shown(configuration), enabled);
    }

    void enableStatistics(boolean enabled) {
        configuration.setStatisticsEnabled(enabled);
        Management.show(this, "CacheStatistics", statistics, enabled);
    }

    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        enableManagement(false);
        enableStatistics(false);
        listeners.close();
        backing.close();
        Closing.close(expiry.policy());
        manager.closed(this);
    }

    @Override
    public boolean isClosed() {
        return closed;
    }

    @Override
    public <T> T unwrap(Class<T> type) {
        if (type.isInstance(this)) {
            return type.cast(this);
        }
        throw new IllegalArgumentException("a cache is no " + type.getName());
    }
}
