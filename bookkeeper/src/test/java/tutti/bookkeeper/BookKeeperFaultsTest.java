package tutti.bookkeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Order;
import tutti.order.OrderSettings;
import tutti.order.Recorder;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** What becomes of the order when its writer, bookies or ZooKeeper are lost, or somebody else's log is in its place. */
@Tag("long")
@Timeout(120)
class BookKeeperFaultsTest {
    private static final String PATH = "/tutti/faults";

    @TempDir
    private Path directory;

    private LocalStore store;
    private Map<Integer, InetSocketAddress> members;
    private final Map<Integer, Order> orders = new TreeMap<>();
    private final Map<Integer, Recorder> recorders = new TreeMap<>();

    @BeforeEach
    void open() throws Exception {
        store = new LocalStore(directory.resolve("store"), 3);
        members = BookKeeperOrderTest.members(3);
    }

    @AfterEach
    void close() {
        orders.values().forEach(Order::close);
        store.close();
    }

    private void start(int node, long after, String path) throws Exception {
        Order order = BookKeeperOrder.open(BookKeeperOrderTest.settings(store, path, node, members, 8 << 20),
                RealMachine.INSTANCE, PathDirectory.of(directory.resolve("node" + node)));
        Recorder recorder = new Recorder();
        orders.put(node, order);
        recorders.put(node, recorder);
        order.group().join(recorder);
        order.log().start(after, recorder);
    }

    private void startAll() throws Exception {
        for (int node = 0; node < 3; node++) {
            start(node, 0, PATH);
        }
        for (Recorder recorder : recorders.values()) {
            recorder.awaitView(view -> view.majority() && view.members().size() == 3);
        }
    }

    private void append(int node, String text) {
        try {
            orders.get(node).log().append(text.getBytes(StandardCharsets.UTF_8));
        } catch (DurableLog.OverflowException full) {
            throw new AssertionError(full);
        }
    }

    private List<Thread> senders(int each, Runnable between) {
        List<Thread> senders = new ArrayList<>();
        for (int node : List.copyOf(orders.keySet())) {
            senders.add(Thread.ofPlatform().start(() -> {
                for (int i = 0; i < each; i++) {
                    append(node, node + ":" + i);
                    if (i % 50 == 49) {
                        between.run();
                        try {
                            recorders.get(node).awaitCount(i / 2);
                        } catch (InterruptedException interrupted) {
                            throw new AssertionError(interrupted);
                        }
                    }
                }
            }));
        }
        return senders;
    }

    /** Has the owner's place taken by another, and waits until the log is. */
    private static synchronized void depose(ZooKeeper outsider) {
        CountDownLatch taken = new CountDownLatch(1);
        try {
            for (CountDownLatch owned = new CountDownLatch(1); outsider.exists(PATH + "/owner",
                    watched(owned)) == null; owned = new CountDownLatch(1)) {
                assertTrue(owned.await(30, TimeUnit.SECONDS), "nobody owns the log");
            }
            var _ = outsider.getData(PATH + "/ledgers", watched(taken), null);
            outsider.delete(PATH + "/owner", -1);
            assertTrue(taken.await(30, TimeUnit.SECONDS), "nobody takes over");
        } catch (KeeperException | InterruptedException wrong) {
            throw new AssertionError(wrong);
        }
    }

    private static Watcher watched(CountDownLatch happened) {
        return _ -> happened.countDown();
    }

    private void assertAllOnce(int each) throws InterruptedException {
        List<Recorder.Delivered> first = recorders.get(0).awaitCount(3 * each);
        assertEquals(3 * each, first.size());
        for (Recorder recorder : recorders.values()) {
            assertEquals(first, recorder.awaitCount(3 * each));
            assertEquals(0, recorder.failures());
        }
        for (int sender = 0; sender < 3; sender++) {
            int node = sender;
            List<String> expected = new ArrayList<>();
            for (int i = 0; i < each; i++) {
                expected.add(node + ":" + i);
            }
            assertEquals(expected,
                    first.stream().filter(d -> d.sender() == node).map(Recorder.Delivered::payload).toList());
        }
    }

    @Test
    void aWriterThatIsDeposedWithoutNoticingWritesNothingMore() throws Exception {
        startAll();
        ZooKeeper outsider = new ZooKeeper(store.zookeeper(), 5000, _ -> {});
        int each = 300;
        AtomicInteger turns = new AtomicInteger();
        // The one that wrote goes on to write: nobody tells it that another one has taken over.
        List<Thread> senders = senders(each, () -> {
            if (turns.getAndIncrement() % 3 == 0) {
                depose(outsider);
            }
        });
        for (Thread sender : senders) {
            sender.join();
        }
        assertAllOnce(each);
        LedgerList list = LedgerList.SET.decode(
                ByteBuffer.wrap(outsider.getData(PATH + "/ledgers", false, null)), LedgerList.class);
        assertTrue(list.segments().size() > 5, "it was taken over: " + list);
        outsider.close();
    }

    @Test
    void itGoesOnWithoutABookieAndWaitsForTwo() throws Exception {
        startAll();
        int each = 300;
        List<Thread> senders = senders(each, () -> {});
        recorders.get(1).awaitCount(100);
        store.stopBookie(1);
        for (Thread sender : senders) {
            sender.join();
        }
        assertAllOnce(each);
        store.stopBookie(2);
        append(0, "waits");
        recorders.get(0).awaitView(view -> !view.majority() && view.members().size() == 3);
        append(1, "too");
        assertEquals(3 * each, recorders.get(2).deliveries().size());
        store.startBookie(2);
        for (Recorder recorder : recorders.values()) {
            List<Recorder.Delivered> all = recorder.awaitCount(3 * each + 2);
            assertEquals(Set.of("waits", "too"), Set.of(all.get(3 * each).payload(), all.get(3 * each + 1).payload()));
            recorder.awaitView(view -> view.majority());
        }
    }

    @Test
    void withoutZooKeeperNothingIsOrderedUntilItIsBack() throws Exception {
        startAll();
        append(0, "before");
        for (Recorder recorder : recorders.values()) {
            recorder.awaitCount(1);
        }
        store.stopZooKeeper();
        for (Recorder recorder : recorders.values()) {
            recorder.awaitView(view -> !view.majority() && view.leader() == -1);
        }
        for (int node = 0; node < 3; node++) {
            append(node, "meanwhile " + node);
        }
        for (Recorder recorder : recorders.values()) {
            assertEquals(1, recorder.deliveries().size());
        }
        store.startZooKeeper();
        List<Recorder.Delivered> first = recorders.get(0).awaitCount(4);
        for (Recorder recorder : recorders.values()) {
            assertEquals(first, recorder.awaitCount(4));
            recorder.awaitView(view -> view.majority());
        }
    }

    @Test
    void messagesThatTakeManyEntriesAreOneMessage() throws Exception {
        OrderSettings settings = BookKeeperOrderTest.settings(store, PATH, 0, members, 8 << 20)
                .withPayloadBytesMax(8 << 20);
        Order order = BookKeeperOrder.open(settings, RealMachine.INSTANCE,
                PathDirectory.of(directory.resolve("node0")));
        orders.put(0, order);
        Recorder recorder = new Recorder();
        order.log().start(0, recorder);
        String large = "x".repeat(7 << 20);
        order.log().append(large.getBytes(StandardCharsets.UTF_8));
        order.log().append("small".getBytes(StandardCharsets.UTF_8));
        assertEquals(List.of(new Recorder.Delivered(1, 0, large), new Recorder.Delivered(2, 0, "small")),
                recorder.awaitCount(2));
        start(1, 1, PATH);
        assertEquals(List.of(new Recorder.Delivered(2, 0, "small")), recorders.get(1).awaitCount(1));
    }

    @Test
    void aLogThatIsLostOrAnothersIsRefused() throws Exception {
        startAll();
        append(0, "one");
        for (Recorder recorder : recorders.values()) {
            recorder.awaitCount(1);
        }
        orders.values().forEach(Order::close);
        orders.clear();
        // It ends before what a node has applied.
        start(0, 7, PATH);
        assertTrue(String.valueOf(recorders.get(0).awaitFailure().getMessage()).contains("has applied 7"));
        orders.remove(0).close();
        // There is none, and the node is not new.
        Files.delete(directory.resolve("node0/ledgers"));
        start(0, 1, "/tutti/lost");
        assertTrue(String.valueOf(recorders.get(0).awaitFailure().getMessage()).contains("there is no log"));
        orders.remove(0).close();
        // It is another cluster's.
        Files.delete(directory.resolve("node0/ledgers"));
        members = BookKeeperOrderTest.members(2);
        start(0, 0, PATH);
        String refusal = String.valueOf(recorders.get(0).awaitFailure().getMessage());
        assertTrue(refusal.contains("belongs to cluster test of nodes") && refusal.contains("order.parameters.path"),
                refusal);
        assertFalse(orders.get(0).group().view().majority());
    }
}
