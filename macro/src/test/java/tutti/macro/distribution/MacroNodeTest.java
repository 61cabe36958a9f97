package tutti.macro.distribution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Order;
import tutti.macro.CallTimeoutException;
import tutti.macro.example.Components;
import tutti.macro.example.InvertedIndex;
import tutti.macro.example.SearchIndex;
import tutti.order.local.LocalOrderGroup;
import tutti.runtime.real.RealMachine;

@Timeout(60)
class MacroNodeTest {
    private final LocalOrderGroup group = new LocalOrderGroup(RealMachine.INSTANCE, Set.of(1, 2, 3));
    private final List<MacroNode> nodes = new ArrayList<>();

    @AfterEach
    void leave() {
        nodes.forEach(MacroNode::close);
    }

    private MacroNode.Builder builder(int node) {
        return MacroNode.builder(node, group.open(node));
    }

    private MacroNode start(MacroNode.Builder builder) throws DurableLog.TruncatedException {
        MacroNode node = builder.start();
        nodes.add(node);
        return node;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Integer> stock(MacroNode node) {
        return node.component("stock", Map.class);
    }

    @Test
    void aReplicatedMapInTenLines() throws Exception {
        MacroNode one = start(
                MacroNode.builder(1, group.open(1)).component("stock", HostedComponent.of(Map.class, new HashMap<>())));
        MacroNode two = start(
                MacroNode.builder(2, group.open(2)).component("stock", HostedComponent.of(Map.class, new TreeMap<>())));
        Map<String, Integer> here = stock(one);
        Map<String, Integer> there = stock(two);
        assertNull(here.put("apples", 3));
        assertEquals(3, there.put("apples", 4));
        assertEquals(4, here.get("apples"));
        assertEquals(Map.of("apples", 4), there);
        assertThrows(UnsupportedOperationException.class, () -> here.keySet().clear(), "what it gives is a copy");
        assertEquals(1, there.size());
    }

    @Test
    void exceptionsOfOperationsComeToTheirCallersAndChangeNothing() throws Exception {
        MacroNode one = start(
                builder(1).component("index", HostedComponent.of(SearchIndex.class, InvertedIndex.hashed())));
        MacroNode two = start(
                builder(2).component("index", HostedComponent.of(SearchIndex.class, InvertedIndex.sorted())));
        SearchIndex index = one.component("index", SearchIndex.class);
        assertFalse(index.put(7, "the total order"));
        assertThrows(SearchIndex.UnknownDocumentException.class, () -> index.remove(8));
        assertEquals(List.of(7), two.component("index", SearchIndex.class).containing("total"));
        assertThrows(IllegalArgumentException.class, () -> one.component("index", Map.class));
        assertThrows(EncodingException.class,
                () -> stock(start(builder(3).component("stock", HostedComponent.of(Map.class, new HashMap<>()))))
                        .computeIfAbsent("x", String::length),
                "a lambda cannot be sent");
    }

    @Test
    void callsAtAllNodesTogetherAreLinearizable() throws Exception {
        List<Map<String, Integer>> copies = new ArrayList<>();
        for (int node = 1; node <= 3; node++) {
            copies.add(stock(start(builder(node)
                    .values(ObjectCodec.standard().withTypes(Add.class))
                    .component("stock", HostedComponent.of(Map.class, new HashMap<>(Map.of("n", 0)))))));
        }
        record Done(long invoked, long responded, long saw, boolean write) {}
        List<CompletableFuture<List<Done>>> running = new ArrayList<>();
        for (int t = 0; t < 3; t++) {
            int at = t;
            running.add(CompletableFuture.supplyAsync(() -> {
                List<Done> done = new ArrayList<>();
                for (int i = 0; i < 600; i++) {
                    boolean write = i % 3 == at;
                    long invoked = System.nanoTime();
                    long saw;
                    try {
                        saw = write
                                ? ((Integer) nodes.get(at).sender().runOperation("stock", new Add("n", 1))).longValue()
                                : copies.get(at).get("n").longValue();
                    } catch (Throwable e) {
                        throw new AssertionError(e);
                    }
                    done.add(new Done(invoked, System.nanoTime(), saw, write));
                }
                return done;
            }, r -> Thread.ofPlatform().start(r)));
        }
        List<Done> history = new ArrayList<>();
        for (var one : running) {
            history.addAll(one.get(50, TimeUnit.SECONDS));
        }
        long writes = history.stream().filter(Done::write).count();
        assertEquals(writes, history.stream().filter(Done::write).mapToLong(Done::saw).distinct().count());
        for (Done later : history) {
            for (Done earlier : history) {
                if (earlier.responded() < later.invoked()) {
                    assertTrue(later.saw() >= earlier.saw() + (later.write() ? 1 : 0), earlier + " before " + later);
                }
            }
        }
        copies.forEach(copy -> assertEquals(writes, copy.get("n").longValue()));
    }

    /** Adds to a number and tells the sum. */
    public record Add(String key, int amount) implements MacroOperation<Map<String, Integer>> {
        @Override
        public Object execute(Map<String, Integer> map) {
            return map.merge(key, amount, Integer::sum);
        }
    }

    @Test
    void localReadsSeeWhatWasWrittenHereAndAskNobody() throws Exception {
        Map<String, Integer> one = stock(start(builder(1).readLevel(ReadLevel.LOCAL)
                .component("stock", HostedComponent.of(Map.class, new HashMap<>()))));
        MacroNode second = start(builder(2).component("stock", HostedComponent.of(Map.class, new HashMap<>())));
        for (int i = 0; i < 200; i++) {
            one.put("a", i);
            assertEquals(i, one.get("a"));
        }
        second.close();
        assertEquals(199, one.get("a"), "there is no majority now, reading goes on");
        assertThrows(NodeFailedException.class, () -> stock(second).get("a"));
    }

    @Test
    void aNodeJoinsWithACopyAtAPositionWhileUpdatesGoOnAndAnotherLeaves() throws Exception {
        Map<String, Integer> one = stock(
                start(builder(1).component("stock", HostedComponent.of(Map.class, new HashMap<>()))));
        Order order = group.open(2);
        MacroNode second = start(
                MacroNode.builder(2, order).component("stock", HostedComponent.of(Map.class, new HashMap<>())));
        for (int i = 0; i < 500; i++) {
            one.put("k" + i % 50, i);
        }
        StateCopy early = second.stateCopy();
        order.log().truncate(early.position());
        assertThrows(DurableLog.TruncatedException.class,
                () -> builder(3).component("stock", HostedComponent.of(Map.class, new HashMap<>())).start());
        AtomicBoolean stop = new AtomicBoolean();
        CountDownLatch some = new CountDownLatch(100);
        CompletableFuture<Void> puts = CompletableFuture.runAsync(() -> {
            for (int i = 0; !stop.get(); i++) {
                one.put("late" + i % 100, i);
                some.countDown();
            }
        }, r -> Thread.ofPlatform().start(r));
        assertTrue(some.await(20, TimeUnit.SECONDS));
        StateCopy copy = second.stateCopy();
        assertTrue(copy.position() > early.position());
        MacroNode third = builder(3).component("stock", HostedComponent.of(Map.class, new TreeMap<>())).start(copy);
        nodes.add(third);
        third.awaitCurrent();
        second.close();
        stop.set(true);
        puts.get(20, TimeUnit.SECONDS);
        assertEquals(one, stock(third));
        stock(third).put("from three", 3);
        assertEquals(3, one.get("from three"));
    }

    @Test
    void aNodeThatStartsAgainExecutesTheLogAgain() throws Exception {
        Map<String, Integer> one = stock(
                start(builder(1).component("stock", HostedComponent.of(Map.class, new HashMap<>()))));
        MacroNode second = start(builder(2).component("stock", HostedComponent.of(Map.class, new HashMap<>())));
        stock(second).put("before", 1);
        second.close();
        MacroNode again = start(builder(2).component("stock", HostedComponent.of(Map.class, new HashMap<>())));
        again.awaitCurrent();
        one.put("after", 2);
        assertEquals(Map.of("before", 1, "after", 2), stock(again));
    }

    @Test
    void aNodeWithoutComponentsIsAClient() throws Throwable {
        MacroNode one = start(
                builder(1).component("index", HostedComponent.of(SearchIndex.class, InvertedIndex.hashed()))
                        .component("stock", HostedComponent.of(Map.class, new HashMap<>())).byPriority());
        start(builder(2).component("index", HostedComponent.of(SearchIndex.class, InvertedIndex.hashed())).component(
                "stock",
                HostedComponent.of(Map.class, new HashMap<>())));
        MacroNode client = start(builder(3).values(ObjectCodec.standard().withTypes(Add.class))
                .component("index", HostedComponent.elsewhere(SearchIndex.class))
                .component("stock", HostedComponent.elsewhere(Map.class)));
        assertTrue(Set.of(1, 2).contains(client.sender().discover()));
        SearchIndex index = client.component("index", SearchIndex.class);
        assertFalse(index.put(1, "many words, few of them new"));
        assertEquals(List.of("few"), index.completions("fe", 5));
        OperationFailedException failed = assertThrows(OperationFailedException.class, () -> index.remove(2));
        assertEquals(SearchIndex.UnknownDocumentException.class.getName(), failed.thrownClass());
        assertThrows(NullPointerException.class, () -> stock(client).merge("x", null, null));
        client.awaitCurrent();
        // Only the client knows this operation, which is refused, and the nodes go on.
        assertThrows(EncodingException.class, () -> client.sender().runOperation("stock", new Add("n", 1)));
        stock(client).put("n", 5);
        assertEquals(5, stock(one).get("n"));
        assertThrows(IllegalStateException.class, client::stateCopy);
    }

    @Test
    void anOperationCanBeSentToOneNodeWhichPutsUpdatesIntoTheOrder() throws Throwable {
        ObjectCodec values = ObjectCodec.standard().withTypes(Add.class, Get.class);
        MacroNode one = start(
                builder(1).values(values).component("stock", HostedComponent.of(Map.class, new HashMap<>())));
        MacroNode two = start(
                builder(2).values(values).component("stock", HostedComponent.of(Map.class, new HashMap<>())));
        assertEquals(4, one.sender().runOperationReliably("stock", new Add("n", 4), 2, 0));
        assertEquals(4, one.sender().runOperationReliably("stock", new Get("n"), 2, 1));
        assertEquals(4, one.sender().runOperation("stock", new Get("n")));
        assertEquals(4, stock(two).get("n"));
        List<CompletableFuture<Object>> later = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            later.add(one.sender().runOperationAsync("stock", new Add("n", 1)));
        }
        for (int i = 0; i < 100; i++) {
            assertEquals(5 + i, later.get(i).get(20, TimeUnit.SECONDS));
        }
        ExecutionException thrown = assertThrows(ExecutionException.class,
                () -> one.sender().runOperationAsync("stock", new Add(null, 1)).thenCompose(
                        _ -> one.sender().runOperationAsync("stock", new Fail())).get(20, TimeUnit.SECONDS));
        assertInstanceOf(EncodingException.class, thrown.getCause(), "Fail was not registered");
    }

    /** Reads. */
    public record Get(String key) implements MacroOperation<Map<String, Integer>> {
        @Override
        public Object execute(Map<String, Integer> map) {
            return map.get(key);
        }

        @Override
        public boolean reads() {
            return true;
        }
    }

    /** Not registered anywhere. */
    public record Fail() implements MacroOperation<Map<String, Integer>> {
        @Override
        public Object execute(Map<String, Integer> map) {
            throw new IllegalStateException("on purpose");
        }
    }

    @Test
    void operationsCreateComponentsThatCopiesHave() throws Throwable {
        ObjectCodec values = ObjectCodec.standard().withTypes(Open.class, Add.class);
        Map<Integer, MacroNode> all = new TreeMap<>();
        for (int node = 1; node <= 2; node++) {
            all.put(node, start(accounts(node, values)));
        }
        all.get(1).sender().runOperation("directory", new Open("mine"));
        assertThrows(IllegalArgumentException.class,
                () -> all.get(2).sender().runOperation("directory", new Open("mine")));
        assertEquals(5, all.get(2).sender().runOperation("mine", new Add("balance", 5)));
        StateCopy copy = all.get(1).stateCopy();
        MacroNode third = accounts(3, values).start(copy);
        nodes.add(third);
        assertEquals(6, third.sender().runOperation("mine", new Add("balance", 1)));
        assertEquals(6, all.get(1).component("mine", Map.class).get("balance"));
    }

    private MacroNode.Builder accounts(int node, ObjectCodec values) {
        return builder(node).values(values).component("directory", HostedComponent.of(Map.class, new HashMap<>()))
                .definition("account", () -> HostedComponent.of(Map.class, new HashMap<>()));
    }

    /** Opens an account: a component of its own. */
    public record Open(String id) implements MacroOperation<Map<String, String>> {
        @Override
        public Object execute(Map<String, String> directory) {
            throw new UnsupportedOperationException("it needs the translator");
        }

        @Override
        public Object execute(Map<String, String> directory, MessageTranslator translator) {
            translator.create(id, "account");
            return directory.put(id, "open");
        }
    }

    @Test
    void aNodeThatCannotReadAnUpdateStopsAndTheOthersGoOn() throws Throwable {
        ObjectCodec values = ObjectCodec.standard().withTypes(Add.class);
        MacroNode one = start(
                builder(1).values(values).component("stock", HostedComponent.of(Map.class, new HashMap<>())));
        MacroNode two = start(
                builder(2).values(values).component("stock", HostedComponent.of(Map.class, new HashMap<>())));
        MacroNode old = start(builder(3).component("stock", HostedComponent.of(Map.class, new HashMap<>())));
        one.sender().runOperation("stock", new Add("n", 1));
        assertThrows(NodeFailedException.class, old::awaitCurrent);
        assertInstanceOf(EncodingException.class, old.failure().getCause());
        assertEquals(1, stock(two).get("n"));
    }

    @Test
    void withoutAMajorityACallEndsAtItsLimit() throws Exception {
        Map<String, Integer> alone = stock(start(builder(1).callLimit(Duration.ofMillis(50)).component("stock",
                HostedComponent.of(Map.class, new HashMap<>()))));
        assertThrows(CallTimeoutException.class, () -> alone.put("a", 1));
    }

    @Test
    void aMacroComponentCanBeDistributed() throws Exception {
        try (var macroOne = Components.<String, Integer>map().build();
                var macroTwo = Components.<String, Integer>map().build()) {
            MacroNode one = start(builder(1).lockService(LockService.none()).component("stock",
                    HostedComponent.of(Map.class, macroOne.component())));
            MacroNode two = start(builder(2).lockService(LockService.none()).component("stock",
                    HostedComponent.of(Map.class, macroTwo.component())));
            for (int i = 0; i < 100; i++) {
                stock(i % 2 == 0 ? one : two).put("k" + i, i);
            }
            assertEquals(100, stock(one).size());
            two.awaitCurrent();
            assertEquals(macroOne.component(), new HashMap<>(macroTwo.component()));
            StateCopy copy = one.stateCopy();
            MacroNode three = builder(3).component("stock", HostedComponent.of(Map.class, new HashMap<>())).start(copy);
            nodes.add(three);
            assertEquals(99, stock(three).get("k99"));
        }
    }

    /** What the index's interface becomes for callers that do not wait. */
    public interface AsyncIndex {
        CompletableFuture<Boolean> put(int document, String text);

        CompletableFuture<Void> remove(int document);

        CompletableFuture<List<Integer>> containing(String word);
    }

    @ParameterizedTest
    @EnumSource(ReadLevel.class)
    void callsOfTheInterfaceMayBeAsynchronous(ReadLevel level) throws Exception {
        MacroNode one = start(builder(1).readLevel(level).component("index",
                HostedComponent.of(SearchIndex.class, InvertedIndex.hashed())));
        MacroNode client = start(builder(2).component("index", HostedComponent.elsewhere(SearchIndex.class)));
        start(builder(3).component("index", HostedComponent.of(SearchIndex.class, InvertedIndex.sorted())));
        for (MacroNode node : List.of(one, client)) {
            AsyncIndex index = node.asynchronous("index", AsyncIndex.class);
            List<CompletableFuture<Boolean>> puts = new ArrayList<>();
            for (int i = 0; i < 50; i++) {
                puts.add(index.put(i, "number " + i));
            }
            for (CompletableFuture<Boolean> put : puts) {
                assertEquals(node.equals(client), put.get(20, TimeUnit.SECONDS));
            }
            assertEquals(List.of(7), index.containing("7").get(20, TimeUnit.SECONDS));
            ExecutionException failed = assertThrows(ExecutionException.class,
                    () -> index.remove(50).get(20, TimeUnit.SECONDS));
            assertTrue(failed.getCause() instanceof SearchIndex.UnknownDocumentException
                    || failed.getCause() instanceof OperationFailedException, failed.toString());
            assertTrue(index.toString().contains("index"), index.toString());
        }
        assertThrows(IllegalArgumentException.class, () -> one.asynchronous("index", Runnable.class));
    }

    @Test
    void aClientMayKeepToOneNode() throws Exception {
        MacroNode one = start(builder(1).component("stock", HostedComponent.of(Map.class, new HashMap<>())));
        MacroNode two = start(builder(2).component("stock", HostedComponent.of(Map.class, new HashMap<>())));
        MacroNode client = start(builder(3).component("stock", HostedComponent.elsewhere(Map.class)));
        Map<String, Integer> atTwo = stockAtTwo(client);
        assertNull(atTwo.put("apples", 3));
        assertEquals(3, atTwo.get("apples"));
        assertEquals("{apples=3}", atTwo.toString());
        assertEquals(3, stock(one).get("apples"), "an update is made everywhere all the same");
        client.close();
        two.close();
        MacroNode hasty = start(builder(3).callLimit(Duration.ofMillis(50)).component("stock",
                HostedComponent.elsewhere(Map.class)));
        assertThrows(CallTimeoutException.class, () -> stockAtTwo(hasty).get("apples"));
    }

    @Test
    void whatOneNodeIsToldOrAnswersTakesNoPlaceInTheOrder() throws Exception {
        Order orderOfOne = group.open(1);
        MacroNode one = start(MacroNode.builder(1, orderOfOne).component("stock",
                HostedComponent.of(Map.class, new HashMap<>())));
        start(builder(2).component("stock", HostedComponent.of(Map.class, new HashMap<>())));
        MacroNode client = start(builder(3).component("stock", HostedComponent.elsewhere(Map.class)));
        stock(client).put("apples", 3);
        stockAtTwo(client).put("pears", 5);
        one.awaitCurrent();
        long before = orderOfOne.log().status().lastKnown();
        assertEquals(3, before,
                "two updates and one wait: their replies, and what node 2 was told, are not among them");
        for (int i = 0; i < 20; i++) {
            assertEquals(3, stockAtTwo(client).get("apples"));
        }
        assertEquals(before, orderOfOne.log().status().lastKnown());
    }

    @Test
    void whoIsAwayIsToldWhenItIsBack() throws Throwable {
        ObjectCodec values = ObjectCodec.standard().withTypes(Add.class);
        Order orderOfOne = group.open(1);
        MacroNode one = start(MacroNode.builder(1, orderOfOne).values(values).component("stock",
                HostedComponent.of(Map.class, new HashMap<>())));
        start(builder(3).values(values).component("stock", HostedComponent.of(Map.class, new HashMap<>())));
        stock(one).put("n", 4);
        CompletableFuture<Object> asked = CompletableFuture.supplyAsync(() -> {
            try {
                return one.sender().runOperationReliably("stock", new Add("n", 1), 2, 0);
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }, r -> Thread.ofPlatform().start(r));
        while (orderOfOne.log().status().lastKnown() < 2) {
            Thread.onSpinWait();
        }
        start(builder(2).values(values).component("stock", HostedComponent.of(Map.class, new HashMap<>())));
        assertEquals(5, asked.get(20, TimeUnit.SECONDS));
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Integer> stockAtTwo(MacroNode client) {
        return client.componentAt("stock", Map.class, 2);
    }

    /** What a list becomes for callers that do not wait. */
    public interface AsyncList {
        CompletableFuture<Boolean> add(Object element);

        CompletableFuture<Iterator<Integer>> iterator();
    }

    @Test
    @SuppressWarnings("unchecked")
    void clientsPassOverCollections() throws Exception {
        start(builder(1).component("numbers", HostedComponent.of(List.class, new ArrayList<>())));
        start(builder(2).component("numbers", HostedComponent.of(List.class, new ArrayList<>())));
        MacroNode client = start(builder(3).component("numbers", HostedComponent.elsewhere(List.class)));
        AsyncList later = client.asynchronous("numbers", AsyncList.class);
        for (int i = 0; i < 3; i++) {
            assertTrue(later.add(i).get(20, TimeUnit.SECONDS));
        }
        assertEquals(0, later.iterator().get(20, TimeUnit.SECONDS).next());
        List<List<?>> everywhere = List.of(client.component("numbers", List.class),
                client.componentAt("numbers", List.class, 2), nodes.getFirst().component("numbers", List.class));
        for (List<?> any : everywhere) {
            List<Integer> numbers = (List<Integer>) any;
            int sum = 0;
            for (Integer number : numbers) {
                sum += number;
            }
            assertEquals(3, sum);
            assertEquals(3, numbers.stream().mapToInt(n -> n).sum());
            assertEquals(1, numbers.listIterator(2).previous());
        }
    }

    @Test
    void whatANodeCannotHaveIsRefusedWithCauseAndRemedy() throws Exception {
        assertThrows(IllegalArgumentException.class, () -> HostedComponent.of(HashMap.class, new HashMap<>()));
        IllegalArgumentException none = assertThrows(IllegalArgumentException.class,
                () -> HostedComponent.of(Map.class, null));
        assertTrue(none.getMessage().contains("elsewhere()"), none.getMessage());
        MacroNode.Builder builder = builder(1).component("stock", HostedComponent.of(Map.class, new HashMap<>()));
        assertThrows(IllegalArgumentException.class,
                () -> builder.component("stock", HostedComponent.of(Map.class, new HashMap<>())));
        MacroNode one = start(
                builder.component("index", HostedComponent.of(SearchIndex.class, InvertedIndex.hashed())));
        IllegalArgumentException unknown = assertThrows(IllegalArgumentException.class,
                () -> one.component("stocks", Map.class));
        assertTrue(unknown.getMessage().contains("[index, stock]"), unknown.getMessage());
        IllegalArgumentException other = assertThrows(IllegalArgumentException.class,
                () -> one.component("stock", List.class));
        assertTrue(other.getMessage().contains("is a java.util.Map, not a java.util.List"), other.getMessage());
        start(builder(2).component("stock", HostedComponent.of(Map.class, new HashMap<>())));
        stock(one).put("a", 1);
        IllegalStateException noCodec = assertThrows(IllegalStateException.class, one::stateCopy);
        assertTrue(noCodec.getMessage().contains("HostedComponent.state"), noCodec.getMessage());
        assertEquals(1, stock(one).get("a"), "and it goes on");
    }
}
