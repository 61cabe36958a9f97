package tutti.jcache;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import javax.cache.Cache;
import javax.cache.configuration.CompleteConfiguration;
import javax.cache.configuration.Factory;
import javax.cache.integration.CacheLoader;
import javax.cache.integration.CacheLoaderException;
import javax.cache.integration.CacheWriter;
import javax.cache.integration.CacheWriterException;
import org.jspecify.annotations.Nullable;

/** What is behind a cache, if the application has something there: where entries are loaded from and written to. Any thread. */
final class Backing<K, V> {
    private final @Nullable CacheLoader<K, V> loader;
    private final boolean readThrough;
    private final @Nullable CacheWriter<? super K, ? super V> writer;

    /** An entry for the writer. */
    record Written<K, V>(K key, V value) implements Cache.Entry<K, V> {
        @Override
        public K getKey() {
            return key;
        }

        @Override
        public V getValue() {
            return value;
        }

        @Override
        public <T> T unwrap(Class<T> type) {
            if (type.isInstance(this)) {
                return type.cast(this);
            }
            throw new IllegalArgumentException("an entry is no " + type.getName());
        }
    }

    Backing(CompleteConfiguration<K, V> configuration) {
        Factory<CacheLoader<K, V>> loaders = configuration.getCacheLoaderFactory();
        Factory<CacheWriter<? super K, ? super V>> writers = configuration.getCacheWriterFactory();
        this.loader = loaders == null ? null : loaders.create();
        this.readThrough = configuration.isReadThrough();
        this.writer = writers == null || !configuration.isWriteThrough() ? null : writers.create();
    }

    boolean hasLoader() {
        return loader != null;
    }

    /** What reading an entry that is not there loads; null if it is not loaded. */
    @Nullable
    V readThrough(K key) {
        CacheLoader<K, V> from = loader;
        return from == null || !readThrough ? null : loading(() -> from.load(key));
    }

    /** The same of several. */
    Map<K, V> readThrough(Iterable<? extends K> keys) {
        return readThrough ? load(keys) : Map.of();
    }

    /** Loads what there is. */
    Map<K, V> load(Iterable<? extends K> keys) {
        CacheLoader<K, V> from = loader;
        if (from == null) {
            return Map.of();
        }
        Map<K, @Nullable V> loaded = loading(() -> from.loadAll(keys));
        Map<K, V> there = new HashMap<>();
        if (loaded != null) {
            for (K key : keys) {
                V value = loaded.get(key);
                if (value != null) {
                    there.put(key, value);
                }
            }
        }
        return there;
    }

    private static <T extends @Nullable Object> T loading(Supplier<T> work) {
        try {
            return work.get();
        } catch (CacheLoaderException known) {
            throw known;
        } catch (RuntimeException thrown) {
            throw new CacheLoaderException(thrown);
        }
    }

    void write(K key, V value) {
        if (writer != null) {
            writing(() -> writer.write(new Written<>(key, value)));
        }
    }

    void delete(K key) {
        if (writer != null) {
            writing(() -> writer.delete(key));
        }
    }

    /** Writes entries, and says which have been; what the writer has thrown is thrown when the caller has done those. */
    void writeAll(Map<? extends K, ? extends V> map, Consumer<Map<K, V>> written) {
        Map<K, V> all = new HashMap<>(map);
        List<Cache.Entry<? extends K, ? extends V>> left = new ArrayList<>();
        all.forEach((key, value) -> left.add(new Written<>(key, value)));
        CacheWriterException failure = writer == null || left.isEmpty() ? null : failure(() -> writeAll(left));
        if (failure != null) {
            left.forEach(entry -> all.remove(entry.getKey()));
        }
        written.accept(all);
        if (failure != null) {
            throw failure;
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private void writeAll(Collection<Cache.Entry<? extends K, ? extends V>> left) {
        if (writer != null) {
            writer.writeAll((Collection) left);
        }
    }

    /** Deletes entries, as {@link #writeAll}. */
    void deleteAll(Collection<? extends K> keys, Consumer<List<K>> deleted) {
        List<K> all = new ArrayList<>(keys);
        List<Object> left = new ArrayList<>(keys);
        CacheWriterException failure = writer == null || left.isEmpty() ? null : failure(() -> writer.deleteAll(left));
        if (failure != null) {
            all.removeAll(left);
        }
        deleted.accept(all);
        if (failure != null) {
            throw failure;
        }
    }

    private static void writing(Runnable work) {
        CacheWriterException failure = failure(work);
        if (failure != null) {
            throw failure;
        }
    }

    private static @Nullable CacheWriterException failure(Runnable work) {
        try {
            work.run();
            return null;
        } catch (CacheWriterException known) {
            return known;
        } catch (RuntimeException thrown) {
            return new CacheWriterException(thrown);
        }
    }

    void close() {
        Closing.close(loader);
        Closing.close(writer);
    }
}
