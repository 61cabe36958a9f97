package tutti.jcache;

import java.net.URI;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.WeakHashMap;
import java.util.function.Predicate;
import javax.cache.CacheManager;
import javax.cache.configuration.OptionalFeature;
import javax.cache.spi.CachingProvider;
import org.jspecify.annotations.Nullable;

/**
 * Makes cache managers over grids. Any thread. The properties of a manager:
 * <ul>
 * <li>{@value #GRID}: the {@link tutti.grid.api.Grid} itself, as an object, which stays open when the manager is closed. Without it the manager opens
 * a grid of one node for itself, in this process alone: nothing is replicated.
 * <li>{@value #GRID_CACHE}: the grid's cache that has all entries of the manager's caches, {@value #GRID_CACHE_DEFAULT} unless said otherwise. Managers of all
 * nodes share those of the same name.
 * </ul>
 */
public final class GridCachingProvider implements CachingProvider {
    /** Property of managers. */
    public static final String GRID = "tutti.grid";
    /** Property of managers. */
    public static final String GRID_CACHE = "tutti.grid.cache";
    /** What it is unless said otherwise. */
    public static final String GRID_CACHE_DEFAULT = "jcache";

    private final Map<ClassLoader, Map<URI, GridCacheManager>> managers = new WeakHashMap<>();

    /** For {@link java.util.ServiceLoader}. */
    public GridCachingProvider() {}

    @Override
    public synchronized CacheManager getCacheManager(@Nullable URI uri, @Nullable ClassLoader classLoader,
            @Nullable Properties properties) {
        URI named = uri == null ? getDefaultURI() : uri;
        ClassLoader loader = classLoader == null ? getDefaultClassLoader() : classLoader;
        Map<URI, GridCacheManager> ofLoader = managers.computeIfAbsent(loader, _ -> new HashMap<>());
        GridCacheManager known = ofLoader.get(named);
        if (known != null && !known.isClosed()) {
            known.checkGrid(properties);
            return known;
        }
        GridCacheManager made = new GridCacheManager(this, named, loader,
                properties == null ? getDefaultProperties() : properties);
        ofLoader.put(named, made);
        return made;
    }

    @Override
    public CacheManager getCacheManager(@Nullable URI uri, @Nullable ClassLoader classLoader) {
        return getCacheManager(uri, classLoader, null);
    }

    @Override
    public CacheManager getCacheManager() {
        return getCacheManager(null, null, null);
    }

    @Override
    public ClassLoader getDefaultClassLoader() {
        return Objects.requireNonNull(GridCachingProvider.class.getClassLoader());
    }

    @Override
    public URI getDefaultURI() {
        return URI.create("tutti:grid");
    }

    @Override
    public Properties getDefaultProperties() {
        return new Properties();
    }

    @Override
    public void close() {
        close(_ -> true);
    }

    @Override
    public void close(ClassLoader classLoader) {
        Objects.requireNonNull(classLoader, "classLoader");
        close(manager -> classLoader.equals(manager.getClassLoader()));
    }

    @Override
    public void close(URI uri, ClassLoader classLoader) {
        Objects.requireNonNull(uri, "uri");
        Objects.requireNonNull(classLoader, "classLoader");
        close(manager -> uri.equals(manager.getURI()) && classLoader.equals(manager.getClassLoader()));
    }

    private void close(Predicate<GridCacheManager> which) {
        List<GridCacheManager> closing;
        synchronized (this) {
            closing = managers.values().stream().flatMap(ofLoader -> ofLoader.values().stream()).filter(which)
                    .toList();
        }
        closing.forEach(GridCacheManager::close);
    }

    /** A manager is closed: the next of its name is another. */
    synchronized void closed(GridCacheManager manager) {
        for (Iterator<Map<URI, GridCacheManager>> all = managers.values().iterator(); all.hasNext();) {
            Map<URI, GridCacheManager> ofLoader = all.next();
            ofLoader.remove(manager.getURI(), manager);
            if (ofLoader.isEmpty()) {
                all.remove();
            }
        }
    }

    @Override
    public boolean isSupported(OptionalFeature feature) {
        return false;
    }
}
