package tutti.order;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.core.spi.Order;

/** What every order must do, whatever it is made of. Bound to each adapter by a subclass. */
@Timeout(60)
public abstract class OrderContract {
    /** The nodes of one order, numbered from 0, and how time passes where they are. */
    public interface Cluster {
        /** Opens a node that is not open. */
        Order open(int node) throws Exception;

        /** Whether a node that was stopped still has its part of the log. */
        default boolean remembersStops() {
            return true;
        }

        /** Whether a node is told at its start, and not a moment later, that the log has been truncated beyond what it needs. */
        default boolean tellsTruncationAtStart() {
            return remembersStops();
        }

        /** Whether nothing is ordered without a majority of the nodes, because the log is theirs. */
        default boolean needsMajorityOfNodes() {
            return true;
        }

        /** Keeps a single node of several from having anything ordered; returns what ends that. */
        default Runnable unable() {
            return () -> {};
        }

        /** Does something so many times, in turn, beside everything else; returns what waits for the last time. */
        default Runnable beside(int times, IntConsumer step) {
            Thread thread = Thread.ofPlatform().start(() -> {
                for (int i = 0; i < times; i++) {
                    step.accept(i);
                }
            });
            return () -> {
                try {
                    thread.join();
                } catch (InterruptedException interrupted) {
                    throw new AssertionError(interrupted);
                }
            };
        }

        /** Lets recorders wait. */
        default Recorder.Waiting waiting() {
            return Recorder.THREADS;
        }
    }

    /** A new order whose nodes may queue this many bytes. */
    protected abstract Cluster cluster(int nodes, long queueBytes) throws Exception;

    private static final long QUEUE_BYTES = 1 << 20;

    private Cluster cluster;
    private final Map<Integer, Order> orders = new TreeMap<>();
    private final Map<Integer, Recorder> recorders = new TreeMap<>();

    private void startAll(int nodes) throws Exception {
        startAll(nodes, QUEUE_BYTES);
    }

    private void startAll(int nodes, long queueBytes) throws Exception {
        cluster = cluster(nodes, queueBytes);
        for (int node = 0; node < nodes; node++) {
            start(node, 0);
        }
        for (Recorder recorder : recorders.values()) {
            recorder.awaitView(v -> v.majority() && v.members().size() == nodes);
        }
    }

    private void start(int node, long after) throws Exception {
        Order order = cluster.open(node);
        Recorder recorder = new Recorder(cluster.waiting());
        orders.put(node, order);
        recorders.put(node, recorder);
        order.group().join(recorder);
        order.log().start(after, recorder);
    }

    private void stop(int node) {
        orders.remove(node).close();
        recorders.remove(node);
    }

    @AfterEach
    void closeAll() throws Exception {
        orders.values().forEach(Order::close);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static void append(Order to, String text) {
        try {
            to.log().append(bytes(text));
        } catch (DurableLog.OverflowException overflow) {
            throw new AssertionError(overflow);
        }
    }

    private static List<Long> positions(List<Recorder.Delivered> deliveries) {
        return deliveries.stream().map(Recorder.Delivered::position).toList();
    }

    private static List<Long> range(long from, long to) {
        List<Long> range = new ArrayList<>();
        for (long i = from; i <= to; i++) {
            range.add(i);
        }
        return range;
    }

    @Test
    void allNodesDeliverTheSameOrderWithoutGapsAndEachSendersMessagesInTurn() throws Exception {
        startAll(3);
        int each = 2000;
        List<Runnable> senders = new ArrayList<>();
        orders.forEach((node, order) -> senders.add(cluster.beside(each, i -> append(order, node + ":" + i))));
        senders.forEach(Runnable::run);
        List<Recorder.Delivered> first = recorders.get(0).awaitCount(3 * each);
        assertEquals(range(1, 3L * each), positions(first));
        assertEquals(first, recorders.get(1).awaitCount(3 * each));
        assertEquals(first, recorders.get(2).awaitCount(3 * each));
        for (int sender = 0; sender < 3; sender++) {
            int node = sender;
            List<String> expected = new ArrayList<>();
            for (int i = 0; i < each; i++) {
                expected.add(node + ":" + i);
            }
            assertEquals(expected,
                    first.stream().filter(d -> d.sender() == node).map(Recorder.Delivered::payload).toList());
        }
        for (Order order : orders.values()) {
            // It changes when the listener has been told.
            cluster.waiting().await(this, () -> order.log().status().lastDelivered() == 3L * each
                    && order.log().status().queuedBytes() == 0, () -> order.log().status().toString());
            assertEquals(3L * each, order.log().status().lastDelivered());
            assertEquals(3L * each, order.log().status().lastKnown());
            assertEquals(0, order.log().status().queuedBytes());
        }
    }

    @Test
    void oneNodeIsACluster() throws Exception {
        startAll(1);
        orders.get(0).log().append(bytes("a"));
        orders.get(0).log().append(bytes("b"));
        recorders.get(0).awaitCount(2);
        stop(0);
        start(0, 1);
        if (!cluster.remembersStops()) {
            assertForgotten(Set.of(0));
            return;
        }
        assertEquals(List.of(new Recorder.Delivered(2, 0, "b")), recorders.get(0).awaitCount(1));
        orders.get(0).log().append(bytes("c"));
        assertEquals(new Recorder.Delivered(3, 0, "c"), recorders.get(0).awaitCount(2).get(1));
    }

    @Test
    void sevenNodesAreACluster() throws Exception {
        startAll(7);
        for (int node = 0; node < 7; node++) {
            orders.get(node).log().append(bytes("from " + node));
        }
        List<Recorder.Delivered> first = recorders.get(0).awaitCount(7);
        for (Recorder recorder : recorders.values()) {
            assertEquals(first, recorder.awaitCount(7));
        }
    }

    @Test
    void aNodeThatWasAwayGetsWhatItMissed() throws Exception {
        startAll(3);
        for (int i = 0; i < 50; i++) {
            orders.get(i % 3).log().append(bytes("before " + i));
        }
        for (Recorder recorder : recorders.values()) {
            recorder.awaitCount(50);
        }
        stop(2);
        for (int i = 0; i < 500; i++) {
            orders.get(i % 2).log().append(bytes("meanwhile " + i));
        }
        recorders.get(0).awaitCount(550);
        start(2, 40);
        List<Recorder.Delivered> all = recorders.get(0).deliveries();
        assertEquals(all.subList(40, 550), recorders.get(2).awaitCount(510));
        orders.get(2).log().append(bytes("again"));
        assertEquals(new Recorder.Delivered(551, 2, "again"), recorders.get(2).awaitCount(511).get(510));
        assertEquals(new Recorder.Delivered(551, 2, "again"), recorders.get(1).awaitCount(551).get(550));
    }

    @Test
    void serviceContinuesWhenTheLeaderCrashesAndNothingSubmittedElsewhereIsLostOrDoubled() throws Exception {
        startAll(3);
        int leader = recorders.get(0).awaitView(v -> v.leader() >= 0).leader();
        int each = 3000;
        List<Integer> survivors = new ArrayList<>(List.of(0, 1, 2));
        survivors.remove(Integer.valueOf(leader));
        List<Runnable> senders = new ArrayList<>();
        for (int node : survivors) {
            Order order = orders.get(node);
            senders.add(cluster.beside(each, i -> append(order, node + ":" + i)));
        }
        recorders.get(survivors.get(0)).awaitCount(200);
        Order crashed = orders.get(leader);
        crashed.close();
        senders.forEach(Runnable::run);
        List<Recorder.Delivered> first = recorders.get(survivors.get(0)).awaitCount(2 * each);
        assertEquals(first, recorders.get(survivors.get(1)).awaitCount(2 * each));
        assertEquals(range(1, 2L * each), positions(first));
        for (int node : survivors) {
            List<String> expected = new ArrayList<>();
            for (int i = 0; i < each; i++) {
                expected.add(node + ":" + i);
            }
            assertEquals(expected,
                    first.stream().filter(d -> d.sender() == node).map(Recorder.Delivered::payload).toList());
        }
        int now = recorders.get(survivors.get(0)).awaitView(v -> v.leader() >= 0 && v.leader() != leader).leader();
        assertTrue(survivors.contains(now));
        stop(leader);
        start(leader, 0);
        assertEquals(first, recorders.get(leader).awaitCount(2 * each));
    }

    @Test
    void aMinorityOrdersNothingUntilItIsAMajorityAgain() throws Exception {
        startAll(3);
        orders.get(0).log().append(bytes("ordered"));
        for (Recorder recorder : recorders.values()) {
            recorder.awaitCount(1);
        }
        stop(1);
        stop(2);
        Runnable able = cluster.unable();
        recorders.get(0).awaitView(v -> !v.majority() && v.leader() == -1 && v.members().equals(Set.of(0)));
        orders.get(0).log().append(bytes("waiting"));
        assertEquals(7, orders.get(0).log().status().queuedBytes());
        assertEquals(1, recorders.get(0).deliveries().size());
        assertFalse(orders.get(0).group().view().majority());
        able.run();
        start(1, 1);
        if (!cluster.remembersStops()) {
            assertForgotten(Set.of(0, 1));
            assertEquals(1, recorders.get(0).deliveries().size());
            return;
        }
        recorders.get(0).awaitView(Group.View::majority);
        assertEquals(new Recorder.Delivered(2, 0, "waiting"), recorders.get(0).awaitCount(2).get(1));
        assertEquals(new Recorder.Delivered(2, 0, "waiting"), recorders.get(1).awaitCount(1).get(0));
    }

    @Test
    void aNodeAloneGoesOnIfTheLogIsNotThatOfTheNodes() throws Exception {
        startAll(3);
        orders.get(0).log().append(bytes("ordered"));
        for (Recorder recorder : recorders.values()) {
            recorder.awaitCount(1);
        }
        stop(1);
        stop(2);
        if (cluster.needsMajorityOfNodes()) {
            recorders.get(0).awaitView(v -> !v.majority() && v.members().equals(Set.of(0)));
            return;
        }
        orders.get(0).log().append(bytes("alone"));
        assertEquals(new Recorder.Delivered(2, 0, "alone"), recorders.get(0).awaitCount(2).get(1));
        recorders.get(0).awaitView(v -> v.majority() && v.leader() == 0 && v.members().equals(Set.of(0)));
        start(1, 1);
        assertEquals(new Recorder.Delivered(2, 0, "alone"), recorders.get(1).awaitCount(1).get(0));
    }

    @Test
    void aFullQueueRefusesAndTakesAgainWhatFits() throws Exception {
        cluster = cluster(3, 100_000);
        Runnable able = cluster.unable();
        start(0, 0);
        byte[] message = new byte[1000];
        for (int i = 0; i < 100; i++) {
            orders.get(0).log().append(message);
        }
        DurableLog.OverflowException e = assertThrows(DurableLog.OverflowException.class,
                () -> orders.get(0).log().append(message));
        assertTrue(String.valueOf(e.getMessage()).contains("100000"), e.getMessage());
        assertEquals(100_000, orders.get(0).log().status().queuedBytes());
        able.run();
        start(1, 0);
        recorders.get(0).awaitCount(100);
        orders.get(0).log().append(message);
        assertEquals(101, recorders.get(0).awaitCount(101).size());
        assertEquals(range(1, 101), positions(recorders.get(1).awaitCount(101)));
    }

    @Test
    void allNodesStoppedAtOnceGoOnWhereTheyWere() throws Exception {
        startAll(3);
        for (int i = 0; i < 300; i++) {
            orders.get(i % 3).log().append(bytes("m" + i));
        }
        List<Recorder.Delivered> before = recorders.get(1).awaitCount(300);
        for (int node = 0; node < 3; node++) {
            stop(node);
        }
        for (int node = 0; node < 3; node++) {
            start(node, 100L * node);
        }
        if (!cluster.remembersStops()) {
            assertForgotten(Set.of(0, 1, 2));
            return;
        }
        for (int node = 0; node < 3; node++) {
            orders.get(node).log().append(bytes("after " + node));
        }
        List<Recorder.Delivered> all = recorders.get(0).awaitCount(303);
        assertEquals(before, all.subList(0, 300));
        assertEquals(range(1, 303), positions(all));
        assertEquals(all.subList(100, 303), recorders.get(1).awaitCount(203));
        assertEquals(all.subList(200, 303), recorders.get(2).awaitCount(103));
        Set<String> payloads = new HashSet<>();
        all.forEach(d -> payloads.add(d.payload()));
        assertEquals(303, payloads.size());
    }

    @Test
    void whatIsTruncatedIsGoneAndPositionsGoOn() throws Exception {
        startAll(3);
        byte[] padding = new byte[1000];
        String pad = new String(padding, StandardCharsets.UTF_8);
        Map<Integer, Order> senders = new HashMap<>(orders);
        for (int i = 0; i < 1000; i++) {
            senders.get(i % 3).log().append(bytes(i + pad));
            if (i % 100 == 99) {
                recorders.get(0).awaitCount(i + 1);
            }
        }
        for (Recorder recorder : recorders.values()) {
            recorder.awaitCount(1000);
        }
        long logBytes = orders.get(0).log().status().logBytes();
        orders.values().forEach(o -> o.log().truncate(800));
        for (int i = 1000; i < 1300; i++) {
            senders.get(i % 3).log().append(bytes(i + pad));
        }
        for (Recorder recorder : recorders.values()) {
            assertEquals(range(1, 1300), positions(recorder.awaitCount(1300)));
        }
        for (Order order : orders.values()) {
            cluster.waiting().await(this, () -> order.log().status().firstRetained() > 1,
                    () -> order.log().status().toString());
            long firstRetained = order.log().status().firstRetained();
            assertTrue(firstRetained > 1 && firstRetained <= 801, "first retained " + firstRetained);
        }
        assertTrue(orders.get(0).log().status().logBytes() < logBytes + 300 * 1100);
        stop(1);
        Order again = cluster.open(1);
        orders.put(1, again);
        Recorder late = new Recorder(cluster.waiting());
        DurableLog.TruncatedException e;
        if (cluster.tellsTruncationAtStart()) {
            e = assertThrows(DurableLog.TruncatedException.class, () -> again.log().start(0, late));
        } else {
            again.log().start(0, late);
            e = assertInstanceOf(DurableLog.TruncatedException.class, late.awaitFailure());
        }
        assertTrue(String.valueOf(e.getMessage()).contains("needs position 1"), e.getMessage());
        stop(1, again);
        start(1, 800);
        assertEquals(range(801, 1300), positions(recorders.get(1).awaitCount(500)));
        orders.get(1).log().append(bytes("more"));
        assertEquals(1301, recorders.get(1).awaitCount(501).getLast().position());
    }

    /** An order that lasts only as long as a majority goes on has ended, and its nodes say so. */
    private void assertForgotten(Set<Integer> nodes) throws Exception {
        for (int node : nodes) {
            Group.View seen = recorders.get(node).awaitView(view -> view.members().equals(nodes));
            assertFalse(seen.majority());
            orders.get(node).log().append(bytes("never"));
        }
        for (int node : nodes) {
            orders.get(node).group().multicast(bytes("heard"), nodes);
        }
        for (int node : nodes) {
            recorders.get(node).awaitLetters(nodes.size());
            assertFalse(orders.get(node).group().view().majority());
            assertTrue(orders.get(node).log().status().queuedBytes() > 0);
        }
    }

    private void stop(int node, Order order) {
        order.close();
        orders.remove(node);
    }

    @Test
    void aMessageThatIsTooLongIsRefused() throws Exception {
        startAll(1);
        Order order = orders.get(0);
        assertThrows(IllegalArgumentException.class,
                () -> order.log().append(new byte[order.log().maxPayloadBytes() + 1]));
        order.log().append(new byte[order.log().maxPayloadBytes()]);
        assertEquals(order.log().maxPayloadBytes(), recorders.get(0).awaitCount(1).get(0).payload().length());
    }

    @Test
    void whatIsMulticastReachesThoseThatItIsForInTheOrderInWhichEachSenderSentIt() throws Exception {
        startAll(3);
        for (int i = 0; i < 200; i++) {
            orders.get(0).group().multicast(bytes("a" + i), Set.of(0, 2));
            orders.get(1).group().multicast(bytes("b" + i), Set.of(2));
        }
        List<Recorder.Letter> own = recorders.get(0).awaitLetters(200);
        List<Recorder.Letter> far = recorders.get(2).awaitLetters(400);
        for (int sender = 0; sender < 2; sender++) {
            String name = sender == 0 ? "a" : "b";
            List<Recorder.Letter> expected = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                expected.add(new Recorder.Letter(sender, name + i));
            }
            int from = sender;
            assertEquals(expected, far.stream().filter(letter -> letter.sender() == from).toList());
            if (sender == 0) {
                assertEquals(expected, own);
            }
        }
        orders.get(2).group().multicast(bytes("to the second"), Set.of(1));
        assertEquals(List.of(new Recorder.Letter(2, "to the second")), recorders.get(1).awaitLetters(1));
        assertEquals(0, orders.get(0).log().status().lastKnown(), "nothing was ordered");
        assertThrows(IllegalArgumentException.class,
                () -> orders.get(0).group().multicast(new byte[orders.get(0).log().maxPayloadBytes() + 1], Set.of(1)));
    }

    @Test
    void whatIsMulticastToANodeThatIsAwayIsNotKeptForIt() throws Exception {
        startAll(3);
        stop(2);
        recorders.get(0).awaitView(v -> !v.members().contains(2));
        orders.get(0).group().multicast(bytes("lost"), Set.of(2));
        start(2, 0);
        for (int node : List.of(0, 2)) {
            recorders.get(node).awaitView(v -> v.members().equals(Set.of(0, 1, 2)));
        }
        orders.get(0).group().multicast(bytes("heard"), Set.of(2));
        assertEquals(List.of(new Recorder.Letter(0, "heard")), recorders.get(2).awaitLetters(1));
    }

    @Test
    void nothingIsDeliveredWhileDeliveriesAreSuspendedAndTheGroupIsHeardAllTheSame() throws Exception {
        startAll(3);
        DurableLog log = orders.get(1).log();
        Recorder recorder = recorders.get(1);
        recorder.onDelivery(position -> {
            if (position == 10 || position == 11) {
                log.suspend();
            }
        });
        for (int i = 0; i < 100; i++) {
            orders.get(i % 3).log().append(bytes("m" + i));
        }
        List<Recorder.Delivered> all = recorders.get(0).awaitCount(100);
        recorder.awaitCount(10);
        stop(2);
        recorder.awaitView(v -> v.members().equals(Set.of(0, 1)));
        orders.get(0).group().multicast(bytes("heard"), Set.of(1));
        recorder.awaitLetters(1);
        assertEquals(all.subList(0, 10), recorder.deliveries());
        log.resume();
        recorder.awaitCount(11);
        orders.get(0).group().multicast(bytes("heard again"), Set.of(1));
        recorder.awaitLetters(2);
        assertEquals(all.subList(0, 11), recorder.deliveries());
        log.resume();
        assertEquals(all, recorder.awaitCount(100));
        orders.get(1).log().append(bytes("more"));
        assertEquals(new Recorder.Delivered(101, 1, "more"), recorder.awaitCount(101).getLast());
    }

    @Test
    void deliveriesThatAreSuspendedAndResumedAtEveryMessageGoOn() throws Exception {
        startAll(3);
        DurableLog log = orders.get(0).log();
        recorders.get(0).onDelivery(position -> {
            log.suspend();
            if (position % 2 == 0) {
                log.resume();
            }
        });
        DurableLog other = orders.get(1).log();
        recorders.get(1).onDelivery(_ -> {
            other.resume();
            other.suspend();
            other.resume();
        });
        for (int i = 0; i < 200; i++) {
            orders.get(i % 3).log().append(bytes("m" + i));
        }
        List<Recorder.Delivered> all = recorders.get(2).awaitCount(200);
        for (int odd = 1; odd < 200; odd += 2) {
            assertEquals(all.subList(0, odd), recorders.get(0).awaitCount(odd));
            log.resume();
        }
        assertEquals(all, recorders.get(0).awaitCount(200));
        assertEquals(all, recorders.get(1).awaitCount(200));
    }

    @Test
    void nothingIsToldAfterClose() throws Exception {
        startAll(3);
        for (int i = 0; i < 100; i++) {
            orders.get(0).log().append(bytes("m" + i));
        }
        Recorder recorder = recorders.get(1);
        orders.get(1).close();
        int told = recorder.deliveries().size();
        recorders.get(0).awaitCount(100);
        assertEquals(told, recorder.deliveries().size());
        assertEquals(0, recorder.failures());
    }
}
