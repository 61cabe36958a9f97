package tutti.grid.api;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.GridConfig.CacheConfig;
import tutti.grid.GridException;
import tutti.grid.GridException.Reason;
import tutti.grid.IsolationLevel;
import tutti.grid.store.Key;
import tutti.grid.store.Version;
import tutti.grid.view.Layout;
import tutti.runtime.real.FreePorts;

/** Nodes in this process, over real sockets. */
class GridTest {
    private int nodeCount = 3;

    private final List<Grid> grids = new ArrayList<>();

    @AfterEach
    void close() {
        grids.forEach(Grid::close);
    }

    /** After which a node counts as crashed: long, where none crashes, so that a slow machine makes none. */
    private Duration silence = Duration.ofSeconds(20);

    /** After which an operation has failed that nobody answers: long, where none is to fail. */
    private Duration patience = Duration.ofSeconds(30);

    private void open(CommitProtocol protocol, IsolationLevel level, CacheConfig... caches) throws IOException {
        Map<Integer, InetSocketAddress> nodes = new LinkedHashMap<>();
        List<InetSocketAddress> free = FreePorts.addresses(nodeCount);
        for (int i = 0; i < nodeCount; i++) {
            nodes.put(i, free.get(i));
        }
        for (int i = 0; i < nodeCount; i++) {
            grids.add(Grid.open(GridConfig.of("test", i, nodes, List.of(caches), protocol)
                    .withHeartbeat(Duration.ofMillis(50), silence)
                    .withTimeouts(Duration.ofSeconds(10), patience, Duration.ofSeconds(60)), level));
        }
    }

    private static Cache<String, Integer> stock(Grid grid) {
        return grid.cache("stock", Serializers.TEXT, Serializers.compact(Integer.class));
    }

    private static Reason reason(Runnable failing) {
        return assertThrows(GridException.class, failing::run).reason();
    }

    @ParameterizedTest
    @EnumSource(CommitProtocol.class)
    void whatOneNodeCommitsAllNodesRead(CommitProtocol protocol) throws IOException {
        open(protocol, IsolationLevel.REPEATABLE_READ_WRITE_SKEW, CacheConfig.of("stock", 2));
        for (int i = 0; i < 30; i++) {
            stock(grids.get(i % nodeCount)).put("key " + i, i);
        }
        // A node sees all that it has heard of, and this one hears of the last by reading.
        Grid reader = grids.get((30 - 1) % nodeCount);
        assertEquals(Optional.of(29), stock(reader).get("key 29"));
        stock(reader).remove("key 29");
        assertEquals(Optional.empty(), stock(reader).get("key 29"));
        assertEquals(Optional.empty(), stock(reader).get("never there"));
        assertTrue(reader.status().committed() > 10, reader.status().toString());
    }

    /** What is read counts where it is checked; what is written over does not. */
    @Test
    void aTransactionThatIsTooLargeIsToldSoAndTheNodeGoesOn() throws IOException {
        nodeCount = 1;
        open(CommitProtocol.TOM_3, IsolationLevel.SERIALIZABLE, CacheConfig.of("stock", 1));
        Grid grid = grids.getFirst();
        Cache<byte[], byte[]> raw = grid.cache("stock", Serializers.BYTES, Serializers.BYTES);
        assertEquals(Reason.TOO_LARGE, reason(() -> grid.run(in -> {
            byte[] key = new byte[Key.BYTES_MAX];
            for (int i = 0; i < 600; i++) {
                key[i] = 1;
                raw.get(in, key.clone());
            }
            raw.put(in, new byte[1], new byte[1]);
        })));
        grid.run(in -> {
            for (int i = 0; i < 40; i++) {
                raw.put(in, new byte[1], new byte[1 << 20]);
            }
        });
        assertEquals(1 << 20, raw.get(new byte[1]).orElseThrow().length);
    }

    /** No other node is asked for what it could not be told, nor could answer. */
    @Test
    void aKeyThatIsTooLongIsToldSoWhateverIsAskedAndTheNodeGoesOn() throws IOException {
        nodeCount = 2;
        open(CommitProtocol.TOM_3, IsolationLevel.SERIALIZABLE, CacheConfig.of("stock", 1));
        Grid grid = grids.getFirst();
        for (int i = 0; i < 10; i++) {
            String key = "k".repeat(Key.BYTES_MAX) + i;
            assertEquals(Reason.TOO_LARGE, reason(() -> stock(grid).get(key)));
            assertEquals(Reason.TOO_LARGE, reason(() -> stock(grid).remove(key)));
        }
        assertEquals(Reason.TOO_LARGE,
                reason(() -> grid.readOnly(in -> stock(grid).keys(in, new byte[Key.BYTES_MAX + 1]))));
        stock(grid).put("key", 1);
        assertEquals(List.of("key"), grid.readOnly(stock(grid)::keys));
    }

    @Test
    void nothingIsNoValue() throws IOException {
        nodeCount = 1;
        open(CommitProtocol.TOM_3, IsolationLevel.SERIALIZABLE, CacheConfig.of("stock", 1));
        Cache<String, Integer> stock = stock(grids.getFirst());
        stock.put("key", 1);
        assertThrows(NullPointerException.class, () -> stock.put("key", null));
        assertThrows(NullPointerException.class, () -> stock.put(null, 1));
        assertEquals(Optional.of(1), stock.get("key"));
    }

    /** It is told to who did it, and nobody else notices. */
    @Test
    void aCallerThatErrsDoesNotEndTheNode() throws IOException {
        nodeCount = 1;
        open(CommitProtocol.TOM_3, IsolationLevel.SERIALIZABLE, CacheConfig.of("stock", 1));
        Grid grid = grids.getFirst();
        Cache<String, Integer> stock = stock(grid);
        grid.run(in -> {
            assertThrows(NullPointerException.class, () -> stock.put(in, "key", 1, (Duration) null));
            assertThrows(NullPointerException.class, () -> stock.put(in, "key", 1, (Instant) null));
            stock.put(in, "key", 1);
        });
        assertThrows(NullPointerException.class, () -> grid.readOnly(in -> stock.keys(in, (byte[]) null)));
        assertThrows(NullPointerException.class, () -> grid.begin(null, false));
        assertThrows(NullPointerException.class, () -> grid.transact(null, in -> {
            stock.put(in, "key", stock.get(in, "key").orElse(0) + 1);
            return true;
        }));
        Cache<String, byte[]> careless = grid.cache("stock", Serializers.TEXT, new Serializer<byte[]>() {
            @Override
            public byte[] write(byte[] value) {
                return null;
            }

            @Override
            public byte[] read(byte[] bytes) {
                return bytes;
            }
        });
        assertThrows(NullPointerException.class, () -> careless.put("key", new byte[0]));
        assertEquals(Optional.of(1), stock.get("key"));
    }

    @Test
    void aCacheIsUsedInTransactionsOfItsGridOnly() throws IOException {
        nodeCount = 1;
        open(CommitProtocol.TOM_3, IsolationLevel.SERIALIZABLE, CacheConfig.of("stock", 1));
        open(CommitProtocol.TOM_3, IsolationLevel.SERIALIZABLE, CacheConfig.of("other", 1), CacheConfig.of("stock", 1));
        Grid one = grids.getFirst();
        Grid two = grids.getLast();
        Cache<String, Integer> others = stock(two);
        for (Consumer<Transaction> work : List.<Consumer<Transaction>>of(in -> others.get(in, "key"),
                in -> others.entry(in, "key"), others::keys, others::written, in -> others.put(in, "key", 1),
                in -> others.put(in, "key", 1, Duration.ofDays(1)), in -> others.put(in, "key", 1, Instant.MAX),
                in -> others.remove(in, "key"))) {
            assertThrows(IllegalArgumentException.class, () -> one.run(work));
        }
        stock(one).put("key", 1);
        others.put("key", 2);
        assertEquals(Optional.of(1), stock(one).get("key"));
        assertEquals(Optional.of(2), others.get("key"));
    }

    @Test
    void aTransactionTellsWhichKeysItHasPut() throws IOException {
        nodeCount = 1;
        open(CommitProtocol.TOM_3, IsolationLevel.SERIALIZABLE, CacheConfig.of("stock", 1), CacheConfig.of("more", 1));
        Cache<String, Integer> stock = stock(grids.getFirst());
        Cache<String, Integer> more = grids.getFirst().cache("more", Serializers.TEXT,
                Serializers.compact(Integer.class));
        stock.put("before", 1);
        grids.getFirst().run(in -> {
            stock.put(in, "apples", 1);
            stock.put(in, "pears", 2);
            more.put(in, "plums", 2);
            stock.remove(in, "apples");
            stock.remove(in, "before");
            assertEquals(List.of("pears"), stock.written(in));
        });
    }

    @ParameterizedTest
    @EnumSource(CommitProtocol.class)
    void noUpdateIsLostWhenAllNodesCountUpTheSameKey(CommitProtocol protocol)
            throws IOException, InterruptedException, ExecutionException {
        open(protocol, IsolationLevel.SERIALIZABLE, CacheConfig.of("stock", 2));
        int each = 20;
        try (ExecutorService threads = Executors.newFixedThreadPool(2 * nodeCount)) {
            List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < 2 * nodeCount; i++) {
                Grid grid = grids.get(i % nodeCount);
                Cache<String, Integer> stock = stock(grid);
                running.add(threads.submit(() -> {
                    for (int j = 0; j < each; j++) {
                        grid.run(in -> stock.put(in, "apples", stock.get(in, "apples").orElse(0) + 1));
                    }
                }));
            }
            for (Future<?> one : running) {
                one.get();
            }
        }
        Grid grid = grids.getFirst();
        int total = grid.transact(in -> {
            // To be compared with what is there, not with a snapshot of what this node has heard of.
            int apples = stock(grid).get(in, "apples").orElse(0);
            stock(grid).put(in, "apples", apples);
            return apples;
        });
        assertEquals(each * 2 * nodeCount, total);
    }

    @Tag("long")
    @ParameterizedTest
    @EnumSource(names = "GROUPS", mode = EnumSource.Mode.EXCLUDE)
    void aCrashLosesNothingThatHasAnotherOwner(CommitProtocol protocol) throws IOException {
        silence = Duration.ofSeconds(2);
        open(protocol, IsolationLevel.READ_COMMITTED, CacheConfig.of("stock", 2), CacheConfig.of("alone", 1),
                new CacheConfig("careful", 3, 3));
        Grid grid = grids.getFirst();
        Cache<String, Integer> alone = grid.cache("alone", Serializers.TEXT, Serializers.compact(Integer.class));
        Cache<String, Integer> careful = grid.cache("careful", Serializers.TEXT, Serializers.compact(Integer.class));
        int keys = 30;
        for (int i = 0; i < keys; i++) {
            stock(grid).put("key " + i, i);
            alone.put("key " + i, i);
        }
        careful.put("key", 1);
        grids.get(2).close();
        int lost = 0;
        for (int i = 0; i < keys; i++) {
            int key = i;
            stock(grid).put("other " + i, i);
            assertEquals(Optional.of(i), stock(grid).get("key " + i));
            try {
                assertEquals(Optional.of(i), alone.get("key " + key));
            } catch (GridException why) {
                assertEquals(Reason.OWNER_UNAVAILABLE, why.reason());
                lost++;
            }
        }
        assertTrue(lost > 0 && lost < keys, lost + " keys had their only owner there");
        assertEquals(Reason.NOT_ENOUGH_OWNERS, reason(() -> careful.put("key", 2)));
        assertEquals(Optional.of(1), careful.get("key"));
        assertEquals(2, grid.status().members().size());
        assertEquals(Reason.CLOSED, reason(() -> stock(grids.get(2)).put("key", 1)));
    }

    /** A member of each of two groups crashes, neither of which leads; that they are not heard is noticed after this test. */
    @Test
    void aMinorityOfEachGroupCrashesAndNobodyWaits() throws IOException {
        nodeCount = 6;
        silence = Duration.ofSeconds(60);
        open(CommitProtocol.GROUPS, IsolationLevel.SERIALIZABLE, CacheConfig.of("stock", 3));
        Grid grid = grids.get(2);
        countUp(grid, 20);
        grids.get(1).close();
        grids.get(5).close();
        countUp(grid, 20);
        countUp(grids.get(4), 20);
        assertEquals(6, grid.status().members().size());
        assertEquals(0, grid.status().conflicts());
    }

    /** Writes keys of both groups in each transaction, and reads them. */
    private void countUp(Grid grid, int times) {
        for (int i = 0; i < times; i++) {
            grid.run(in -> {
                for (int key = 0; key < 4; key++) {
                    stock(grid).put(in, "key " + key, stock(grid).get(in, "key " + key).orElse(0) + 1);
                }
            });
        }
    }

    @Tag("long")
    @Test
    void anotherLeadsAGroupWhenItsLeaderHasCrashed() throws IOException {
        nodeCount = 6;
        silence = Duration.ofMillis(1500);
        patience = Duration.ofSeconds(10);
        open(CommitProtocol.GROUPS, IsolationLevel.SERIALIZABLE, CacheConfig.of("stock", 3));
        countUp(grids.get(2), 10);
        grids.get(0).close();
        grids.get(3).close();
        countUp(grids.get(2), 10);
        countUp(grids.get(5), 10);
        assertEquals(Optional.of(30), grids.get(5).transact(in -> {
            stock(grids.get(5)).put(in, "other", 1);
            return stock(grids.get(5)).get(in, "key 1");
        }));
        // The third member of a group: what is left is no majority.
        grids.get(1).close();
        Grid left = grids.get(2);
        Reason reason = Reason.TIMEOUT;
        for (int i = 0; i < 100 && reason == Reason.TIMEOUT; i++) {
            reason = reason(() -> countUp(left, 1));
        }
        assertEquals(Reason.NOT_ENOUGH_OWNERS, reason);
    }

    @Test
    void aConflictIsTold() throws IOException {
        open(CommitProtocol.TOM_3, IsolationLevel.REPEATABLE_READ_WRITE_SKEW, CacheConfig.of("stock", 2));
        Grid grid = grids.getFirst();
        Cache<String, Integer> stock = stock(grid);
        Transaction first = grid.begin();
        assertEquals(Optional.empty(), stock.get(first, "key"));
        stock.put("key", 1);
        assertEquals(Optional.empty(), stock.get(first, "key"), "it reads repeatably");
        stock.put(first, "key", 2);
        assertEquals(Optional.of(2), stock.get(first, "key"), "it reads what it wrote");
        GridException why = assertThrows(GridException.class, first::commit);
        assertEquals(Reason.CONFLICT, why.reason());
        assertTrue(why.isRetryable());
        assertEquals(Reason.ENDED, reason(() -> stock.put(first, "key", 3)));
        assertEquals(Optional.of(1), stock.get("key"));
        assertEquals(1, grid.status().conflicts());
    }

    @Test
    void aReadOnlyTransactionSeesOneSnapshotWhateverTheLevel() throws IOException {
        open(CommitProtocol.TOM_2, IsolationLevel.READ_COMMITTED, CacheConfig.of("stock", 2));
        Grid grid = grids.getFirst();
        Cache<String, Integer> stock = stock(grid);
        grid.run(in -> {
            stock.put(in, "a", 1);
            stock.put(in, "b", 1);
        });
        try (Transaction reader = grid.begin(IsolationLevel.READ_COMMITTED, true);
                Transaction other = grid.begin()) {
            assertEquals(Optional.of(1), stock.get(reader, "a"));
            grid.run(in -> {
                stock.put(in, "a", 2);
                stock.put(in, "b", 2);
            });
            assertEquals(Optional.of(1), stock.get(reader, "b"));
            assertEquals(Optional.of(2), stock.get(other, "b"), "without being read-only it reads the latest");
            reader.commit();
        }
    }

    /** Every owner hears of each change of a key, in order; what was aborted is not told. */
    @ParameterizedTest
    @EnumSource(names = {"TOM_2", "GROUPS"})
    void listenersHearOfWhatTheirNodeOwns(CommitProtocol protocol) throws IOException, InterruptedException {
        open(protocol, IsolationLevel.READ_COMMITTED, CacheConfig.of("stock", 2), CacheConfig.of("other", 2));
        List<BlockingQueue<String>> heard = new ArrayList<>();
        List<Subscription> subscriptions = new ArrayList<>();
        for (Grid grid : grids) {
            BlockingQueue<String> queue = new LinkedBlockingQueue<>();
            heard.add(queue);
            subscriptions.add(stock(grid).listen((key, value) -> queue.add(key + value.map(n -> "=" + n).orElse("-"))));
        }
        Grid grid = grids.getFirst();
        List<Integer> owners = stock(grid).owners("apples");
        assertEquals(protocol == CommitProtocol.GROUPS ? 3 : 2, owners.size());
        try (Transaction undone = grid.begin()) {
            stock(grid).put(undone, "apples", 99);
        }
        grid.cache("other", Serializers.TEXT, Serializers.TEXT).put("apples", "of another cache");
        stock(grid).put("apples", 1);
        stock(grid).put("apples", 2);
        stock(grid).remove("apples");
        for (int owner : owners) {
            assertEquals(List.of("apples=1", "apples=2", "apples-"),
                    List.of(heard.get(owner).take(), heard.get(owner).take(), heard.get(owner).take()));
        }
        subscriptions.forEach(Subscription::close);
        stock(grid).put("apples", 3);
        heard.forEach(queue -> assertEquals(0, queue.size()));
        String metrics = grid.metrics();
        assertTrue(
                metrics.contains("tutti_grid_transactions_total{grid=\"test\",node=\"0\",outcome=\"committed\"} 5\n"),
                metrics);
        assertTrue(metrics.contains("# TYPE tutti_grid_version_bytes gauge\n"), metrics);
    }

    @Test
    void aSlowListenerIsToldHowMuchItHasMissed() throws InterruptedException {
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        Semaphore goOn = new Semaphore(0);
        byte[] large = new byte[Subscription.WAITING_BYTES_MAX / 2 - 1000];
        try (Subscription slow = Subscription.start(0, Serializers.TEXT, Serializers.BYTES, new Listener<>() {
            @Override
            public void changed(String key, Optional<byte[]> value) {
                told.add(key);
                goOn.acquireUninterruptibly();
                if (key.equals("b")) {
                    throw new AssertionError("by errors, too");
                }
                throw new IllegalStateException("listeners may fail");
            }

            @Override
            public void missed(long changes) {
                told.add("missed " + changes);
            }
        }, _ -> {})) {
            slow.changed(new Key(0, Serializers.TEXT.write("a")), new Version(1, large, Version.NEVER));
            assertEquals("a", told.take());
            for (String key : List.of("b", "c", "d", "e")) {
                slow.changed(new Key(0, Serializers.TEXT.write(key)), new Version(2, large, Version.NEVER));
            }
            assertTrue(slow.waitingBytes() > large.length);
            goOn.release(10);
            assertEquals(List.of("b", "c", "missed 2"), List.of(told.take(), told.take(), told.take()));
            slow.changed(new Key(0, Serializers.TEXT.write("f")), new Version(3, large, Version.NEVER));
            assertEquals("f", told.take());
        }
    }

    @Test
    void anEntryIsAbsentFromItsInstantOnByTheTimeOfWhoReadsIt() throws IOException {
        AtomicReference<Instant> wall = new AtomicReference<>(Instant.ofEpochSecond(1_000_000));
        GridConfig config = GridConfig.of("test", 0, Map.of(0, FreePorts.addresses(1).getFirst()),
                List.of(CacheConfig.of("stock", 1).withTimeToLive(Duration.ofSeconds(10))), CommitProtocol.TOM_3);
        Grid grid = Grid.open(config, IsolationLevel.SERIALIZABLE, new WallClockMachine(wall::get));
        grids.add(grid);
        Cache<String, Integer> stock = stock(grid);
        stock.put("as its cache says", 1);
        stock.put("short", 1, Duration.ofSeconds(1));
        stock.put("none", 1, Duration.ZERO);
        stock.put("long gone", 1, Duration.ofSeconds(Long.MIN_VALUE));
        grid.run(in -> stock.put(in, "always", 1, Instant.MAX));
        grid.run(in -> stock.put(in, "nearly always", 1, Instant.MAX.minusNanos(1)));
        assertEquals(Optional.empty(), stock.get("none"));
        assertEquals(Optional.empty(), stock.get("long gone"));
        try (Transaction old = grid.begin(IsolationLevel.SERIALIZABLE, true)) {
            wall.updateAndGet(now -> now.plusSeconds(1));
            assertEquals(Optional.empty(), stock.get("short"));
            assertEquals(Optional.of(1), stock.get(old, "short"), "its time is that of its beginning");
        }
        wall.updateAndGet(now -> now.minusSeconds(1));
        assertEquals(Optional.empty(), stock.get("short"), "time does not go back");
        assertEquals(new Cache.Entry<>(1, Instant.ofEpochSecond(1_000_010)),
                grid.readOnly(in -> stock.entry(in, "as its cache says")).orElseThrow());
        wall.updateAndGet(now -> now.plusSeconds(10));
        assertEquals(Optional.empty(), stock.get("as its cache says"));
        assertEquals(new Cache.Entry<>(1, Instant.MAX), grid.readOnly(in -> stock.entry(in, "always")).orElseThrow());
        assertEquals(Optional.of(1), stock.get("nearly always"));
        assertThrows(IllegalArgumentException.class,
                () -> CacheConfig.of("stock", 1).withTimeToLive(Duration.ofNanos(1)));
    }

    @ParameterizedTest
    @EnumSource(CommitProtocol.class)
    void aReadOnlyTransactionFindsTheKeysOfItsSnapshotAtAllNodes(CommitProtocol protocol) throws IOException {
        open(protocol, IsolationLevel.SERIALIZABLE, CacheConfig.of("stock", 2), CacheConfig.of("other", 2));
        Grid grid = grids.getFirst();
        Cache<String, byte[]> stock = grid.cache("stock", Serializers.TEXT, Serializers.BYTES);
        // More than fit into one message.
        String far = "x".repeat(1000);
        grid.run(in -> {
            for (int i = 0; i < 200; i++) {
                stock.put(in, i + far, new byte[0]);
            }
            stock.put(in, "gone", new byte[0]);
            stock.put(in, "also gone", new byte[0], Duration.ZERO);
        });
        grid.cache("other", Serializers.TEXT, Serializers.BYTES).put("elsewhere", new byte[0]);
        stock.remove("gone");
        try (Transaction snapshot = grid.begin(IsolationLevel.SERIALIZABLE, true)) {
            stock.put("later", new byte[0]);
            assertEquals(200, Set.copyOf(stock.keys(snapshot)).size());
            assertEquals(11, stock.keys(snapshot, new byte[]{'1', '1'}).size(), "11, and 110 to 119");
        }
        assertTrue(grid.readOnly(stock::keys).contains("later"));
        assertEquals(Reason.ENDED, reason(() -> grid.run(stock::keys)));
    }

    @Test
    void whatAnOwnerHasNoRoomForIsRefusedUntilSomethingIsRemoved() throws IOException {
        int max = 10_000;
        Map<Integer, InetSocketAddress> nodes = new LinkedHashMap<>();
        List<InetSocketAddress> free = FreePorts.addresses(2);
        for (int i = 0; i < 2; i++) {
            nodes.put(i, free.get(i));
        }
        for (int i = 0; i < 2; i++) {
            // Only the second has a limit; the first must have heard of it.
            grids.add(Grid.open(GridConfig
                    .of("test", i, nodes, List.of(CacheConfig.of("stock", 2)), CommitProtocol.TOM_3)
                    .withHeartbeat(Duration.ofMillis(50), silence).withStoredBytesMax(i == 0 ? Long.MAX_VALUE : max),
                    IsolationLevel.SERIALIZABLE));
        }
        Cache<String, byte[]> stock = grids.getFirst().cache("stock", Serializers.TEXT, Serializers.BYTES);
        Reason reason = null;
        for (int i = 0; reason == null && i < 20_000; i++) {
            try {
                stock.put("key " + i % 20, new byte[1000]);
            } catch (GridException why) {
                reason = why.reason();
            }
        }
        assertEquals(Reason.FULL, reason);
        assertTrue(grids.getLast().status().full() && !grids.getFirst().status().full());
        assertTrue(grids.getLast().metrics().contains("tutti_grid_full{grid=\"test\",node=\"1\"} 1"));
        for (int i = 0; i < 20; i++) {
            stock.remove("key " + i);
        }
        while (reason != null) {
            try {
                stock.put("key", new byte[1000]);
                reason = null;
            } catch (GridException why) {
                assertEquals(Reason.FULL, why.reason());
            }
        }
        assertTrue(grids.getLast().status().bytes() < max);
    }

    @Test
    void rollbackChangesNothing() throws IOException {
        open(CommitProtocol.TOM_3, IsolationLevel.READ_COMMITTED, CacheConfig.of("stock", 1));
        Grid grid = grids.getFirst();
        try (Transaction transaction = grid.begin()) {
            stock(grid).put(transaction, "key", 1);
        }
        assertEquals(Optional.empty(), stock(grid).get("key"));
        assertEquals(Reason.TOO_LARGE, reason(() -> stock(grid).put("k".repeat(100_000), 1)));
        assertThrows(IllegalArgumentException.class,
                () -> grid.cache("stok", Serializers.TEXT, Serializers.compact(Integer.class)));
    }

    @Test
    void aDegreeAboveTheNumberOfNodesIsRefused() {
        assertEquals(Reason.NOT_ENOUGH_OWNERS, reason(() -> GridConfig.of("test", 0,
                Map.of(0, new InetSocketAddress("localhost", 1)), List.of(CacheConfig.of("stock", 2)),
                CommitProtocol.TOM_2)));
    }

    @Test
    void aConfigurationThatCannotBeIsRefusedWithWhatMayBe() {
        GridConfig right = GridConfig.of("test", 0, Map.of(0, new InetSocketAddress("localhost", 1)),
                List.of(CacheConfig.of("stock", 1)), CommitProtocol.TOM_2);
        Duration minute = Duration.ofMinutes(1);
        for (Runnable wrong : List.<Runnable>of(() -> right.withCrashes(256), () -> right.withCrashes(-1),
                () -> right.withHeartbeat(Duration.ZERO, minute), () -> right.withHeartbeat(minute, minute),
                () -> right.withTimeouts(Duration.ZERO, minute, minute),
                () -> right.withTimeouts(minute, Duration.ofDays(200_000), minute),
                () -> right.withTimeouts(minute, minute, Duration.ofSeconds(-1)), () -> right.withStoredBytesMax(0),
                () -> GridConfig.of("", 0, right.nodes(), right.caches(), CommitProtocol.TOM_2))) {
            assertThrows(IllegalArgumentException.class, wrong::run);
        }
    }

    @Test
    void compactValuesComeBackAndSmallOnesAreSmall() {
        Serializer<Object> compact = Serializers.compact(Object.class);
        List<Object> values = List.of(true, false, 0, -1, 63, Integer.MAX_VALUE, Integer.MIN_VALUE, Long.MAX_VALUE,
                Long.MIN_VALUE, 1.5, "", "text", List.of(1, List.of("a")), Map.of("a", 1L));
        for (Object value : values) {
            assertEquals(value, compact.read(compact.write(value)));
        }
        assertArrayEquals(new byte[]{1, 2}, (byte[]) compact.read(compact.write(new byte[]{1, 2})));
        assertEquals(2, compact.write(-1).length);
        assertThrows(IllegalArgumentException.class, () -> compact.write(Duration.ZERO));
        assertThrows(IllegalArgumentException.class, () -> compact.read(new byte[]{6, 100}));
        assertThrows(IllegalArgumentException.class, () -> compact.read(new byte[]{1, 1}));
        assertThrows(IllegalArgumentException.class, () -> Serializers.compact(String.class).read(compact.write(1)));
    }

    /** As a process that is not one of the founders. */
    private Grid join(int number, CommitProtocol protocol, Map<Integer, InetSocketAddress> known, CacheConfig cache)
            throws IOException {
        Map<Integer, InetSocketAddress> all = new LinkedHashMap<>(known);
        all.put(number, FreePorts.addresses(1).getFirst());
        Grid joined = Grid.open(GridConfig.of("test", number, all, List.of(cache), protocol)
                .withHeartbeat(Duration.ofMillis(50), silence), IsolationLevel.SERIALIZABLE);
        grids.add(joined);
        return joined;
    }

    private static void awaitOwners(Grid grid, Set<Integer> nodes) {
        long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (!grid.status().layout().equals(new Layout(grid.status().layout().number(), Layout.Phase.STABLE, nodes,
                nodes))) {
            assertTrue(System.nanoTime() < deadline, grid.status().toString());
            Thread.onSpinWait();
        }
    }

    /** A node joins and another leaves while all count up; then one crashes, its keys are copied anew, and another one crashes. */
    @Tag("long")
    @ParameterizedTest
    @EnumSource(names = "GROUPS", mode = EnumSource.Mode.EXCLUDE)
    void nodesJoinAndLeaveAndCrashAndNothingIsLost(CommitProtocol protocol)
            throws IOException, InterruptedException, ExecutionException {
        silence = Duration.ofMillis(1500);
        CacheConfig cache = CacheConfig.of("stock", 2);
        open(protocol, IsolationLevel.SERIALIZABLE, cache);
        Grid grid = grids.getFirst();
        for (int i = 0; i < 300; i++) {
            stock(grid).put("still " + i, i);
        }
        Map<Integer, InetSocketAddress> known = Map.of(0, grid.node().config().nodes().get(0));
        AtomicReference<Boolean> over = new AtomicReference<>(false);
        int counted = 0;
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            Future<Integer> counting = thread.submit(() -> {
                int times = 0;
                for (; !over.get(); times++) {
                    countUp(grid, 1);
                }
                return times;
            });
            try {
                Grid joined = join(7, protocol, known, cache);
                awaitOwners(joined, Set.of(0, 1, 2, 7));
                assertTrue(joined.status().keys() > 50, joined.status().toString());
                grids.get(2).leave();
                assertEquals(Reason.CLOSED, reason(() -> grids.get(2).begin()));
                awaitOwners(grid, Set.of(0, 1, 7));
                grids.get(1).close();
                awaitOwners(grid, Set.of(0, 7));
            } finally {
                over.set(true);
            }
            counted = counting.get();
        }
        Grid other = grids.getLast();
        int inTheEnd = counted;
        other.run(in -> {
            for (int key = 0; key < 4; key++) {
                assertEquals(Optional.of(inTheEnd), stock(other).get(in, "key " + key));
                stock(other).put(in, "key " + key, 0);
            }
        });
        for (int i = 0; i < 300; i++) {
            int number = i;
            assertEquals(Optional.of(number), other.readOnly(in -> stock(other).get(in, "still " + number)));
        }
        assertEquals(304, other.readOnly(in -> stock(other).keys(in)).size());
        assertEquals(Reason.NOT_ENOUGH_OWNERS, reason(other::leave));
    }

    /** What had its only owner on the node that has crashed is not taken for removed, until somebody says so; then the node may come back. */
    @Tag("long")
    @Test
    void whatIsLostIsNotTakenForRemoved() throws IOException {
        silence = Duration.ofMillis(1500);
        CacheConfig cache = CacheConfig.of("stock", 1);
        open(CommitProtocol.TOM_3, IsolationLevel.SERIALIZABLE, cache);
        Grid grid = grids.getFirst();
        for (int i = 0; i < 30; i++) {
            stock(grid).put("key " + i, i);
        }
        int lost = 0;
        while (stock(grid).owners("key " + lost).getFirst() != 2) {
            lost++;
        }
        String key = "key " + lost;
        GridConfig config = grids.get(2).node().config();
        grids.get(2).close();
        long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (!grid.status().lost()) {
            assertTrue(System.nanoTime() < deadline, grid.status().toString());
            Thread.onSpinWait();
        }
        assertEquals(Reason.OWNER_UNAVAILABLE, reason(() -> stock(grid).get(key)));
        grid.acceptLoss();
        awaitOwners(grid, Set.of(0, 1));
        assertEquals(Optional.empty(), stock(grid).get(key));
        grids.add(Grid.open(config, IsolationLevel.SERIALIZABLE));
        awaitOwners(grids.getLast(), Set.of(0, 1, 2));
        stock(grids.getLast()).put(key, 7);
        assertEquals(Optional.of(7), stock(grids.getLast()).get(key));
    }

    /** A group of two is the smallest that a node can leave behind: one alone could take in nobody. */
    @Test
    void aNodeLeavesItsGroupWhichGoesOnSmaller() throws IOException {
        open(CommitProtocol.GROUPS, IsolationLevel.SERIALIZABLE, CacheConfig.of("stock", 3));
        countUp(grids.getFirst(), 1);
        // It leads its group.
        grids.removeFirst().leave();
        Grid left = grids.getFirst();
        countUp(left, 1);
        assertEquals(List.of(1, 2), left.topology().nodes().stream().map(Topology.Node::number).toList());
        assertEquals(Optional.of(2), left.transact(in -> stock(left).get(in, "key 0")));
        assertEquals(4, left.readOnly(stock(left)::keys).size());
        GridException why = assertThrows(GridException.class, left::leave);
        assertEquals(Reason.NOT_ENOUGH_OWNERS, why.reason());
        assertTrue(String.valueOf(why.getMessage()).contains("nodes [1, 2]"), why.getMessage());
        countUp(left, 1);
    }

    /** A node that has not founded the grid takes the place of one that is gone for good. */
    @Test
    void aNodeThatWasNeverThereTakesThePlaceOfOneThatIsGone() throws IOException {
        silence = Duration.ofMillis(300);
        open(CommitProtocol.GROUPS, IsolationLevel.SERIALIZABLE, CacheConfig.of("stock", 3));
        countUp(grids.getFirst(), 5);
        grids.removeLast().close();
        Grid left = grids.getFirst();
        await(() -> left.status().members().size() == 2, left);
        // Until it is given up, the other one would make the group larger, which has too few members then.
        Grid other = join(7, Map.of());
        countUp(other, 5);
        assertEquals(List.of(0, 1, 7), left.topology().nodes().stream().map(Topology.Node::number).toList());
        assertEquals(Set.of(), left.status().joining());
        grids.removeFirst().close();
        countUp(other, 5);
        assertEquals(Optional.of(15), other.transact(in -> stock(other).get(in, "key 0")));
    }

    /** A group of five of which two are gone for good survives no other crash; as one of three it does. Nodes of another group know as well. */
    @Test
    void aNodeThatIsGoneForGoodIsRemovedFromItsGroup() throws IOException {
        nodeCount = 8;
        silence = Duration.ofMillis(500);
        patience = Duration.ofSeconds(3);
        // By degree 4 there are two groups; nodes 0 to 3, and 4 to 7; node 8 joins the first.
        open(CommitProtocol.GROUPS, IsolationLevel.SERIALIZABLE, CacheConfig.of("stock", 4));
        countUp(grids.getFirst(), 1);
        Grid joined = join(8, Map.of());
        countUp(joined, 1);
        Grid elsewhere = grids.get(7);
        await(() -> elsewhere.status().members().size() == 9, elsewhere);
        assertEquals(Reason.TIMEOUT, reason(() -> elsewhere.remove(1)), "it is heard");
        assertThrows(IllegalArgumentException.class, () -> elsewhere.remove(7));
        assertThrows(IllegalArgumentException.class, () -> elsewhere.remove(-1));
        elsewhere.remove(9);
        // The first leads its group.
        grids.get(0).close();
        grids.get(1).close();
        elsewhere.remove(0);
        joined.remove(1);
        await(() -> elsewhere.status().members().equals(Set.of(2, 3, 4, 5, 6, 7, 8)), elsewhere);
        assertEquals(List.of(2, 3, 4, 5, 6, 7, 8),
                elsewhere.topology().nodes().stream().map(Topology.Node::number).toList());
        grids.get(2).close();
        countUp(joined, 1);
        countUp(elsewhere, 1);
        elsewhere.remove(2);
        assertEquals(Optional.of(4), elsewhere.transact(in -> stock(elsewhere).get(in, "key 0")));
        grids.get(3).close();
        assertEquals(Reason.NOT_ENOUGH_OWNERS, reason(() -> elsewhere.remove(3)), "a group of two");
        assertEquals(Reason.CLOSED, reason(() -> grids.get(3).remove(2)));
    }

    /** Others join and those leave that have founded the grid, one after the other, until none is left of them. All count up meanwhile. */
    @Tag("long")
    @Test
    void theMembersOfAGroupAreOthersInTheEndAndNothingIsLost()
            throws IOException, InterruptedException, ExecutionException {
        nodeCount = 6;
        silence = Duration.ofMillis(1500);
        open(CommitProtocol.GROUPS, IsolationLevel.SERIALIZABLE, CacheConfig.of("stock", 3));
        for (int i = 0; i < 300; i++) {
            stock(grids.getFirst()).put("still " + i, i);
        }
        Grid elsewhere = grids.get(5);
        GridConfig founder = grids.getFirst().node().config();
        AtomicReference<Boolean> over = new AtomicReference<>(false);
        int counted = 0;
        Map<Integer, InetSocketAddress> known = new LinkedHashMap<>();
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            Future<Integer> counting = thread.submit(() -> {
                int times = 0;
                for (; !over.get(); times++) {
                    countUp(elsewhere, 1);
                }
                return times;
            });
            try {
                for (int number : List.of(8, 10, 12)) {
                    Grid joined = join(number, known);
                    InetSocketAddress address = joined.node().config().nodes().get(number);
                    known.put(number, Objects.requireNonNull(address));
                    countUp(joined, 1);
                    counted++;
                    grids.removeFirst().leave();
                }
            } finally {
                over.set(true);
            }
            counted += counting.get();
        }
        int inTheEnd = counted;
        Grid last = grids.getLast();
        await(() -> elsewhere.topology().nodes().stream().map(Topology.Node::number).toList()
                .equals(List.of(3, 4, 5, 8, 10, 12)), elsewhere);
        last.run(in -> {
            for (int key = 0; key < 4; key++) {
                assertEquals(Optional.of(inTheEnd), stock(last).get(in, "key " + key));
            }
            for (int i = 0; i < 300; i++) {
                assertEquals(Optional.of(i), stock(last).get(in, "still " + i));
            }
        });
        assertEquals(304, elsewhere.readOnly(stock(elsewhere)::keys).size());
        // None of its group remembers the one that founded it; others know that it has changed.
        Grid again = Grid.open(founder, IsolationLevel.SERIALIZABLE);
        grids.addFirst(again);
        assertEquals(Optional.of(inTheEnd), again.transact(in -> {
            stock(again).put(in, "other", 1);
            return stock(again).get(in, "key 0");
        }));
        assertTrue(again.status().keys() >= 100, again.status().toString());
        grids.removeFirst().leave();
        // One more of each group crashes.
        grids.removeLast().close();
        grids.removeFirst().close();
        countUp(elsewhere, 3);
        assertTrue(counted > nodeCount, "it went on meanwhile");
    }

    /** Opens a node that has not founded the grid, and knows some others that have not. */
    private Grid join(int number, Map<Integer, InetSocketAddress> others) throws IOException {
        GridConfig config = grids.getFirst().node().config();
        Map<Integer, InetSocketAddress> nodes = new LinkedHashMap<>(others.isEmpty() ? config.nodes() : others);
        nodes.put(number, FreePorts.addresses(1).getFirst());
        Grid joined = Grid.open(GridConfig
                .of("test", number, nodes, config.founders(), config.caches(), CommitProtocol.GROUPS)
                .withHeartbeat(Duration.ofMillis(50), silence)
                .withTimeouts(Duration.ofSeconds(10), patience, Duration.ofSeconds(60)), IsolationLevel.SERIALIZABLE);
        grids.add(joined);
        return joined;
    }

    private static void await(BooleanSupplier until, Grid what) {
        long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (!until.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, what.topology().toString());
            Thread.onSpinWait();
        }
    }

    /** Nobody could give it back what it had. */
    @Test
    void aNodeOfAGroupOfTwoThatIsStartedAnewSaysThatAllMustBe() throws IOException {
        nodeCount = 2;
        open(CommitProtocol.GROUPS, IsolationLevel.SERIALIZABLE, CacheConfig.of("stock", 2));
        countUp(grids.getFirst(), 1);
        GridConfig config = grids.getLast().node().config();
        grids.getLast().close();
        Grid again = Grid.open(config, IsolationLevel.SERIALIZABLE);
        grids.add(again);
        GridException why = assertThrows(GridException.class, () -> stock(again).put("key", 1));
        assertEquals(Reason.CLOSED, why.reason());
        assertTrue(String.valueOf(why.getMessage()).contains("start all nodes anew"), why.getMessage());
    }

    /** One after the other crashes and is started anew, the last of them at another address, until none is there that was in the beginning; then one more crashes. All count up meanwhile. */
    @Tag("long")
    @Test
    void theMembersOfAGroupAreReplacedOneByOneAndNothingIsLost()
            throws IOException, InterruptedException, ExecutionException {
        silence = Duration.ofMillis(1500);
        open(CommitProtocol.GROUPS, IsolationLevel.SERIALIZABLE, CacheConfig.of("stock", 3));
        for (int i = 0; i < 300; i++) {
            stock(grids.getFirst()).put("still " + i, i);
        }
        int counted = 0;
        for (int victim = 0; victim < nodeCount; victim++) {
            Grid other = grids.get((victim + 1) % nodeCount);
            GridConfig config = grids.get(victim).node().config();
            AtomicReference<Boolean> over = new AtomicReference<>(false);
            try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
                Future<Integer> counting = thread.submit(() -> {
                    int times = 0;
                    for (; !over.get(); times++) {
                        countUp(other, 1);
                    }
                    return times;
                });
                try {
                    grids.get(victim).close();
                    Map<Integer, InetSocketAddress> nodes = new LinkedHashMap<>(config.nodes());
                    if (victim == nodeCount - 1) {
                        nodes.put(victim, FreePorts.addresses(1).getFirst());
                    }
                    Grid again = Grid.open(GridConfig
                            .of("test", victim, nodes, config.caches(), CommitProtocol.GROUPS)
                            .withHeartbeat(Duration.ofMillis(50), silence)
                            .withTimeouts(Duration.ofSeconds(10), patience, Duration.ofSeconds(60)),
                            IsolationLevel.SERIALIZABLE);
                    grids.set(victim, again);
                    assertTrue(again.status().keys() >= 300, again.status().toString());
                    await(() -> other.status().members().size() >= nodeCount, other);
                    assertEquals(Set.of(), other.status().joining());
                } finally {
                    over.set(true);
                }
                counted += counting.get();
            }
        }
        grids.getFirst().close();
        Grid last = grids.getLast();
        int inTheEnd = counted;
        last.run(in -> {
            for (int key = 0; key < 4; key++) {
                assertEquals(Optional.of(inTheEnd), stock(last).get(in, "key " + key));
                stock(last).put(in, "key " + key, 0);
            }
        });
        for (int i = 0; i < 300; i++) {
            int number = i;
            assertEquals(Optional.of(number), last.readOnly(in -> stock(last).get(in, "still " + number)));
        }
        assertTrue(counted > nodeCount, "it went on meanwhile");
    }
}
