package tutti.macro;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.macro.call.Invocation;
import tutti.macro.example.Components;

/** Implementations, listeners and callers that do what they should not, and none of them harms the others. */
@Timeout(60)
class RobustnessTest {
    private static MacroComponent.Builder<Counter> counters(Counter... replicas) {
        MacroComponent.Builder<Counter> builder = MacroComponent.of(Counter.class).reads("get.*");
        for (int i = 0; i < replicas.length; i++) {
            builder.replica("r" + i, replicas[i]);
        }
        return builder;
    }

    /** One for each, as there may be a single one in the common pool. */
    private static void start(Runnable task) {
        Thread.ofPlatform().daemon().start(task);
    }

    @Test
    void anErrorOfAnImplementationIsTheAnswerAndItsExecutorGoesOn() {
        Counter broken = new Counter.Plain() {
            @Override
            public void fail(String message) {
                throw new StackOverflowError(message);
            }
        };
        try (var macro = counters(broken).execution(Execution.EXECUTOR).build()) {
            assertEquals("mine", assertThrows(StackOverflowError.class, () -> macro.component().fail("mine"))
                    .getMessage());
            ExecutionException later = assertThrows(ExecutionException.class, () -> macro
                    .asynchronous(Counter.Async.class).fail("later").get(20, TimeUnit.SECONDS));
            assertInstanceOf(StackOverflowError.class, later.getCause());
            assertEquals(1, macro.component().add(1));
        }
    }

    /** With the interrupt that is left behind, the thread would look for work without ever resting. */
    @Test
    void anInterruptThatAnImplementationLeavesBehindDoesNotKeepItsExecutorAwake() {
        Counter interrupting = new Counter.Plain() {
            @Override
            public long add(long amount) {
                Thread.currentThread().interrupt();
                return super.add(amount);
            }
        };
        BlockingQueue<Thread> executors = new LinkedBlockingQueue<>();
        ThreadFactory noting = work -> {
            Thread thread = Thread.ofPlatform().daemon().unstarted(work);
            executors.add(thread);
            return thread;
        };
        try (var macro = counters(interrupting).execution(Execution.EXECUTOR).threads(noting).build()) {
            assertEquals(1, macro.component().add(1));
            while (executors.element().getState() != Thread.State.WAITING) {
                LockSupport.parkNanos(1_000_000);
            }
            assertEquals(2, macro.component().add(1));
        }
    }

    @ParameterizedTest
    @EnumSource(Execution.class)
    void anInterruptedCallerGetsItsAnswerAndStaysInterrupted(Execution execution) {
        try (var macro = counters(new Counter.Plain(), new Counter.Plain()).execution(execution).build()) {
            Thread.currentThread().interrupt();
            assertEquals(1, macro.component().add(1));
            assertEquals(1, macro.component().get());
            assertTrue(macro.awaitAll());
            assertTrue(Thread.interrupted());
        }
    }

    @Test
    void aListenerThatThrowsKeepsNothingFromBeingMaskedAndIsHeardOf() throws Exception {
        BlockingQueue<Throwable> uncaught = new LinkedBlockingQueue<>();
        ThreadFactory handling = work -> Thread.ofPlatform().daemon()
                .uncaughtExceptionHandler((_, thrown) -> uncaught.add(thrown)).unstarted(work);
        Counter wrong = new Counter.Plain() {
            @Override
            public long get() {
                return 7;
            }
        };
        try (var macro = counters(new Counter.Plain(), new Counter.Plain(), wrong).voting(Voting.majority())
                .threads(handling).onFault(fault -> {
                    throw new IllegalStateException(fault.replica());
                }).build()) {
            for (int i = 0; i < 3; i++) {
                assertEquals(0, macro.component().get());
                Throwable thrown = uncaught.poll(20, TimeUnit.SECONDS);
                assertTrue(thrown != null && "r2".equals(thrown.getMessage()), String.valueOf(thrown));
            }
            assertEquals(2, macro.replicas().size(), "the third fault excluded it");
            assertEquals(0, macro.component().get());
        }
    }

    /** Compares well and shows badly. */
    private record Mute(int number) {
        @Override
        public String toString() {
            throw new IllegalStateException("it has no words");
        }
    }

    @SuppressWarnings("unchecked")
    private static MacroComponent.Builder<Callable<Object>> voting(Callable<Object> a, Callable<Object> b,
            Callable<Object> c) {
        return MacroComponent.of((Class<Callable<Object>>) (Class<?>) Callable.class).replica("a", a).replica("b", b)
                .replica("c", c).voting(Voting.majority());
    }

    @Test
    void valuesWithoutTextOrComparisonDoNotStopTheVote() throws Exception {
        BlockingQueue<ReplicaFault> faults = new LinkedBlockingQueue<>();
        try (var macro = voting(() -> new Mute(1), () -> new Mute(2), () -> new Mute(1)).onFault(faults::add)
                .build()) {
            assertEquals(new Mute(1), macro.component().call());
            ReplicaFault fault = faults.poll(20, TimeUnit.SECONDS);
            assertTrue(fault != null && fault.replica().equals("b"));
            assertTrue(fault.detail().contains("whose toString threw a java.lang.IllegalStateException"),
                    fault.detail());
        }
        Voting incomparable = Voting.majority().withSame((_, _) -> {
            throw new AssertionError("not comparable");
        });
        try (var macro = voting(() -> 1, () -> 1, () -> 1).voting(incomparable).build()) {
            assertThrows(NoMajorityException.class, () -> macro.component().call());
        }
        String longText = "x".repeat(10_000);
        try (var macro = voting(() -> longText, () -> 2, () -> 3).build()) {
            NoMajorityException thrown = assertThrows(NoMajorityException.class, () -> macro.component().call());
            assertTrue(thrown.getMessage().length() < 1000, "only the beginning of a long value is told");
        }
    }

    @Test
    void writesThatAreNotDeterministicAreFoundByVoting() throws Exception {
        BlockingQueue<ReplicaFault> faults = new LinkedBlockingQueue<>();
        AtomicInteger anything = new AtomicInteger();
        try (var macro = voting(() -> 1, anything::incrementAndGet, () -> 1).onFault(faults::add).build()) {
            assertEquals(1, macro.component().call());
            assertEquals(1, macro.component().call());
            ReplicaFault fault = faults.poll(20, TimeUnit.SECONDS);
            assertTrue(fault != null && fault.replica().equals("b")
                    && fault.kind() == ReplicaFault.Kind.WRONG_VALUE, String.valueOf(fault));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anImplementationThatCallsTheComponentIsRefusedAtOnceAndExecutedOnce(boolean asynchronously) {
        class Recursive extends Counter.Plain {
            private @Nullable MacroComponent<Counter> macro;

            @Override
            public long add(long amount) {
                value += amount;
                if (macro != null && asynchronously) {
                    macro.asynchronous(Async.class).add(amount);
                } else if (macro != null) {
                    macro.component().add(amount);
                }
                return value;
            }
        }
        Recursive one = new Recursive();
        Recursive two = new Recursive();
        try (var macro = counters(one, two).build()) {
            one.macro = macro;
            two.macro = macro;
            IllegalStateException thrown = assertThrows(IllegalStateException.class, () -> macro.component().add(1));
            assertTrue(thrown.getMessage().contains("must not call the component"), thrown.getMessage());
            assertTrue(macro.awaitAll());
            assertEquals(1, one.value);
            assertEquals(1, two.value);
        }
    }

    @Test
    void closingEndsWhatAStuckReplicaHasNotAnswered() throws Exception {
        Gate stuck = new Gate();
        var macro = counters(stuck).callLimit(Duration.ofMillis(100)).build();
        stuck.shut();
        Counter.Async async = macro.asynchronous(Counter.Async.class);
        List<CompletableFuture<Long>> all = List.of(async.add(1), async.add(2), async.get());
        stuck.awaitCall();
        CompletableFuture<Void> closing = CompletableFuture.runAsync(macro::close, RobustnessTest::start);
        for (CompletableFuture<Long> one : all) {
            ExecutionException thrown = assertThrows(ExecutionException.class, () -> one.get(20, TimeUnit.SECONDS));
            assertInstanceOf(IllegalStateException.class, thrown.getCause());
            assertTrue(thrown.getCause().getMessage().contains("closed"), thrown.getCause().getMessage());
        }
        closing.get(20, TimeUnit.SECONDS);
        stuck.open();
    }

    @Test
    void closingLetsWhatWasCalledBeforeEnd() throws Exception {
        Gate slow = new Gate();
        var macro = counters(slow).build();
        slow.shut();
        Counter.Async async = macro.asynchronous(Counter.Async.class);
        List<CompletableFuture<Long>> all = List.of(async.add(1), async.add(2), async.get());
        slow.awaitCall();
        CompletableFuture<Void> closing = CompletableFuture.runAsync(macro::close, RobustnessTest::start);
        slow.open();
        closing.get(20, TimeUnit.SECONDS);
        assertEquals(1, all.get(0).get());
        assertEquals(3, all.get(1).get());
        // The read may have been refused, being no longer in anybody's queue; it is not left open.
        assertTrue(all.get(2).isDone());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aReplicaThatIsRemovedWhileItIsCopiedTakesNoPart(boolean close) throws Exception {
        CountDownLatch copying = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Counter.Plain late = new Counter.Plain();
        var macro = counters(new Counter.Plain()).build();
        CompletableFuture<Exception> refused = CompletableFuture.supplyAsync(
                () -> assertThrows(IllegalStateException.class, () -> macro.add("late", late, (_, _) -> {
                    copying.countDown();
                    goOn.await();
                })), RobustnessTest::start);
        assertTrue(copying.await(20, TimeUnit.SECONDS));
        if (close) {
            CompletableFuture<Void> closing = CompletableFuture.runAsync(macro::close, RobustnessTest::start);
            closing.get(20, TimeUnit.SECONDS);
        } else {
            assertTrue(macro.remove("late"));
        }
        goOn.countDown();
        assertTrue(refused.get(20, TimeUnit.SECONDS).getMessage().contains(close ? "closed" : "removed"));
        if (!close) {
            assertEquals(1, macro.component().add(1));
            assertEquals(1, macro.replicas().size());
            macro.close();
        }
        assertEquals(0, late.value);
    }

    /** Is read by one thread at a time, or says so. */
    private static final class OneReader extends Counter.Plain {
        private final AtomicInteger readers = new AtomicInteger();

        @Override
        public long get() {
            if (readers.incrementAndGet() != 1) {
                throw new AssertionError("two at a time");
            }
            for (int i = 0; i < 100; i++) {
                Thread.onSpinWait();
            }
            readers.decrementAndGet();
            return super.get();
        }
    }

    @Test
    void aReplicaAddedAsExclusiveIsReadByOneThreadAtATime() throws Exception {
        try (var macro = counters(new Counter.Plain()).build()) {
            macro.addExclusive("exclusive", new OneReader(), (_, _) -> {});
            assertTrue(macro.remove("r0"));
            LinearizabilityTest.inParallel(3, _ -> {
                for (int i = 0; i < 3000; i++) {
                    assertEquals(0, macro.component().get());
                }
                return true;
            });
        }
    }

    /** With type parameters, without results, and with nulls. */
    public interface Cell<V> {
        void set(@Nullable V value);

        @Nullable
        V get();

        default V getOr(V other) {
            V present = get();
            return present == null ? other : present;
        }
    }

    private static final class Slot<V> implements Cell<V> {
        private @Nullable V held;

        @Override
        public void set(@Nullable V value) {
            held = value;
        }

        @Override
        public @Nullable V get() {
            return held;
        }
    }

    @ParameterizedTest
    @EnumSource(Invocation.class)
    void nullsVoidAndTypeParametersComeThrough(Invocation invocation) {
        @SuppressWarnings("unchecked")
        Class<Cell<String>> type = (Class<Cell<String>>) (Class<?>) Cell.class;
        for (Voting voting : new @Nullable Voting[]{null, Voting.majority()}) {
            var builder = MacroComponent.of(type).reads("get.*").replica("a", new Slot<>()).replica("b", new Slot<>())
                    .invocation(invocation);
            if (voting != null) {
                builder.voting(voting);
            }
            try (var macro = builder.build()) {
                Cell<String> cell = macro.component();
                assertNull(cell.get());
                cell.set("x");
                assertEquals("x", cell.get());
                assertEquals("x", cell.getOr("y"));
                cell.set(null);
                assertEquals("y", cell.getOr("y"));
                assertFalse(cell.equals(null));
                assertEquals(cell.hashCode(), cell.hashCode());
                assertTrue(cell.toString().contains("Cell [a, b]"), cell.toString());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Invocation.class)
    void aMapShowsItsEntriesAndEqualsAnother(Invocation invocation) {
        try (var macro = Components.<String, Integer>map().invocation(invocation).build()) {
            macro.component().put("a", 1);
            assertEquals("{a=1}", macro.component().toString());
            assertEquals(Map.of("a", 1), macro.component());
            assertEquals(macro.component(), Map.of("a", 1));
            assertEquals(Map.of("a", 1).hashCode(), macro.component().hashCode());
        }
    }

    @Test
    void whatIsMadeOfAResultDoesNotBelongIntoASubmittedCall() throws Exception {
        try (var macro = counters(new Counter.Plain()).build()) {
            IllegalArgumentException thrown = assertThrows(IllegalArgumentException.class,
                    () -> macro.submit(c -> c.get() + 40));
            assertTrue(thrown.getMessage().contains("thenApply"), thrown.getMessage());
            assertEquals(40, macro.submit(Counter::get).thenApply(n -> n + 40).get(20, TimeUnit.SECONDS));
        }
    }
}
