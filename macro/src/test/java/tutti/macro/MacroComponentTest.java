package tutti.macro;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.invoke.MethodHandles;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.macro.call.CallKind;
import tutti.macro.call.Invocation;
import tutti.macro.call.Operation;

@Timeout(60)
class MacroComponentTest {
    private static MacroComponent.Builder<Counter> counters(Counter... replicas) {
        MacroComponent.Builder<Counter> builder = MacroComponent.of(Counter.class).reads("get.*");
        for (int i = 0; i < replicas.length; i++) {
            builder.replica("r" + i, replicas[i]);
        }
        return builder;
    }

    @ParameterizedTest
    @EnumSource(Invocation.class)
    void callsAreForwardedWithAllTypesAndExceptionsComeThroughUnchanged(Invocation invocation) {
        Counter.Plain one = new Counter.Plain();
        Counter.Plain two = new Counter.Plain();
        try (var macro = counters(one, two).invocation(invocation).build()) {
            Counter counter = macro.component();
            assertEquals(5, counter.add(5));
            assertEquals(11, counter.addTwice(3), "a default method is one call");
            for (int i = 0; i < 1000; i++) {
                assertEquals(11, counter.get());
                assertEquals(1 + 2 + 'c' + 1 + 4 + 7 + 8 + 11,
                        counter.getPrimitives((byte) 1, (short) 2, 'c', true, 1.5f, 2.5, 7, 8));
            }
            var thrown = assertThrows(Counter.CounterException.class, () -> counter.fail("on purpose"));
            assertEquals("on purpose", thrown.getMessage());
            assertEquals(counter, counter);
            assertNotEquals(counter, one);
            assertFalse(counter.toString().isEmpty());
            assertTrue(macro.awaitAll());
            assertEquals(11, one.value);
            assertEquals(11, two.value);
        }
    }

    @Test
    void aPrivateInterfaceNeedsALookup() {
        IllegalArgumentException thrown = assertThrows(IllegalArgumentException.class,
                () -> MacroComponent.of(Hidden.class).replica("one", () -> 7).build());
        assertTrue(thrown.getMessage().contains("lookup"), thrown.getMessage());
        try (var macro = MacroComponent.of(Hidden.class, MethodHandles.lookup()).replica("one", () -> 7).build()) {
            assertEquals(7, macro.component().seven());
        }
    }

    private interface Hidden {
        int seven();
    }

    @Test
    void callsAreClassifiedByFunctionThenAnnotationThenNameThenKnowledgeOfTheJdk() {
        Map<String, CallKind> kinds = tutti.macro.call.OperationTable.of(Marked.class).reads("byName|unmarked.*")
                .classify(m -> m.getName().equals("unmarkedTwo") ? CallKind.WRITE : null).build().operations().stream()
                .collect(Collectors.toMap(o -> o.method().getName(), Operation::kind));
        assertEquals(Map.of("read", CallKind.READ, "byName", CallKind.READ, "unmarkedOne", CallKind.READ,
                "unmarkedTwo", CallKind.WRITE, "other", CallKind.WRITE), kinds);
        Set<String> reads = tutti.macro.call.OperationTable.of(Map.class).build().operations().stream()
                .filter(Operation::reads).map(o -> o.method().getName()).collect(Collectors.toSet());
        assertEquals(
                Set.of("get", "getOrDefault", "containsKey", "containsValue", "size", "isEmpty", "keySet", "values",
                        "entrySet", "forEach", "equals", "hashCode", "toString"),
                reads);
        assertThrows(IllegalArgumentException.class,
                () -> tutti.macro.call.OperationTable.of(Marked.class).reads("by.*").writes(".*Name").build());
    }

    /** Of all kinds. */
    public interface Marked {
        @tutti.macro.call.Read
        void read();

        void byName();

        void unmarkedOne();

        void unmarkedTwo();

        void other();
    }

    @ParameterizedTest
    @EnumSource(Execution.class)
    void asynchronousCallsGiveFuturesAndKeepTheirOrder(Execution execution) throws Exception {
        try (var macro = counters(new Counter.Plain(), new Counter.Plain()).execution(execution).build()) {
            Counter.Async async = macro.asynchronous(Counter.Async.class);
            List<CompletableFuture<Long>> all = new ArrayList<>();
            for (int i = 0; i < 500; i++) {
                all.add(async.add(2));
                all.add(async.get());
            }
            for (int i = 0; i < 500; i++) {
                assertEquals(2L * i + 2, all.get(2 * i).get(20, TimeUnit.SECONDS));
                assertTrue(all.get(2 * i + 1).get(20, TimeUnit.SECONDS) >= 2L * i + 2, "it sees the writes before it");
            }
            ExecutionException failed = assertThrows(ExecutionException.class,
                    () -> async.fail("later").get(20, TimeUnit.SECONDS));
            assertInstanceOf(Counter.CounterException.class, failed.getCause());
            assertEquals(1000, macro.submit(Counter::get).get(20, TimeUnit.SECONDS));
            assertThrows(IllegalArgumentException.class, () -> macro.submit(c -> c.get() + c.add(1)));
            assertThrows(IllegalArgumentException.class, () -> macro.submit(c -> "nothing"));
        }
    }

    @Test
    void readOneMovesToTheReplicaThatIsBestAtTheOperation() {
        try (var macro = MacroComponent.of(TwoFaced.class).reads("get.*").replica("a", new TwoFaced.Of(1, 3000))
                .replica("b", new TwoFaced.Of(3000, 1)).build()) {
            TwoFaced both = macro.component();
            int aForOne = 0;
            int bForTwo = 0;
            for (int i = 0; i < 5000; i++) {
                both.getOne();
                both.getTwo();
            }
            for (int i = 0; i < 2000; i++) {
                aForOne += both.getOne() == 1 ? 1 : 0;
                bForTwo += both.getTwo() == 1 ? 1 : 0;
            }
            assertTrue(aForOne > 1800 && bForTwo > 1800, aForOne + " and " + bForTwo);
        }
    }

    @Test
    void aReplicaThatWasSlowOnceIsNotShunned() {
        AtomicLong clock = new AtomicLong();
        TwoFaced slowAtFirst = new Taking(clock, "a", 300_000, 1);
        TwoFaced steady = new Taking(clock, "b", 3000, 3000);
        try (var macro = MacroComponent.of(TwoFaced.class).reads("get.*").replica("a", slowAtFirst)
                .replica("b", steady).clock(clock::get).build()) {
            int aForOne = 0;
            for (int i = 0; i < 200; i++) {
                aForOne += macro.component().getOne() == 'a' ? 1 : 0;
            }
            assertTrue(aForOne > 150,
                    "of 200 reads " + aForOne + " went to the replica that is better but for its first");
        }
    }

    /** Says how long its reads take: the first one, and all others. */
    private static final class Taking implements TwoFaced {
        private final AtomicLong clock;
        private final String name;
        private final long others;
        private long next;

        Taking(AtomicLong clock, String name, long first, long others) {
            this.clock = clock;
            this.name = name;
            this.others = others;
            next = first;
        }

        @Override
        public int getOne() {
            clock.addAndGet(next);
            next = others;
            return name.charAt(0);
        }

        @Override
        public int getTwo() {
            return getOne();
        }
    }

    /** Two reads, each as dear as its implementation makes it; the result tells. */
    public interface TwoFaced {
        int getOne();

        int getTwo();

        /** Works for so many steps. */
        final class Of implements TwoFaced {
            private final int one;
            private final int two;

            Of(int one, int two) {
                this.one = one;
                this.two = two;
            }

            private static int work(int steps) {
                double x = steps;
                for (int i = 0; i < steps; i++) {
                    x = Math.sin(x);
                }
                return x > 2 ? 0 : steps;
            }

            @Override
            public int getOne() {
                return work(one);
            }

            @Override
            public int getTwo() {
                return work(two);
            }
        }
    }

    @Test
    void aBusyReplicaIsNotWaitedForByReads() throws Exception {
        Gate gate = new Gate();
        try (var macro = counters(gate, new Counter.Plain()).build()) {
            Counter counter = macro.component();
            for (int i = 0; i < 100; i++) {
                counter.get();
            }
            gate.shut();
            CompletableFuture<Long> write = CompletableFuture.supplyAsync(() -> counter.add(1));
            gate.awaitCall();
            // The write may have been led by the other replica, which then has it. In any case reads go on.
            for (int i = 0; i < 200; i++) {
                assertTrue(counter.get() <= 1);
            }
            gate.open();
            assertEquals(1, write.get(20, TimeUnit.SECONDS));
        }
    }

    @Test
    void readAllTakesTheFirstAnswerAndReadManyAsksAsManyAsItIsTold() throws Exception {
        Gate slow = new Gate();
        slow.shut();
        try (var macro = counters(slow, new Counter.Plain()).readStrategy(ReadStrategy.all()).build()) {
            for (int i = 0; i < 100; i++) {
                assertEquals(0, macro.component().get());
            }
            slow.open();
        }
        Set<String> asked = ConcurrentHashMap.newKeySet();
        try (var macro = MacroComponent.of(Named.class).reads("who").replica("a", new Named.Of("a", asked))
                .replica("b", new Named.Of("b", asked)).replica("c", new Named.Of("c", asked))
                .readStrategy(ReadStrategy.many(2)).build()) {
            assertTrue(Set.of("a", "b", "c").contains(macro.component().who()));
            assertTrue(asked.size() <= 2, asked.toString());
        }
    }

    /** Tells which implementation it is. */
    public interface Named {
        String who();

        /** Notes that it was asked. */
        record Of(String name, Set<String> asked) implements Named {
            @Override
            public String who() {
                asked.add(name);
                return name;
            }
        }
    }

    @Test
    void executorsMayBeVirtualThreadsAndThenOnlyTheyTouchTheReplicas() {
        Set<Thread> touched = ConcurrentHashMap.newKeySet();
        Counter noting = new Counter.Plain() {
            @Override
            public long get() {
                touched.add(Thread.currentThread());
                return super.get();
            }

            @Override
            public long add(long amount) {
                touched.add(Thread.currentThread());
                return super.add(amount);
            }
        };
        try (var macro = counters(noting).execution(Execution.EXECUTOR).threads(Thread.ofVirtual().factory()).build()) {
            for (int i = 1; i <= 100; i++) {
                assertEquals(i, macro.component().add(1));
                assertEquals(i, macro.component().get());
            }
        }
        assertEquals(1, touched.size());
        assertTrue(touched.iterator().next().isVirtual());
    }

    @ParameterizedTest
    @EnumSource(OverflowPolicy.class)
    void aFullWorkQueueDoesWhatItsPolicySays(OverflowPolicy policy) throws Exception {
        Gate slow = new Gate();
        Counter.Plain fast = new Counter.Plain();
        try (var macro = counters(fast, slow).queueCapacity(4).overflow(policy)
                .callLimit(Duration.ofMillis(policy == OverflowPolicy.WAIT ? 200 : 20_000)).build()) {
            Counter counter = macro.component();
            // The slow replica's executor gets stuck with the first write, which the fast one answers.
            slow.shut();
            Counter.Async async = macro.asynchronous(Counter.Async.class);
            CompletableFuture<Long> first = async.add(1);
            slow.awaitCall();
            assertEquals(1, first.get(20, TimeUnit.SECONDS));
            for (int i = 2; i <= 4; i++) {
                assertEquals(i, counter.add(1));
            }
            if (policy == OverflowPolicy.CALLER_RUNS) {
                CompletableFuture<Long> fifth = CompletableFuture.supplyAsync(() -> counter.add(1));
                slow.open();
                assertEquals(5, fifth.get(20, TimeUnit.SECONDS));
            } else {
                assertThrows(WorkQueueFullException.class, () -> counter.add(1));
                assertEquals(4, counter.get(), "nothing was executed");
                slow.open();
                assertTrue(macro.awaitAll());
                assertEquals(5, counter.add(1));
            }
            assertTrue(macro.awaitAll());
            assertEquals(5, fast.value);
            assertEquals(5, slow.value);
        }
    }

    @Test
    void aCallThatWaitsTooLongIsToldSoAndItsWriteTakesEffect() throws Exception {
        Gate only = new Gate();
        try (var macro = counters(only).execution(Execution.EXECUTOR).callLimit(Duration.ofMillis(100)).build()) {
            only.shut();
            assertThrows(CallTimeoutException.class, () -> macro.component().add(1));
            only.open();
            assertTrue(macro.awaitAll());
            assertEquals(1, macro.component().get());
        }
    }

    @Test
    void replicasComeAndGoWhileCallsGoOn() throws Exception {
        Counter.Plain first = new Counter.Plain();
        try (var macro = counters(first).build()) {
            Counter counter = macro.component();
            List<CompletableFuture<Void>> running = new ArrayList<>();
            java.util.concurrent.atomic.AtomicBoolean stop = new java.util.concurrent.atomic.AtomicBoolean();
            java.util.concurrent.atomic.AtomicLong added = new java.util.concurrent.atomic.AtomicLong();
            for (int t = 0; t < 3; t++) {
                running.add(CompletableFuture.runAsync(() -> {
                    while (!stop.get()) {
                        long before = counter.add(1);
                        added.incrementAndGet();
                        assertTrue(counter.get() >= before);
                    }
                }, r -> Thread.ofPlatform().start(r)));
            }
            StateCopier<Counter> copier = (from, to) -> ((Counter.Plain) to).value = ((Counter.Plain) from).value;
            List<Counter.Plain> later = new ArrayList<>();
            for (int round = 0; round < 30; round++) {
                Counter.Plain next = new Counter.Plain();
                later.add(next);
                macro.add("later" + round, next, copier);
                if (round >= 2) {
                    assertTrue(macro.remove("later" + (round - 2)));
                }
                if (round == 10) {
                    assertTrue(macro.remove("r0"));
                }
            }
            stop.set(true);
            for (CompletableFuture<Void> one : running) {
                one.get(20, TimeUnit.SECONDS);
            }
            assertTrue(macro.awaitAll());
            assertEquals(added.get(), counter.get());
            assertEquals(added.get(), later.get(28).value);
            assertEquals(added.get(), later.get(29).value);
            assertEquals(List.of("later28", "later29"),
                    macro.replicas().stream().map(ReplicaStatus::name).sorted().toList());
            macro.remove("later28");
            assertThrows(IllegalStateException.class, () -> macro.remove("later29"));
            assertThrows(IllegalArgumentException.class, () -> macro.remove("r0"));
            assertThrows(IllegalArgumentException.class, () -> macro.add("later29", new Counter.Plain(), copier));
        }
    }

    @Test
    void aCopyThatFailsLeavesTheComponentAsItWas() {
        try (var macro = counters(new Counter.Plain()).build()) {
            Exception failure = new Exception("cannot be copied");
            assertSame(failure, assertThrows(Exception.class, () -> macro.add("new", new Counter.Plain(), (_, _) -> {
                throw failure;
            })));
            assertEquals(1, macro.component().add(1));
            assertEquals(1, macro.replicas().size());
        }
    }

    @Test
    void aReplicaThatThrowsAloneIsReportedEvenWithoutVoting() throws Exception {
        CompletableFuture<ReplicaFault> reported = new CompletableFuture<>();
        Counter faulty = new Counter.Plain() {
            @Override
            public long add(long amount) {
                throw new IllegalStateException("broken");
            }
        };
        try (var macro = counters(new Counter.Plain(), faulty).onFault(reported::complete).build()) {
            try {
                macro.component().add(1);
            } catch (IllegalStateException broken) {
                assertEquals("broken", broken.getMessage());
            }
            assertTrue(macro.awaitAll());
            assertEquals(ReplicaFault.Kind.WRONG_EXCEPTION, reported.get(20, TimeUnit.SECONDS).kind());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aClosedComponentRefusesCalls(boolean executor) {
        var macro = counters(new Counter.Plain()).execution(executor ? Execution.EXECUTOR : Execution.CALLER).build();
        macro.component().add(1);
        macro.component().get();
        macro.component().get();
        macro.close();
        assertThrows(IllegalStateException.class, () -> macro.component().add(1));
        assertThrows(IllegalStateException.class, () -> macro.component().get());
        assertThrows(IllegalStateException.class, () -> macro.asynchronous(Counter.Async.class).get());
    }
}
