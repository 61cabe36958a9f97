package tutti.spring;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.cache.support.AbstractValueAdaptingCache;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.api.Cache;
import tutti.grid.api.Grid;
import tutti.grid.api.Transaction;

/** One cache of {@link GridCacheManager}. */
final class CacheOverGrid extends AbstractValueAdaptingCache {
    /** How many keys are removed in one transaction when all are. */
    private static final int CLEARED_TOGETHER = 500;

    private final Grid grid;
    private final String name;
    private final Cache<Object, Object> cache;
    private final Map<Object, Loading> loading = new ConcurrentHashMap<>();

    /** A value that a thread is about to find out. */
    private record Loading(Thread by, CompletableFuture<@Nullable Object> value) {
        /** For which threads wait, of all caches. Guarded by itself. */
        private static final Map<Thread, Loading> AWAITED = new HashMap<>();

        /**
         * Has this thread wait for it, until {@link #awaited}, unless that would be for ever: who loads it waits for what this thread loads, or for who waits for
         * that, and so on.
         *
         * @return whether it may
         * @throws ValueRetrievalException if this thread loads it itself
         */
        boolean mayBeAwaited(Object key, Callable<?> loader) {
            Thread here = Thread.currentThread();
            if (by.equals(here)) {
                throw new ValueRetrievalException(key, loader,
                        new IllegalStateException("the loader of this key asks for it again"));
            }
            synchronized (AWAITED) {
                for (Loading next = this; next != null && !next.value.isDone(); next = AWAITED.get(next.by)) {
                    if (next.by.equals(here)) {
                        return false;
                    }
                }
                AWAITED.put(here, this);
                return true;
            }
        }

        static void awaited() {
            synchronized (AWAITED) {
                AWAITED.remove(Thread.currentThread());
            }
        }
    }

    CacheOverGrid(Grid grid, String name, Cache<Object, Object> cache) {
        super(true);
        this.grid = grid;
        this.name = name;
        this.cache = cache;
    }

    @Override
    public String getName() {
        return name;
    }

    /** The grid's cache, whose keys and values are objects, and null a value of its own. */
    @Override
    public Object getNativeCache() {
        return cache;
    }

    // ------------------------------------------------------------------------------------------ transactions

    /** The transaction that calls of this thread are a part of; null if each is one of its own, as it is in one that only reads. */
    private @Nullable GridTransactionHolder around() {
        GridTransactionHolder held = GridTransactionHolder.of(grid);
        return held == null || held.isReadOnly() ? null : held;
    }

    private <T> T read(Function<Transaction, T> work) {
        GridTransactionHolder around = around();
        try {
            return around == null ? grid.readOnly(work) : work.apply(around.use());
        } catch (GridException why) {
            throw GridExceptions.of(why);
        }
    }

    private <T> T change(Function<Transaction, T> work) {
        GridTransactionHolder around = around();
        try {
            return around == null
                    ? grid.transact(IsolationLevel.REPEATABLE_READ_WRITE_SKEW, work)
                    : work.apply(around.use());
        } catch (GridException why) {
            throw GridExceptions.of(why);
        }
    }

    private Object stored(@Nullable Object value) {
        return Objects.requireNonNull(toStoreValue(value), "null is stored as a value of its own");
    }

    // ------------------------------------------------------------------------------------------ operations

    @Override
    protected @Nullable Object lookup(Object key) {
        return read(in -> cache.get(in, key)).orElse(null);
    }

    /**
     * Likewise, or loads it. Unless the call is a part of a transaction, one thread of this node loads a value, and others that want it wait for that; but for one that
     * loads what the first one waits for.
     *
     * @throws ValueRetrievalException as the loader failed
     */
    @Override
    @SuppressWarnings("unchecked") // As the interface has it: the caller says what it has put.
    public <T> @Nullable T get(Object key, Callable<T> loader) {
        ValueWrapper found = get(key);
        if (found != null) {
            return (T) found.get();
        }
        if (around() != null) {
            return loadAndPut(key, loader);
        }
        Loading mine = new Loading(Thread.currentThread(), new CompletableFuture<>());
        Loading others = loading.putIfAbsent(key, mine);
        if (others != null) {
            return others.mayBeAwaited(key, loader) ? (T) await(key, others, loader) : loadAndPut(key, loader);
        }
        try {
            ValueWrapper meanwhile = get(key);
            T value = meanwhile == null ? loadAndPut(key, loader) : (T) meanwhile.get();
            mine.value.complete(value);
            return value;
        } catch (RuntimeException | Error why) {
            mine.value.completeExceptionally(why);
            throw why;
        } finally {
            loading.remove(key, mine);
        }
    }

    private <T> T loadAndPut(Object key, Callable<T> loader) {
        T value = load(key, loader);
        put(key, value);
        return value;
    }

    private static @Nullable Object await(Object key, Loading others, Callable<?> loader) {
        try {
            return others.value.join();
        } catch (CompletionException failed) {
            throw failed.getCause() instanceof ValueRetrievalException why
                    ? new ValueRetrievalException(key, loader, why.getCause() == null ? why : why.getCause())
                    : new ValueRetrievalException(key, loader, failed.getCause() == null ? failed : failed.getCause());
        } finally {
            Loading.awaited();
        }
    }

    private static <T> T load(Object key, Callable<T> loader) {
        try {
            return loader.call();
        } catch (Exception why) {
            throw new ValueRetrievalException(key, loader, why);
        }
    }

    @Override
    public void put(Object key, @Nullable Object value) {
        Object stored = stored(value);
        boolean _ = change(in -> {
            cache.put(in, key, stored);
            return true;
        });
    }

    @Override
    public @Nullable ValueWrapper putIfAbsent(Object key, @Nullable Object value) {
        Object stored = stored(value);
        return toValueWrapper(change(in -> {
            var before = cache.get(in, key);
            if (before.isEmpty()) {
                cache.put(in, key, stored);
            }
            return before;
        }).orElse(null));
    }

    @Override
    public void evict(Object key) {
        boolean _ = change(in -> {
            cache.remove(in, key);
            return true;
        });
    }

    @Override
    public boolean evictIfPresent(Object key) {
        return change(in -> {
            boolean there = cache.get(in, key).isPresent();
            if (there) {
                cache.remove(in, key);
            }
            return there;
        });
    }

    /** Removes the keys that a snapshot has, and those that this transaction has put; every node is asked. Outside of a transaction some at a time. */
    @Override
    public void clear() {
        boolean _ = invalidate();
    }

    @Override
    public boolean invalidate() {
        List<Object> keys = new ArrayList<>();
        try {
            keys.addAll(grid.readOnly(cache::keys));
            GridTransactionHolder around = around();
            if (around != null) {
                keys.addAll(cache.written(around.use()));
            }
        } catch (GridException why) {
            throw GridExceptions.of(why);
        }
        for (int from = 0; from < keys.size(); from += CLEARED_TOGETHER) {
            List<Object> some = keys.subList(from, Math.min(keys.size(), from + CLEARED_TOGETHER));
            boolean _ = change(in -> {
                some.forEach(key -> cache.remove(in, key));
                return true;
            });
        }
        return !keys.isEmpty();
    }
}
