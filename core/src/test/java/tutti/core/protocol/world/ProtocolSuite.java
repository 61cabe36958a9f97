package tutti.core.protocol.world;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;

/**
 * What every protocol must do, bound per protocol: random runs with crashes, late and wrong views, lost sessions and late
 * messages of former lives end with replicas that agree, a history with the promised isolation, and every client answered
 * once. {@code -Dtutti.seeds=N} runs more seeds, {@code -Dtutti.seed=S} just one.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class ProtocolSuite {
    private static final int SEEDS = 250;

    private final Map<String, Integer> counts = new TreeMap<>();

    /**
     * A replica of the protocol.
     *
     * @param knobs to draw parameters from; the same numbers for all replicas of a run
     */
    protected abstract Protocol create(int node, Set<Integer> replicas, SplittableRandom knobs, ReplicaWorld world);

    /** What it claims, so that what is claimed is what is checked. */
    protected abstract ChosenProtocol chosen();

    private Subject subject() {
        return new Subject(chosen(), this::create);
    }

    /** What must have happened at least once in all runs together, by the names under which the world counts. */
    protected Set<String> mustHappen() {
        return Set.of("committed", "crash", "restart", "user");
    }

    LongStream seeds() {
        Long seed = Long.getLong("tutti.seed");
        return seed == null ? LongStream.range(0, Integer.getInteger("tutti.seeds", SEEDS)) : LongStream.of(seed);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void keepsItsPromises(long seed) {
        new World(seed, subject(), counts).run();
    }

    @Test
    void doesTheSameWhenTheSameHappens() {
        for (long seed = 0; seed < 10; seed++) {
            long once = new World(seed, subject(), new TreeMap<>()).run();
            long again = new World(seed, subject(), new TreeMap<>()).run();
            assertEquals(once, again, "seed " + seed);
        }
    }

    /** Recordings that begin at a replica's start, and, with little time, such that begin in the middle. */
    @Test
    void recordingsAreReplayedToTheSameEffects() {
        Flights flights = new Flights(subject());
        for (long seed = 0; seed < 15; seed++) {
            flights.check(seed, seed % 2 == 0 ? 300 : 1_000_000);
        }
        assertTrue(flights.states() > 0 && flights.effects() > 0 && flights.replayed() < flights.events(),
                flights.states() + " states, " + flights.effects() + " effects, " + flights.replayed() + " of "
                        + flights.events() + " events replayed");
    }

    @AfterAll
    void everythingHappened() {
        if (Long.getLong("tutti.seed") == null) {
            assertTrue(counts.keySet().containsAll(mustHappen()),
                    "expected all of " + mustHappen() + ", there was " + counts);
        }
    }
}
