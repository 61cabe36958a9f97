package tutti.macro;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class VotingTest {
    private final BlockingQueue<ReplicaFault> faults = new LinkedBlockingQueue<>();

    private MacroComponent.Builder<Counter> withTwoGoodOnes(Counter third, Voting voting) {
        return MacroComponent.of(Counter.class).reads("get.*").replica("good", new Counter.Plain())
                .replica("faulty", third).replica("fine", new Counter.Plain()).voting(voting).onFault(faults::add);
    }

    private ReplicaFault nextFault() throws InterruptedException {
        ReplicaFault fault = faults.poll(20, TimeUnit.SECONDS);
        assertTrue(fault != null, "a fault is reported");
        assertEquals("faulty", fault.replica());
        return fault;
    }

    @Test
    void aWrongValueIsMaskedAndReportedAndTheThirdFaultExcludes() throws Exception {
        Counter wrong = new Counter.Plain() {
            @Override
            public long get() {
                return super.get() + 1;
            }
        };
        try (var macro = withTwoGoodOnes(wrong, Voting.majority()).build()) {
            assertEquals(5, macro.component().add(5));
            for (int i = 1; i <= 3; i++) {
                assertEquals(5, macro.component().get());
                ReplicaFault fault = nextFault();
                assertEquals(ReplicaFault.Kind.WRONG_VALUE, fault.kind());
                assertEquals("get()", fault.operation());
                assertEquals(1 + i, fault.position());
                assertTrue(fault.detail().contains("returned 6") && fault.detail().contains("majority returned 5"),
                        fault.detail());
                assertEquals(i == 3, fault.excluded());
            }
            assertEquals(List.of("good", "fine"), macro.replicas().stream().map(ReplicaStatus::name).toList());
            assertEquals(6, macro.component().add(1));
        }
    }

    @Test
    void anExceptionThatOthersDoNotThrowIsMaskedAndOneThatAllThrowIsTheAnswer() throws Exception {
        Counter throwing = new Counter.Plain() {
            @Override
            public long add(long amount) {
                throw new ArithmeticException("overflow");
            }
        };
        try (var macro = withTwoGoodOnes(throwing, Voting.majority()).build()) {
            assertEquals(5, macro.component().add(5));
            assertEquals(ReplicaFault.Kind.WRONG_EXCEPTION, nextFault().kind());
            assertEquals("on purpose",
                    assertThrows(Counter.CounterException.class, () -> macro.component().fail("on purpose"))
                            .getMessage());
            assertTrue(macro.awaitAll());
            assertTrue(faults.isEmpty());
        }
    }

    @Test
    void aReplicaThatIsTooSlowIsReportedAgainAndAgainUntilItIsExcluded() throws Exception {
        Gate stuck = new Gate();
        stuck.shut();
        try (var macro = withTwoGoodOnes(stuck,
                Voting.majority().withSlowAfter(Duration.ofMillis(300)).withExcludeAfterFaults(2)).build()) {
            assertEquals(1, macro.component().add(1));
            ReplicaFault first = nextFault();
            assertEquals(ReplicaFault.Kind.TOO_SLOW, first.kind());
            assertFalse(first.excluded());
            assertTrue(nextFault().excluded());
            assertEquals(2, macro.component().add(1));
            stuck.open();
        }
    }

    @Test
    void aReplicaThatFillsTheQueueIsExcludedBeforeCallsAreRefused() throws Exception {
        Gate stuck = new Gate();
        stuck.shut();
        try (var macro = withTwoGoodOnes(stuck, Voting.majority()).queueCapacity(8).build()) {
            for (int i = 1; i <= 100; i++) {
                assertEquals(i, macro.component().add(1));
            }
            ReplicaFault fault = nextFault();
            assertEquals(ReplicaFault.Kind.TOO_SLOW, fault.kind());
            assertTrue(fault.excluded());
            stuck.open();
        }
    }

    @Test
    void withoutAMajorityThereIsNoAnswer() {
        Counter other = new Counter.Plain() {
            @Override
            public long get() {
                return -1;
            }
        };
        try (var macro = MacroComponent.of(Counter.class).reads("get.*").replica("one", new Counter.Plain())
                .replica("other", other).voting(Voting.majority()).build()) {
            NoMajorityException thrown = assertThrows(NoMajorityException.class, () -> macro.component().get());
            assertTrue(thrown.getMessage().contains("returned -1") && thrown.getMessage().contains("returned 0"),
                    thrown.getMessage());
            assertEquals(3, macro.component().add(3));
        }
    }

    @Test
    void aReplicaAddedLaterVotes() throws Exception {
        Counter.Plain wrong = new Counter.Plain() {
            @Override
            public long get() {
                return -1;
            }
        };
        try (var macro = MacroComponent.of(Counter.class).reads("get.*").replica("one", new Counter.Plain())
                .replica("two", new Counter.Plain()).voting(Voting.majority()).onFault(faults::add).build()) {
            macro.component().add(2);
            macro.add("faulty", wrong, (from, to) -> ((Counter.Plain) to).value = ((Counter.Plain) from).value);
            assertEquals(2, macro.component().get());
            assertEquals(ReplicaFault.Kind.WRONG_VALUE, nextFault().kind());
            assertEquals(4, macro.component().add(2));
        }
    }

    /** What a set shows of itself. */
    private static final class Shown extends LinkedHashSet<Integer> {
        private static final long serialVersionUID = 1;

        private final String text;

        Shown(String text) {
            this.text = text;
        }

        @Override
        public String toString() {
            return text;
        }
    }

    @Test
    @SuppressWarnings("unchecked")
    void textsOfTheSameElementsAgreeInWhateverOrder() {
        Class<Set<Integer>> type = (Class<Set<Integer>>) (Class<?>) Set.class;
        try (var macro = MacroComponent.of(type).replica("one", new Shown("[3, 21]"))
                .replica("two", new Shown("[21, 3]")).voting(Voting.majority()).onFault(faults::add).build()) {
            assertTrue(macro.component().toString().contains("21"));
        }
        try (var macro = MacroComponent.of(type).replica("one", new Shown("[3, 21]"))
                .replica("two", new Shown("[12, 3]")).voting(Voting.majority()).onFault(faults::add).build()) {
            assertThrows(NoMajorityException.class, () -> macro.component().toString());
        }
    }
}
