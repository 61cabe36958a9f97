package tutti.jcache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.Serializable;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import javax.cache.Cache;
import javax.cache.CacheException;
import javax.cache.CacheManager;
import javax.cache.configuration.Factory;
import javax.cache.configuration.MutableCacheEntryListenerConfiguration;
import javax.cache.configuration.MutableConfiguration;
import javax.cache.event.CacheEntryCreatedListener;
import javax.cache.event.CacheEntryUpdatedListener;
import javax.cache.integration.CacheLoader;
import javax.cache.integration.CacheWriter;
import javax.cache.integration.CacheWriterException;
import javax.cache.integration.CompletionListenerFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.GridConfig.CacheConfig;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.api.Grid;
import tutti.runtime.real.FreePorts;

/** What {@link SpecificationTest} does not know: caches of several nodes, over real sockets. */
class GridCacheTest {
    private static final int NODES = 2;

    private final List<Grid> grids = new ArrayList<>();
    private final GridCachingProvider provider = new GridCachingProvider();

    @BeforeEach
    void open() throws IOException {
        Map<Integer, InetSocketAddress> nodes = new HashMap<>();
        List<InetSocketAddress> free = FreePorts.addresses(NODES);
        for (int i = 0; i < NODES; i++) {
            nodes.put(i, free.get(i));
        }
        for (int i = 0; i < NODES; i++) {
            grids.add(Grid.open(GridConfig
                    .of("test", i, nodes, List.of(CacheConfig.of("jcache", 1)),
                            CommitProtocol.TOM_3)
                    .withHeartbeat(Duration.ofMillis(50), Duration.ofSeconds(20)), IsolationLevel.SERIALIZABLE));
        }
    }

    @AfterEach
    void close() {
        provider.close();
        grids.forEach(Grid::close);
    }

    private CacheManager manager(int node) {
        Properties properties = new Properties();
        properties.put(GridCachingProvider.GRID, grids.get(node));
        return provider.getCacheManager(URI.create("node:" + node), null, properties);
    }

    private <K, V> Cache<K, V> cache(int node, String name, Class<K> keys, Class<V> values) {
        return manager(node).createCache(name, new MutableConfiguration<K, V>().setTypes(keys, values));
    }

    @Test
    void nodesShareTheEntriesOfCachesOfTheSameName() {
        Cache<LocalDate, String> here = cache(0, "days", LocalDate.class, String.class);
        Cache<LocalDate, String> there = cache(1, "days", LocalDate.class, String.class);
        Cache<LocalDate, String> other = cache(0, "days off", LocalDate.class, String.class);
        for (int i = 1; i <= 20; i++) {
            here.put(LocalDate.ofYearDay(2026, i), "day " + i);
        }
        for (int i = 1; i <= 20; i++) {
            assertEquals("day " + i, there.get(LocalDate.ofYearDay(2026, i)));
        }
        there.removeAll(Set.of(LocalDate.ofYearDay(2026, 7)));
        Map<LocalDate, String> found = new HashMap<>();
        there.forEach(entry -> found.put(entry.getKey(), entry.getValue()));
        assertEquals(19, found.size());
        assertFalse(other.iterator().hasNext());
        other.put(LocalDate.EPOCH, "another cache's");
        here.clear();
        assertNull(here.get(LocalDate.ofYearDay(2026, 1)));
        assertTrue(other.containsKey(LocalDate.EPOCH));
    }

    @Test
    void processorsOfAllNodesCountUpAndLoseNothing() throws InterruptedException, ExecutionException {
        int each = 20;
        try (ExecutorService threads = Executors.newFixedThreadPool(2 * NODES)) {
            List<Cache<String, Integer>> caches = List.of(cache(0, "stock", String.class, Integer.class),
                    cache(1, "stock", String.class, Integer.class));
            List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < 2 * NODES; i++) {
                Cache<String, Integer> cache = caches.get(i % NODES);
                running.add(threads.submit(() -> {
                    for (int j = 0; j < each; j++) {
                        var _ = cache.invoke("apples", (entry, _) -> {
                            entry.setValue(entry.exists() ? entry.getValue() + 1 : 1);
                            return entry.getValue();
                        });
                    }
                }));
            }
            for (Future<?> one : running) {
                one.get();
            }
            Integer more = caches.getFirst().invoke("apples", (entry, _) -> entry.getValue() + 1);
            assertEquals(2 * NODES * each + 1, more);
        }
    }

    @Test
    void aChangeIsToldWhereItWasMade() {
        Cache<String, byte[]> here = cache(0, "pictures", String.class, byte[].class);
        Cache<String, byte[]> there = cache(1, "pictures", String.class, byte[].class);
        List<String> told = new CopyOnWriteArrayList<>();
        Factory<CacheEntryUpdatedListener<String, byte[]>> listener = () -> events -> events
                .forEach(event -> {
                    byte[] before = event.getOldValue();
                    byte[] after = event.getValue();
                    told.add(event.getKey() + " " + before[0] + " " + after[0]);
                });
        here.registerCacheEntryListener(new MutableCacheEntryListenerConfiguration<>(listener, null, true, true));
        here.put("a", new byte[]{1});
        here.put("a", new byte[]{2});
        there.put("a", new byte[]{3});
        assertArrayEquals(new byte[]{3}, here.getAndRemove("a"));
        assertEquals(List.of("a 1 2"), told);
    }

    /** Two threads, each with a listener that writes what the other one is telling of. */
    @Test
    void listenersDoNotWaitForEachOther() throws Exception {
        Cache<String, Integer> cache = cache(0, "stock", String.class, Integer.class);
        CyclicBarrier both = new CyclicBarrier(2);
        Factory<CacheEntryCreatedListener<String, Integer>> listener = () -> events -> events.forEach(event -> {
            try {
                both.await();
            } catch (InterruptedException | BrokenBarrierException broken) {
                throw new IllegalStateException(broken);
            }
            cache.put(event.getKey().equals("apples") ? "pears" : "apples", 1);
        });
        cache.registerCacheEntryListener(new MutableCacheEntryListenerConfiguration<>(listener, null, false, true));
        List<FutureTask<?>> putting = new ArrayList<>();
        for (String key : List.of("apples", "pears")) {
            FutureTask<?> task = new FutureTask<>(() -> cache.put(key, 0), true);
            putting.add(task);
            Thread.ofVirtual().start(task);
        }
        for (FutureTask<?> task : putting) {
            task.get(30, TimeUnit.SECONDS);
        }
        assertEquals(Map.of("apples", 1, "pears", 1), cache.getAll(Set.of("apples", "pears")));
    }

    private record Days(LocalDate from, LocalDate to) implements Serializable {}

    @Test
    void equalKeysAreTheSameWhicheverOfTheirPartsAreOneObject() {
        Cache<Days, Integer> cache = cache(0, "prices", Days.class, Integer.class);
        LocalDate day = LocalDate.ofYearDay(2026, 1);
        cache.put(new Days(day, day), 7);
        Days equal = new Days(LocalDate.ofYearDay(2026, 1), LocalDate.ofYearDay(2026, 1));
        assertEquals(7, cache.get(equal));
        assertTrue(cache.remove(equal));
        assertNull(cache.get(new Days(day, day)));
    }

    /** What was put while a loader was at work is newer than what it brings. */
    @Test
    void whatWasLoadedDoesNotReplaceWhatWasPutMeanwhile() throws InterruptedException, ExecutionException {
        Cache<String, Integer> there = cache(1, "loaded", String.class, Integer.class);
        Factory<CacheLoader<String, Integer>> loaders = () -> new CacheLoader<>() {
            @Override
            public Integer load(String key) {
                if (key.equals("wrong")) {
                    throw new AssertionError(key);
                }
                there.put(key, 2);
                return 1;
            }

            @Override
            public Map<String, Integer> loadAll(Iterable<? extends String> keys) {
                Map<String, Integer> loaded = new HashMap<>();
                keys.forEach(key -> loaded.put(key, load(key)));
                return loaded;
            }
        };
        Cache<String, Integer> here = manager(0).createCache("loaded", new MutableConfiguration<String, Integer>()
                .setTypes(String.class, Integer.class).setReadThrough(true).setCacheLoaderFactory(loaders));
        assertEquals(2, here.get("one"));
        assertEquals(Map.of("two", 2, "three", 2), here.getAll(Set.of("two", "three")));
        assertEquals(2, here.get("two"));
        CompletionListenerFuture loaded = new CompletionListenerFuture();
        here.loadAll(Set.of("four"), false, loaded);
        loaded.get();
        assertEquals(2, here.get("four"));
        CompletionListenerFuture replaced = new CompletionListenerFuture();
        here.loadAll(Set.of("four"), true, replaced);
        replaced.get();
        assertEquals(1, here.get("four"));
        CompletionListenerFuture failed = new CompletionListenerFuture();
        here.loadAll(Set.of("wrong"), true, failed);
        ExecutionException why = assertThrows(ExecutionException.class, failed::get);
        assertTrue(why.getCause() instanceof CacheException, why.toString());
    }

    @Test
    void whatTheWriterRefusesIsNotInTheGrid() {
        Factory<CacheWriter<String, String>> writers = () -> new CacheWriter<>() {
            @Override
            public void write(Cache.Entry<? extends String, ? extends String> entry) {
                if (entry.getValue().equals("wrong")) {
                    throw new IllegalArgumentException(entry.getValue());
                }
            }

            @Override
            public void writeAll(Collection<Cache.Entry<? extends String, ? extends String>> entries) {
                entries.removeIf(entry -> {
                    write(entry);
                    return true;
                });
            }

            @Override
            public void delete(Object key) {
                // It is gone.
            }

            @Override
            public void deleteAll(Collection<?> keys) {
                keys.clear();
            }
        };
        Cache<String, String> cache = manager(0).createCache("written", new MutableConfiguration<String, String>()
                .setTypes(String.class, String.class).setWriteThrough(true).setCacheWriterFactory(writers));
        cache.put("key", "right");
        assertThrows(CacheWriterException.class, () -> cache.put("key", "wrong"));
        assertThrows(CacheWriterException.class, () -> cache.putAll(Map.of("other", "wrong")));
        assertEquals("right", cache.get("key"));
        assertNull(cache.get("other"));
    }

    @Test
    void whatCannotBeDoneIsToldWithItsCause() {
        Properties text = new Properties();
        text.setProperty(GridCachingProvider.GRID, "grid");
        assertThrows(CacheException.class, () -> provider.getCacheManager(URI.create("text"), null, text));
        Properties unknown = new Properties();
        unknown.put(GridCachingProvider.GRID, grids.getFirst());
        unknown.put(GridCachingProvider.GRID_CACHE, "none");
        assertThrows(IllegalArgumentException.class,
                () -> provider.getCacheManager(URI.create("unknown"), null, unknown));
        assertThrows(IllegalArgumentException.class, () -> cache(0, "objects\0a", String.class, Object.class));
        Cache<String, Object> cache = cache(0, "objects", String.class, Object.class);
        Properties other = new Properties();
        other.put(GridCachingProvider.GRID, grids.getLast());
        assertThrows(CacheException.class, () -> provider.getCacheManager(URI.create("node:0"), null, other));
        assertEquals(manager(0), provider.getCacheManager(URI.create("node:0"), null, new Properties()));
        assertThrows(CacheException.class, () -> cache.put("key", new Object()));
        grids.getFirst().close();
        CacheException closed = assertThrows(CacheException.class, () -> cache.put("key", 1));
        assertEquals(GridException.Reason.CLOSED, ((GridException) closed.getCause()).reason());
    }

    @Test
    void aManagerWithoutAGridIsForItselfAndAGivenGridStaysOpen() {
        manager(0).close();
        assertEquals(NODES, grids.getFirst().status().members().size());
        try (CacheManager alone = provider.getCacheManager()) {
            Cache<String, String> cache = alone.createCache("alone", new MutableConfiguration<>());
            cache.put("key", "value");
            assertEquals("value", cache.get("key"));
            assertEquals(1, alone.unwrap(Grid.class).status().members().size());
        }
    }
}
