package tutti.jcache;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import javax.cache.Cache;
import javax.cache.CacheException;
import javax.cache.CacheManager;
import javax.cache.configuration.CompleteConfiguration;
import javax.cache.configuration.Configuration;
import javax.cache.configuration.MutableConfiguration;
import javax.cache.spi.CachingProvider;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.IsolationLevel;
import tutti.grid.api.Grid;
import tutti.grid.api.Serializers;

/** The caches of one name and class loader; see {@link GridCachingProvider}. Any thread. */
final class GridCacheManager implements CacheManager {
    private static final Logger LOGGER = LoggerFactory.getLogger(GridCacheManager.class);

    private final GridCachingProvider provider;
    private final URI uri;
    private final ClassLoader classLoader;
    private final Properties properties;
    private final Grid grid;
    private final boolean ownsGrid;
    private final tutti.grid.api.Cache<byte[], byte[]> entries;
    private final Map<String, GridCache<?, ?>> caches = new LinkedHashMap<>();
    private boolean closed;

    GridCacheManager(GridCachingProvider provider, URI uri, ClassLoader classLoader, Properties properties) {
        this.provider = provider;
        this.uri = uri;
        this.classLoader = classLoader;
        this.properties = properties;
        String name = properties.getProperty(GridCachingProvider.GRID_CACHE, GridCachingProvider.GRID_CACHE_DEFAULT);
        Object given = properties.get(GridCachingProvider.GRID);
        if (given != null && !(given instanceof Grid)) {
            throw new CacheException("property " + GridCachingProvider.GRID + " is a " + given.getClass().getName()
                    + ": give the Grid itself, by Properties.put");
        }
        this.ownsGrid = given == null;
        this.grid = given instanceof Grid known ? known : alone(name);
        this.entries = grid.cache(name, Serializers.BYTES, Serializers.BYTES);
    }

    private static Grid alone(String name) {
        LOGGER.info("JCache without property {}: its entries are in this process only", GridCachingProvider.GRID);
        try {
            return Grid.open(GridConfig.of("alone", 0,
                    Map.of(0, new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)),
                    List.of(GridConfig.CacheConfig.of(name, 1)), CommitProtocol.TOM_3), IsolationLevel.SERIALIZABLE);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** Throws if somebody asks for this manager and gives another grid, which it would not use. */
    void checkGrid(@Nullable Properties given) {
        Object asked = given == null ? null : given.get(GridCachingProvider.GRID);
        if (asked != null && !asked.equals(grid)) {
            throw new CacheException("cache manager " + uri + " is over another grid than that of property "
                    + GridCachingProvider.GRID + ": close it first, or ask for one of another URI");
        }
    }

    @Override
    public CachingProvider getCachingProvider() {
        return provider;
    }

    @Override
    public URI getURI() {
        return uri;
    }

    @Override
    public ClassLoader getClassLoader() {
        return classLoader;
    }

    @Override
    public Properties getProperties() {
        return properties;
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException("cache manager " + uri + " is closed");
        }
    }

    @Override
    public synchronized <K, V, C extends Configuration<K, V>> Cache<K, V> createCache(String cacheName,
            C configuration) {
        checkOpen();
        Objects.requireNonNull(cacheName, "cacheName");
        Objects.requireNonNull(configuration, "configuration");
        if (cacheName.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("the name of a cache ends at character 0 in the keys of the grid, and '"
                    + cacheName.replace("\0", "\\0") + "' has one");
        }
        if (!configuration.isStoreByValue()) {
            throw new UnsupportedOperationException(
                    "cache '" + cacheName + "': entries of a grid are stored by value");
        }
        if (caches.containsKey(cacheName)) {
            throw new CacheException("there is a cache '" + cacheName + "' already");
        }
        GridCache<K, V> made = new GridCache<>(this, cacheName, complete(configuration), grid, entries);
        caches.put(cacheName, made);
        return made;
    }

    private static <K, V> MutableConfiguration<K, V> complete(Configuration<K, V> configuration) {
        if (configuration instanceof CompleteConfiguration<K, V> complete) {
            return new MutableConfiguration<>(complete);
        }
        return new MutableConfiguration<K, V>().setTypes(configuration.getKeyType(), configuration.getValueType());
    }

    @Override
    public synchronized <K, V> @Nullable Cache<K, V> getCache(String cacheName, Class<K> keyType,
            Class<V> valueType) {
        checkOpen();
        Objects.requireNonNull(cacheName, "cacheName");
        Objects.requireNonNull(keyType, "keyType");
        Objects.requireNonNull(valueType, "valueType");
        GridCache<?, ?> cache = caches.get(cacheName);
        if (cache == null) {
            return null;
        }
        Configuration<?, ?> configuration = cache.configuration();
        if (!configuration.getKeyType().equals(keyType) || !configuration.getValueType().equals(valueType)) {
            throw new ClassCastException("cache '" + cacheName + "' is of " + configuration.getKeyType() + " and "
                    + configuration.getValueType() + ", not of " + keyType + " and " + valueType);
        }
        return unchecked(cache);
    }

    @Override
    public synchronized <K, V> @Nullable Cache<K, V> getCache(String cacheName) {
        checkOpen();
        GridCache<?, ?> cache = caches.get(Objects.requireNonNull(cacheName, "cacheName"));
        return cache == null ? null : unchecked(cache);
    }

    /** As JCache has it: who asks without types says what they are. */
    @SuppressWarnings("unchecked")
    private static <K, V> Cache<K, V> unchecked(GridCache<?, ?> cache) {
        return (Cache<K, V>) cache;
    }

    @Override
    public synchronized Iterable<String> getCacheNames() {
        checkOpen();
        return List.copyOf(caches.keySet());
    }

    private @Nullable GridCache<?, ?> open(String cacheName) {
        checkOpen();
        return caches.get(Objects.requireNonNull(cacheName, "cacheName"));
    }

    @Override
    public void destroyCache(String cacheName) {
        GridCache<?, ?> cache;
        synchronized (this) {
            cache = open(cacheName);
        }
        if (cache != null) {
            cache.clear();
            cache.close();
        }
    }

    @Override
    public synchronized void enableManagement(String cacheName, boolean enabled) {
        GridCache<?, ?> cache = open(cacheName);
        if (cache != null) {
            cache.enableManagement(enabled);
        }
    }

    @Override
    public synchronized void enableStatistics(String cacheName, boolean enabled) {
        GridCache<?, ?> cache = open(cacheName);
        if (cache != null) {
            cache.enableStatistics(enabled);
        }
    }

    /** A cache is closed. */
    synchronized void closed(GridCache<?, ?> cache) {
        caches.remove(cache.getName(), cache);
    }

    @Override
    public void close() {
        List<GridCache<?, ?>> closing;
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            closing = new ArrayList<>(caches.values());
        }
        closing.forEach(GridCache::close);
        provider.closed(this);
        if (ownsGrid) {
            grid.close();
        }
    }

    @Override
    public synchronized boolean isClosed() {
        return closed;
    }

    @Override
    public <T> T unwrap(Class<T> type) {
        if (type.isInstance(this)) {
            return type.cast(this);
        }
        if (type.isInstance(grid)) {
            return type.cast(grid);
        }
        throw new IllegalArgumentException("a cache manager is no " + type.getName());
    }
}
