package tutti.grid.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.IsolationLevel;
import tutti.grid.store.Key;

/** Simulated nodes that keep what they read of each other, and ways of keeping that are wrong, which the simulation must find, or {@link L1StepsTest}. */
class L1Test {
    /** Enough for a few of the entries. */
    private static final long BYTES_MAX = 1200;
    private static final int RUNS_MAX = 60;
    private static final int SEEDS = Integer.getInteger("tutti.grid.seeds", 2);

    /** One class of them: what is wrong with it is said by its name. */
    private static final class Wrong extends L1 {
        private final Kind kind;

        Wrong(Kind kind, GridConfig config) {
            super(config);
            this.kind = kind;
        }

        @Override
        void written(Key key, BiConsumer<Integer, Key> tell) {
            if (kind != Kind.NEVER_INVALIDATES) {
                super.written(key, tell);
            }
        }

        @Override
        boolean isKnown(long clock, long stamp) {
            return kind == Kind.ANSWERS_FOR_WHAT_IT_HAS_NOT_HEARD || super.isKnown(clock, stamp);
        }

        @Override
        boolean mayKeep(boolean newest) {
            return kind == Kind.KEEPS_WHAT_IS_BEING_WRITTEN || super.mayKeep(newest);
        }

        @Override
        void installed() {
            if (kind != Kind.KEEPS_OVER_VIEWS) {
                super.installed();
            } else {
                forgetKeepers();
            }
        }
    }

    /** What is wrong. */
    enum Kind {
        NEVER_INVALIDATES,
        ANSWERS_FOR_WHAT_IT_HAS_NOT_HEARD,
        KEEPS_WHAT_IS_BEING_WRITTEN,
        KEEPS_OVER_VIEWS
    }

    private static GridRun.Setting keeping(GridRun.Setting of, long bytes) {
        return new GridRun.Setting(of.protocol(), of.level(), Math.max(4, of.nodes()), Math.min(2, of.degree()),
                of.keys(), of.crashes(),
                of.crashing(), of.faults(), of.moves(), bytes);
    }

    private static void check(CommitProtocol protocol, boolean moves, boolean faults, int seeds) {
        GridStatus.L1 all = new GridStatus.L1(0, 0, 0, 0, 0);
        int committed = 0;
        for (IsolationLevel level : IsolationLevel.values()) {
            for (long seed = 1; seed <= seeds; seed++) {
                GridRun.Setting setting = keeping(moves
                        ? GridSimulationTest.moving(seed, protocol, level, faults)
                        : GridSimulationTest.setting(seed, protocol, level, faults), BYTES_MAX);
                GridRun.Outcome outcome = new GridRun(seed, setting).run();
                assertEquals(List.of(), outcome.failures(), "seed " + seed + ", " + setting);
                GridStatus.L1 one = outcome.l1();
                assertTrue(one.bytes() <= BYTES_MAX, one::toString);
                all = new GridStatus.L1(all.hits() + one.hits(), all.misses() + one.misses(),
                        all.invalidations() + one.invalidations(), all.entries() + one.entries(), one.bytes());
                committed += outcome.committed();
            }
        }
        String figures = committed + " committed, " + all;
        System.getLogger("grid").log(System.Logger.Level.INFO, protocol + ": " + figures);
        assertTrue(all.hits() > 20L * seeds && all.invalidations() > 20L * seeds, figures);
    }

    @ParameterizedTest
    @EnumSource(names = {"TOM_2", "TOM_3", "TWO_PHASE"})
    void keepsWhatItsLevelPromisesWhenNodesCrash(CommitProtocol protocol) {
        check(protocol, false, false, SEEDS);
    }

    @Tag("long")
    @ParameterizedTest
    @EnumSource(names = {"TOM_2", "TOM_3", "TWO_PHASE"})
    void keepsWhatItsLevelPromisesWithMoreSeeds(CommitProtocol protocol) {
        check(protocol, false, false, 10 * SEEDS);
        check(protocol, true, false, 2 * SEEDS);
    }

    @Tag("long")
    @ParameterizedTest
    @EnumSource(names = {"TOM_2", "TOM_3"})
    void keepsWhatItsLevelPromisesOverABadNetwork(CommitProtocol protocol) {
        check(protocol, false, true, 3 * SEEDS);
        check(protocol, true, true, SEEDS);
    }

    @Tag("long")
    @ParameterizedTest
    @EnumSource(names = "ANSWERS_FOR_WHAT_IT_HAS_NOT_HEARD", mode = EnumSource.Mode.EXCLUDE)
    void whatIsWrongIsFound(Kind kind) {
        int runs = runsUntilFound(kind);
        System.getLogger("grid").log(System.Logger.Level.INFO, kind + " found after " + runs + " runs");
        assertTrue(runs <= RUNS_MAX, kind + " was not found");
    }

    static L1.Factory wrong(Kind kind) {
        return config -> new Wrong(kind, config);
    }

    static int runsUntilFound(Kind kind) {
        CommitProtocol[] protocols = {CommitProtocol.TOM_3, CommitProtocol.TOM_2, CommitProtocol.TWO_PHASE};
        for (int run = 1; run <= RUNS_MAX; run++) {
            CommitProtocol protocol = protocols[run % protocols.length];
            GridRun.Setting setting = keeping(kind == Kind.KEEPS_OVER_VIEWS
                    ? GridSimulationTest.moving(run, protocol, IsolationLevel.SERIALIZABLE, false)
                    : GridSimulationTest.setting(run, protocol, IsolationLevel.SERIALIZABLE, false), 1 << 20);
            try {
                GridRun found = new GridRun(run, setting, Relocation::new, wrong(kind));
                if (!found.run().failures().isEmpty()) {
                    return run;
                }
            } catch (IllegalStateException | IllegalArgumentException thrown) {
                return run;
            }
        }
        return RUNS_MAX + 1;
    }
}
