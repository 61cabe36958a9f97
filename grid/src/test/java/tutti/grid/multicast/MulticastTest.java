package tutti.grid.multicast;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.core.txn.TransactionId;

/** {@code -Dtutti.grid.seeds=N} runs more seeds of each kind, the first of which is {@code -Dtutti.grid.seed=N}; the long tests run ten times as many. */
@Execution(ExecutionMode.CONCURRENT)
class MulticastTest {
    private static final int SEEDS = Integer.getInteger("tutti.grid.seeds", 400);
    private static final long FIRST = Long.getLong("tutti.grid.seed", 1);
    private static final int SEEDS_FOR_MUTANTS = 1000;

    @ParameterizedTest
    @CsvSource({"TWO,0", "TWO,1", "TWO,2", "TWO,3", "THREE,0", "THREE,1", "THREE,2", "THREE,3"})
    void keepsItsPromises(Multicast.Steps steps, int crashes) {
        keepsItsPromises(steps, crashes, SEEDS);
    }

    @Tag("long")
    @ParameterizedTest
    @CsvSource({"TWO,0", "TWO,1", "TWO,2", "TWO,3", "THREE,0", "THREE,1", "THREE,2", "THREE,3"})
    void keepsItsPromisesWithMoreSeeds(Multicast.Steps steps, int crashes) {
        keepsItsPromises(steps, crashes, 10 * SEEDS);
    }

    private static void keepsItsPromises(Multicast.Steps steps, int crashes, int seeds) {
        int deliveries = 0;
        int views = 0;
        for (long seed = FIRST; seed < FIRST + seeds; seed++) {
            MulticastRun run = new MulticastRun(seed, Multicast::new, steps, crashes);
            List<String> failures = run.run();
            assertEquals(List.of(), failures, "seed " + seed + ": " + run);
            deliveries += run.deliveries();
            views += run.views() - 1;
        }
        assertTrue(deliveries > 20 * seeds && views > seeds / 2, deliveries + " deliveries, " + views + " crashes");
    }

    private static void isFound(Multicast.Steps steps, MulticastRun.Factory mutant, String... rules) {
        isFound(1, seed -> new MulticastRun(seed, mutant, steps, 1), rules);
    }

    private static void isFound(long first, LongFunction<MulticastRun> runs, String... rules) {
        for (long seed = first; seed < first + SEEDS_FOR_MUTANTS; seed++) {
            List<String> failures = runs.apply(seed).run();
            if (!failures.isEmpty()) {
                String found = String.join("; ", failures);
                assertTrue(Stream.of(rules).anyMatch(found::contains), found);
                return;
            }
        }
        throw new AssertionError("not found within " + SEEDS_FOR_MUTANTS + " seeds");
    }

    @Test
    void aClockThatDoesNotSeeFinalStampsIsFound() {
        isFound(Multicast.Steps.THREE, (self, steps, crashes, clock, view, world) -> new Multicast(self, steps, crashes,
                clock, view, world) {
            @Override
            void sawFinal(long stamp) {
                // The next proposal may be below.
            }
        }, "not by its stamp");
    }

    @ParameterizedTest
    @EnumSource(Multicast.Steps.class)
    void theSmallestProposalAsFinalStampIsFound(Multicast.Steps kind) {
        isFound(kind, (self, steps, crashes, clock, view, world) -> new Multicast(self, steps, crashes, clock, view,
                world) {
            @Override
            long finalStamp(Collection<Long> proposals) {
                return Collections.min(proposals);
            }
        }, "not by its stamp", "uniform prefix order");
    }

    @ParameterizedTest
    @EnumSource(Multicast.Steps.class)
    void overtakingWhatIsPendingIsFound(Multicast.Steps kind) {
        isFound(kind, (self, steps, crashes, clock, view, world) -> new Multicast(self, steps, crashes, clock, view,
                world) {
            @Override
            Ordered next(NavigableMap<Long, Ordered> waiting) {
                return waiting.values().stream().filter(Ordered::isKnown).findFirst()
                        .orElseGet(() -> waiting.firstEntry().getValue());
            }
        }, "not by its stamp");
    }

    /** The paper's own protocols promise no more than this. */
    @ParameterizedTest
    @EnumSource(Multicast.Steps.class)
    void deliveringBeforeAnybodyElseKnowsTheStampIsFound(Multicast.Steps kind) {
        isFound(kind, (self, steps, crashes, clock, view, world) -> new Multicast(self, steps, crashes, clock, view,
                world) {
            @Override
            boolean isHeld(Ordered message) {
                return true;
            }
        }, "uniform prefix order", "uniform acyclic order");
    }

    @ParameterizedTest
    @EnumSource(Multicast.Steps.class)
    void forgettingInARecoveryThatAStampIsKnownIsFound(Multicast.Steps kind) {
        isFound(kind, (self, steps, crashes, clock, view, world) -> new Multicast(self, steps, crashes, clock, view,
                world) {
            @Override
            long knownStamp(Ordered message) {
                return 0;
            }
        }, "uniform prefix order", "uniform acyclic order", "not by its stamp", "liveness");
    }

    @ParameterizedTest
    @EnumSource(Multicast.Steps.class)
    void notPassingAKnownStampOnAfterACrashIsFound(Multicast.Steps kind) {
        isFound(kind, (self, steps, crashes, clock, view, world) -> new Multicast(self, steps, crashes, clock, view,
                world) {
            @Override
            void recover(Ordered message) {
                if (!message.isKnown()) {
                    super.recover(message);
                }
            }
        }, "liveness");
    }

    /** With two steps it takes an order of events that few seeds have. */
    @ParameterizedTest
    @EnumSource(Multicast.Steps.class)
    void proposingAnewBeforeAllKnownStampsHaveBeenFoundIsFound(Multicast.Steps kind) {
        MulticastRun.Factory mutant = (self, steps, crashes, clock, view, world) -> new Multicast(self, steps, crashes,
                clock, view,
                world) {
            @Override
            boolean mustWait(Set<TransactionId> stillOpen) {
                return false;
            }
        };
        isFound(kind == Multicast.Steps.TWO ? 19_000 : 1, seed -> new MulticastRun(seed, mutant, kind, 1),
                "uniform prefix order", "uniform acyclic order");
    }

    /** It is what the node around it takes care of. */
    @ParameterizedTest
    @EnumSource(Multicast.Steps.class)
    void answeringInAnEarlierViewThanThatOfTheQuestionIsFound(Multicast.Steps kind) {
        isFound(1, seed -> new MulticastRun(seed, Multicast::new, kind, 1).withoutHolding(), "order",
                "not by its stamp",
                "liveness", "told again");
    }

    @Test
    void saysWhatCannotBeSent() {
        Multicast multicast = new Multicast(1, Multicast.Steps.TWO, 1, new LamportClock(1), Set.of(1, 2), new Silent());
        assertThrows(IllegalArgumentException.class,
                () -> multicast.send(new TransactionId(2, 1), Set.of(1), new byte[0]));
        assertThrows(IllegalArgumentException.class,
                () -> multicast.send(new TransactionId(1, 1), Set.of(), new byte[0]));
    }

    /** How many steps lie between sending and the last delivery, where every step takes as long. */
    @Test
    void takesAsManyStepsAsItsNameSays() {
        assertEquals(2, stepsOf(Multicast.Steps.TWO, 0));
        assertEquals(3, stepsOf(Multicast.Steps.THREE, 0));
        assertEquals(3, stepsOf(Multicast.Steps.TWO, 1), "each waits for one acknowledgement");
        assertEquals(3, stepsOf(Multicast.Steps.THREE, 1));
    }

    private static int stepsOf(Multicast.Steps kind, int crashes) {
        List<Silent> worlds = List.of(new Silent(), new Silent(), new Silent());
        List<Multicast> nodes = new ArrayList<>();
        for (int i = 0; i < worlds.size(); i++) {
            nodes.add(new Multicast(i, kind, crashes, new LamportClock(i), Set.of(0, 1, 2), worlds.get(i)));
        }
        nodes.getFirst().send(new TransactionId(0, 1), Set.of(1, 2), new byte[0]);
        int step = 0;
        while (worlds.get(1).delivered + worlds.get(2).delivered < 2) {
            step++;
            List<Runnable> arriving = new ArrayList<>();
            for (int i = 0; i < worlds.size(); i++) {
                int from = i;
                worlds.get(i).sent.forEach((to, messages) -> messages
                        .forEach(message -> arriving.add(() -> nodes.get(to).received(from, message))));
                worlds.get(i).sent.clear();
            }
            arriving.forEach(Runnable::run);
        }
        return step;
    }

    private static final class Silent implements Multicast.World {
        private final Map<Integer, List<MulticastMessage>> sent = new TreeMap<>();
        private int delivered;

        @Override
        public void send(int to, MulticastMessage message) {
            sent.computeIfAbsent(to, _ -> new ArrayList<>()).add(message);
        }

        @Override
        public void announced(Ordered message) {
            // Nothing is done about it.
        }

        @Override
        public void ordered(Ordered message) {
            // Nothing is done about it.
        }

        @Override
        public void delivered(Ordered message) {
            delivered++;
        }

        @Override
        public void lost(Ordered message) {
            throw new AssertionError(message);
        }
    }
}
