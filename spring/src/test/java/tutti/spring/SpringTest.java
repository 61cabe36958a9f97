package tutti.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.DayOfWeek;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.cache.annotation.CacheEvict;
import org.springframework.cache.annotation.CachePut;
import org.springframework.cache.annotation.Cacheable;
import org.springframework.cache.annotation.EnableCaching;
import org.springframework.cache.interceptor.SimpleKey;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.dao.ConcurrencyFailureException;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.QueryTimeoutException;
import org.springframework.transaction.CannotCreateTransactionException;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.NestedTransactionNotSupportedException;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionTimedOutException;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.api.Grid;
import tutti.grid.api.Serializers;
import tutti.runtime.real.FreePorts;

/** A grid of two nodes behind Spring's annotations, in a real context at each. */
@Timeout(60)
class SpringTest {
    private final List<Grid> grids = new ArrayList<>();
    private final List<AnnotationConfigApplicationContext> contexts = new ArrayList<>();
    private Shop here;
    private Shop there;

    @BeforeEach
    void open() throws IOException {
        List<InetSocketAddress> free = FreePorts.addresses(2);
        Map<Integer, InetSocketAddress> nodes = new TreeMap<>(Map.of(0, free.get(0), 1, free.get(1)));
        List<GridConfig.CacheConfig> caches = List.of(GridConfig.CacheConfig.of("prices", 2),
                GridConfig.CacheConfig.of("stock", 2));
        for (int node : nodes.keySet()) {
            Grid grid = Grid.open(GridConfig.of("shop", node, nodes, caches, CommitProtocol.TOM_3),
                    IsolationLevel.SERIALIZABLE);
            grids.add(grid);
            AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
            context.registerBean(Grid.class, () -> grid);
            context.register(Beans.class);
            context.refresh();
            contexts.add(context);
        }
        here = contexts.getFirst().getBean(Shop.class);
        there = contexts.getLast().getBean(Shop.class);
    }

    @AfterEach
    void close() {
        contexts.forEach(AnnotationConfigApplicationContext::close);
        grids.forEach(Grid::close);
    }

    /** What an application has. */
    @Configuration
    @EnableCaching
    @EnableTransactionManagement
    static class Beans {
        @Bean
        GridCacheManager caches(Grid grid) {
            return new GridCacheManager(grid);
        }

        @Bean
        GridTransactionManager transactions(Grid grid) {
            return new GridTransactionManager(grid);
        }

        @Bean
        Shop shop(Grid grid, GridTransactionManager transactions) {
            return new Shop(grid, transactions);
        }
    }

    static class Shop {
        final AtomicInteger looked = new AtomicInteger();
        private final GridTransactionManager transactions;
        private final tutti.grid.api.Cache<String, Integer> stock;

        Shop(Grid grid, GridTransactionManager transactions) {
            this.transactions = transactions;
            this.stock = grid.cache("stock", Serializers.TEXT, Serializers.compact(Integer.class));
        }

        AtomicInteger looked() {
            return looked;
        }

        @Cacheable("prices")
        @Nullable
        public Integer price(String of) {
            looked.incrementAndGet();
            return of.equals("nothing") ? null : of.length();
        }

        @Cacheable("prices")
        public List<DayOfWeek> days(List<DayOfWeek> key) {
            looked.incrementAndGet();
            return key;
        }

        @CachePut(cacheNames = "prices", key = "#of")
        public int setPrice(String of, int price) {
            return price;
        }

        @CacheEvict("prices")
        public void forget(String of) {}

        @CacheEvict(cacheNames = "prices", allEntries = true)
        public void forgetAll() {}

        @Transactional
        public void set(String what, int count) {
            stock.put(transactions.current(), what, count);
        }

        @Transactional(readOnly = true)
        public int count(String what) {
            return stock.get(transactions.current(), what).orElse(0);
        }

        @Transactional(propagation = Propagation.REQUIRES_NEW)
        public void setAlone(String what, int count) {
            set(what, count);
        }

        @Transactional
        public void add(String what, Runnable between) {
            int before = stock.get(transactions.current(), what).orElse(0);
            between.run();
            stock.put(transactions.current(), what, before + 1);
        }

        @Transactional
        public void doAll(Runnable work) {
            work.run();
        }

        @Transactional(readOnly = true)
        public void look(Runnable work) {
            work.run();
        }

        @Transactional(propagation = Propagation.NESTED)
        public void nested() {
            set("nested", 1);
        }

        void outside() {
            stock.put(transactions.current(), "outside", 1);
        }
    }

    // ------------------------------------------------------------------------------------------ caches

    @Test
    void whatOneNodeHasLookedUpTheOtherFinds() {
        assertEquals(5, here.price("pears"));
        assertEquals(5, here.price("pears"));
        assertEquals(1, here.looked().get());
        assertNull(here.price("nothing"));
        assertNull(here.price("nothing"));
        assertEquals(2, here.looked().get(), "that there is nothing is remembered, too");
        there.set("anything", 1);
        assertEquals(5, there.price("pears"));
        assertEquals(0, there.looked().get());
        assertEquals(List.of(DayOfWeek.MONDAY), here.days(List.of(DayOfWeek.MONDAY)));
        assertEquals(List.of(DayOfWeek.MONDAY), here.days(List.of(DayOfWeek.MONDAY)));
        assertEquals(3, here.looked().get());
    }

    @Test
    void whatIsEvictedIsLookedUpAgain() {
        here.setPrice("pears", 7);
        assertEquals(7, here.price("pears"));
        here.forget("pears");
        assertEquals(5, here.price("pears"));
        here.setPrice("plums", 8);
        here.forgetAll();
        assertEquals(5, here.price("pears"));
        assertEquals(5, here.price("plums"));
        assertEquals(3, here.looked().get());
    }

    @Test
    void whatATransactionHasPutIsEvictedWithAllElse() {
        here.setPrice("plums", 8);
        here.doAll(() -> {
            here.setPrice("pears", 7);
            here.forgetAll();
            assertEquals(5, here.price("pears"));
            here.setPrice("plums", 9);
        });
        assertEquals(5, here.price("pears"));
        assertEquals(9, here.price("plums"));
        here.doAll(() -> {
            here.setPrice("pears", 7);
            here.forgetAll();
        });
        assertEquals(5, here.price("pears"));
        assertEquals(2, here.looked().get());
    }

    @Test
    void whatIsPutInATransactionIsRolledBackWithIt() {
        assertThrows(IllegalStateException.class, () -> here.doAll(() -> {
            here.setPrice("pears", 7);
            here.set("pears", 3);
            assertEquals(7, here.price("pears"), "it sees what it has put");
            throw new IllegalStateException("given up");
        }));
        assertEquals(0, here.looked().get());
        assertEquals(0, here.count("pears"));
        assertEquals(5, here.price("pears"));
        here.doAll(() -> here.setPrice("pears", 7));
        assertEquals(7, here.price("pears"));
    }

    @Test
    void aTransactionThatReadsFillsCaches() {
        here.look(() -> assertEquals(5, here.price("pears")));
        assertEquals(5, here.price("pears"));
        assertEquals(1, here.looked().get());
    }

    @Test
    void oneThreadLoadsWhatSeveralWant() throws Exception {
        var cache = contexts.getFirst().getBean(GridCacheManager.class).getCache("prices");
        AtomicInteger loads = new AtomicInteger();
        CountDownLatch loading = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<Integer> first = threads.submit(() -> cache.get("figs", () -> {
                loading.countDown();
                go.await();
                return loads.incrementAndGet();
            }));
            loading.await();
            Future<Integer> second = threads.submit(() -> cache.get("figs", loads::incrementAndGet));
            go.countDown();
            assertEquals(1, first.get());
            assertEquals(1, second.get());
        }
        assertEquals(1, loads.get());
        var failed = assertThrows(org.springframework.cache.Cache.ValueRetrievalException.class,
                () -> cache.get("dates", () -> {
                    throw new IOException("no dates");
                }));
        assertEquals("no dates", failed.getCause().getMessage());
        var again = assertThrows(org.springframework.cache.Cache.ValueRetrievalException.class,
                () -> cache.get("nuts", () -> cache.get("nuts", () -> 1)));
        assertTrue(again.getCause().getCause().getMessage().contains("asks for it again"), again::toString);
        assertEquals(2, cache.get("dates", () -> 2), "the next one tries again");
    }

    /** In a transaction that only reads, too, each call is one of its own. */
    @Test
    void aTransactionThatReadsSeesWhatItHasPutAndEvicted() {
        var cache = cache();
        cache.put("plums", 1);
        AtomicInteger loads = new AtomicInteger();
        here.look(() -> {
            assertEquals(1, cache.get("plums").get());
            cache.evict("plums");
            assertNull(cache.get("plums"));
            cache.put("pears", 2);
            assertEquals(2, cache.get("pears").get());
            assertEquals(4, here.price("figs"));
            assertEquals(4, here.price("figs"));
            assertEquals(1, cache.get("nuts", loads::incrementAndGet));
            assertEquals(1, cache.get("nuts", loads::incrementAndGet));
        });
        assertEquals(1, here.looked().get());
    }

    @Test
    void oneTransactionThatReadsLoadsWhatSeveralWant() throws Exception {
        var cache = cache();
        CountDownLatch loading = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<?> first = threads.submit(() -> here.look(() -> assertEquals(1, cache.get("figs", () -> {
                loading.countDown();
                go.await();
                return 1;
            }))));
            loading.await();
            FutureTask<?> second = new FutureTask<>(
                    () -> here.look(() -> assertEquals(1, cache.get("figs", () -> 2))), true);
            awaitWaiting(Thread.ofPlatform().start(second));
            go.countDown();
            first.get();
            second.get();
        }
    }

    /** Until a thread waits for something, or has ended. */
    private static void awaitWaiting(Thread thread) {
        while (thread.getState() != Thread.State.WAITING && thread.isAlive()) {
            Thread.onSpinWait();
        }
    }

    @Test
    void twoLoadersThatWantWhatTheOtherLoadsDoNotWaitForEver() throws Exception {
        var cache = cache();
        CyclicBarrier both = new CyclicBarrier(2);
        FutureTask<Integer> first = new FutureTask<>(() -> cache.get("figs", () -> {
            both.await();
            return cache.get("nuts", () -> 10) + 1;
        }));
        FutureTask<Integer> second = new FutureTask<>(() -> cache.get("nuts", () -> {
            both.await();
            return cache.get("figs", () -> 20) + 2;
        }));
        Thread.ofVirtual().start(first);
        Thread.ofVirtual().start(second);
        // Whoever asks last loads what the other one is about to load.
        List<Integer> found = List.of(first.get(30, TimeUnit.SECONDS), second.get(30, TimeUnit.SECONDS));
        assertTrue(Set.of(List.of(23, 22), List.of(11, 13)).contains(found), found::toString);
    }

    /** Whether its parts are the same object or equal ones. */
    @Test
    void equalKeysOfSeveralPartsAreTheSameKey() {
        var cache = cache();
        String lisbon = "LIS";
        cache.put(new SimpleKey(lisbon, lisbon), 7);
        assertEquals(7, cache.get(new SimpleKey(lisbon, new String(lisbon))).get());
        cache.evict(new SimpleKey(new String(lisbon), new String(lisbon)));
        assertNull(cache.get(new SimpleKey(lisbon, lisbon)));
    }

    private org.springframework.cache.Cache cache() {
        return contexts.getFirst().getBean(GridCacheManager.class).getCache("prices");
    }

    @Test
    void cachesAreThoseOfTheGrid() {
        GridCacheManager caches = contexts.getFirst().getBean(GridCacheManager.class);
        assertEquals(List.of("prices", "stock"), List.copyOf(caches.getCacheNames()));
        assertNull(caches.getCache("others"));
        var prices = caches.getCache("prices");
        assertNull(prices.putIfAbsent("pears", 1));
        assertEquals(1, prices.putIfAbsent("pears", 2).get());
        assertTrue(prices.evictIfPresent("pears"));
        assertFalse(prices.evictIfPresent("pears"));
        assertFalse(prices.invalidate());
        assertThrows(IllegalArgumentException.class, () -> prices.put("pears", new Object()), "not serializable");
    }

    // ------------------------------------------------------------------------------------------ transactions

    @Test
    void whatIsDoneIsCommittedOrRolledBack() {
        here.set("pears", 3);
        assertEquals(3, here.count("pears"));
        assertThrows(IllegalStateException.class, () -> here.add("pears", () -> {
            throw new IllegalStateException("given up");
        }));
        assertEquals(3, here.count("pears"));
        there.add("pears", () -> {});
        assertEquals(4, there.count("pears"));
        assertThrows(IllegalTransactionStateException.class, here::outside);
    }

    @Test
    void whoHasReadWhatAnotherChangesFails() {
        here.set("pears", 1);
        ConcurrencyFailureException lost = assertThrows(ConcurrencyFailureException.class,
                () -> here.add("pears", () -> here.setAlone("pears", 10)));
        assertTrue(lost.getCause() instanceof GridException why && why.reason() == GridException.Reason.CONFLICT);
        assertEquals(10, here.count("pears"));
        here.add("pears", () -> {});
        assertEquals(11, here.count("pears"), "the thread has no transaction of before");
    }

    @Test
    void anInnerTransactionOfItsOwnStays() {
        assertThrows(IllegalStateException.class, () -> here.doAll(() -> {
            here.set("outer", 1);
            here.setAlone("inner", 1);
            throw new IllegalStateException("given up");
        }));
        assertEquals(0, here.count("outer"));
        assertEquals(1, here.count("inner"));
    }

    @Test
    void savepointsAreRefused() {
        here.nested();
        assertEquals(1, here.count("nested"), "alone it is a transaction like others");
        assertThrows(NestedTransactionNotSupportedException.class, () -> here.doAll(here::nested));
    }

    @Test
    void anInnerFailureSpoilsTheOuter() {
        assertThrows(UnexpectedRollbackException.class, () -> here.doAll(() -> {
            here.set("outer", 1);
            assertThrows(IllegalStateException.class, () -> here.doAll(() -> {
                throw new IllegalStateException("given up");
            }));
        }));
        assertEquals(0, here.count("outer"));
    }

    @Test
    void levelsAndTimesAreThoseThatWereAskedFor() {
        TransactionTemplate template = new TransactionTemplate(
                contexts.getFirst().getBean(GridTransactionManager.class));
        for (int level : List.of(TransactionDefinition.ISOLATION_READ_UNCOMMITTED,
                TransactionDefinition.ISOLATION_READ_COMMITTED)) {
            template.setIsolationLevel(level);
            template.executeWithoutResult(_ -> here.add("pears", () -> here.setAlone("pears", 10)));
            assertEquals(1, here.count("pears"), "nothing is checked");
            here.set("pears", 0);
        }
        for (int level : List.of(TransactionDefinition.ISOLATION_REPEATABLE_READ,
                TransactionDefinition.ISOLATION_SERIALIZABLE)) {
            template.setIsolationLevel(level);
            assertThrows(ConcurrencyFailureException.class, () -> template
                    .executeWithoutResult(_ -> here.add("pears", () -> here.setAlone("pears", 10))));
        }
        template.setTimeout(0);
        assertThrows(TransactionTimedOutException.class,
                () -> template.executeWithoutResult(_ -> here.count("pears")));
    }

    @Test
    void aNodeThatIsClosedBeginsNothing() {
        grids.getFirst().close();
        assertThrows(CannotCreateTransactionException.class, () -> here.set("pears", 1));
    }

    @Test
    void eachReasonHasAnExceptionOfSpring() {
        GridExceptions exceptions = new GridExceptions();
        for (GridException.Reason reason : GridException.Reason.values()) {
            GridException why = new GridException(reason, "told");
            DataAccessException translated = exceptions.translateExceptionIfPossible(why);
            assertEquals("told", translated.getMessage());
            assertEquals(why.isRetryable(), translated instanceof ConcurrencyFailureException, reason::toString);
        }
        assertTrue(GridExceptions.of(
                new GridException(GridException.Reason.TIMEOUT, "told")) instanceof QueryTimeoutException);
        assertNull(exceptions.translateExceptionIfPossible(new IllegalStateException()));
    }
}
