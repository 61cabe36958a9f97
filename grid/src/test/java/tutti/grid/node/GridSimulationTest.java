package tutti.grid.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.grid.CommitProtocol;
import tutti.grid.IsolationLevel;

/** {@code -Dtutti.grid.seeds=N} runs more seeds of each kind. */
class GridSimulationTest {
    private static final int SEEDS = Integer.getInteger("tutti.grid.seeds", 6);

    static GridRun.Setting setting(long seed, CommitProtocol protocol, IsolationLevel level, boolean faults) {
        Random random = new Random(seed);
        int nodes = 3 + random.nextInt(3);
        int degree = 1 + random.nextInt(3);
        int keys = 2 + random.nextInt(random.nextBoolean() ? 5 : 40);
        // What is left can always go on.
        int crashing = faults ? 0 : random.nextInt((nodes - 1) / 2 + 1);
        return new GridRun.Setting(protocol, level, nodes, degree, keys, faults ? nodes - 1 : 1, crashing, faults);
    }

    @ParameterizedTest
    @EnumSource(CommitProtocol.class)
    void keepsWhatItsLevelPromisesWhenNodesCrash(CommitProtocol protocol) {
        check(protocol, false);
    }

    @ParameterizedTest
    @EnumSource(names = {"TOM_2", "TOM_3"})
    void keepsWhatItsLevelPromisesOverABadNetwork(CommitProtocol protocol) {
        check(protocol, true);
    }

    private static void check(CommitProtocol protocol, boolean faults) {
        int committed = 0;
        int conflicts = 0;
        int others = 0;
        long waits = 0;
        for (IsolationLevel level : IsolationLevel.values()) {
            for (long seed = 1; seed <= SEEDS; seed++) {
                GridRun.Setting setting = setting(seed, protocol, level, faults);
                GridRun.Outcome outcome = new GridRun(seed, setting).run();
                assertEquals(List.of(), outcome.failures(), "seed " + seed + ", " + setting);
                committed += outcome.committed();
                conflicts += outcome.conflicts();
                others += outcome.others();
                waits += outcome.waitingReads();
            }
        }
        String figures = committed + " committed, " + conflicts + " conflicts, " + others + " others, " + waits
                + " reads waited";
        System.getLogger("grid").log(System.Logger.Level.INFO, protocol + ": " + figures);
        assertTrue(committed > 200 * SEEDS && conflicts > SEEDS && waits > SEEDS, figures);
    }

    @Test
    void aRunOfTheSameSeedIsTheSame() {
        GridRun.Setting setting = setting(7, CommitProtocol.TOM_3, IsolationLevel.SERIALIZABLE, true);
        assertEquals(new GridRun(7, setting).run(), new GridRun(7, setting).run());
    }
}
