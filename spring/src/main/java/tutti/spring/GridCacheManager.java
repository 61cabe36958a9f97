package tutti.spring;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanClassLoaderAware;
import org.springframework.cache.Cache;
import org.springframework.cache.CacheManager;
import org.springframework.util.ClassUtils;
import tutti.grid.api.Grid;
import tutti.grid.api.ObjectSerializer;

/**
 * Spring's caches over those of a grid: a cache is the grid's cache of the same name, so its degree and how long entries live are those
 * of the grid's configuration, and there are no others. Keys and values are serialized by {@link ObjectSerializer}, which says which equal
 * keys become equal bytes. Any thread.
 *
 * <p>
 * In a transaction of {@link GridTransactionManager} what is put and evicted is a part of it. Otherwise, and in one that only reads, each call is a transaction of its
 * own. A read outside of a transaction is of a snapshot: it finds what this node has committed, and may find for a moment what another has replaced.
 */
public final class GridCacheManager implements CacheManager, BeanClassLoaderAware {
    private final Grid grid;
    private final Map<String, Cache> caches = new ConcurrentHashMap<>();
    private @Nullable ClassLoader classLoader = ClassUtils.getDefaultClassLoader();

    /** @param grid which stays open when this is closed */
    public GridCacheManager(Grid grid) {
        this.grid = grid;
    }

    /** Whose classes cached objects are of. */
    @Override
    public void setBeanClassLoader(ClassLoader loader) {
        classLoader = loader;
    }

    @Override
    public @Nullable Cache getCache(String name) {
        return grid.cacheNames().contains(name) ? caches.computeIfAbsent(name, this::open) : null;
    }

    private Cache open(String name) {
        ClassLoader known = classLoader;
        ClassLoader loader = known == null ? ClassLoader.getSystemClassLoader() : known;
        return new CacheOverGrid(grid, name,
                grid.cache(name, ObjectSerializer.ofKeys(loader), new ObjectSerializer(loader)));
    }

    @Override
    public Collection<String> getCacheNames() {
        return List.copyOf(grid.cacheNames());
    }
}
