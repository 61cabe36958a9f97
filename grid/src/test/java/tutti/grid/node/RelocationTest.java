package tutti.grid.node;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.BiConsumer;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.grid.CommitProtocol;
import tutti.grid.IsolationLevel;
import tutti.grid.commit.Commits;
import tutti.grid.node.GridMessage.Moving;
import tutti.grid.node.GridMessage.Step;
import tutti.grid.store.Layouts;
import tutti.grid.store.Store;
import tutti.grid.view.Layout;
import tutti.grid.view.View;

/** Ways of moving keys that are wrong, each of which the simulation must find, or {@link RelocationStepsTest}. */
@Execution(ExecutionMode.CONCURRENT)
class RelocationTest {
    private static final int RUNS_MAX = 60;

    /** One class of them: what is wrong with it is said by its name. */
    private static final class Wrong extends Relocation {
        private final Kind kind;

        Wrong(Kind kind, int self, int degreeMax, Commits commits, Store store, Layouts layouts,
                BiConsumer<Integer, GridMessage> sender, View first) {
            super(self, degreeMax, commits, store, layouts, sender, first);
            this.kind = kind;
        }

        @Override
        Step step(boolean done, Function<Moving, Step> of) {
            return kind == Kind.WAITS_FOR_NOTHING ? Step.DONE_BY_ALL : super.step(done, of);
        }

        @Override
        void drop(Store from) {
            if (kind != Kind.KEEPS_WHAT_IT_DOES_NOT_OWN) {
                super.drop(from);
            }
        }

        @Override
        boolean mayJoin(int node, Layout layout) {
            return kind == Kind.JOINS_AS_AN_OWNER_WITHOUT_KEYS || super.mayJoin(node, layout);
        }

        @Override
        boolean mayJoin(boolean clean) {
            return kind == Kind.GIVES_A_NUMBER_AWAY_TOO_EARLY || super.mayJoin(clean);
        }

        @Override
        boolean haveCopied(long upTo, long present) {
            return kind == Kind.READS_WHAT_IS_NOT_COPIED || super.haveCopied(upTo, present);
        }

        @Override
        boolean mayServe(long drained, long present) {
            return kind == Kind.COPIES_BEFORE_ALL_IS_WRITTEN || super.mayServe(drained, present);
        }

        @Override
        Layout next(Layout layout) {
            return kind == Kind.LEAVES_OUT_A_STEP && layout.phase() == Layout.Phase.COPY
                    ? new Layout(layout.number() + 1, Layout.Phase.STABLE, layout.after(), layout.after())
                    : super.next(layout);
        }
    }

    /** What is wrong. */
    enum Kind {
        WAITS_FOR_NOTHING,
        KEEPS_WHAT_IT_DOES_NOT_OWN,
        JOINS_AS_AN_OWNER_WITHOUT_KEYS,
        READS_WHAT_IS_NOT_COPIED,
        COPIES_BEFORE_ALL_IS_WRITTEN,
        LEAVES_OUT_A_STEP,
        GIVES_A_NUMBER_AWAY_TOO_EARLY
    }

    @Tag("long")
    @ParameterizedTest
    @EnumSource(names = {"WAITS_FOR_NOTHING", "KEEPS_WHAT_IT_DOES_NOT_OWN", "JOINS_AS_AN_OWNER_WITHOUT_KEYS",
            "COPIES_BEFORE_ALL_IS_WRITTEN"})
    void whatIsWrongIsFound(Kind kind) {
        int runs = runsUntilFound(kind);
        System.getLogger("grid").log(System.Logger.Level.INFO, kind + " found after " + runs + " runs");
        assertTrue(runs <= RUNS_MAX, kind + " was not found");
    }

    static Relocation.Factory wrong(Kind kind) {
        return (self, degreeMax, commits, store, layouts, sender, first) -> new Wrong(kind, self, degreeMax, commits,
                store, layouts, sender,
                first);
    }

    static int runsUntilFound(Kind kind) {
        CommitProtocol[] protocols = {CommitProtocol.TOM_3, CommitProtocol.TOM_2, CommitProtocol.TWO_PHASE};
        // One needs nodes that are slow to hear of what is written.
        boolean faults = kind == Kind.COPIES_BEFORE_ALL_IS_WRITTEN;
        for (int run = 1; run <= RUNS_MAX; run++) {
            GridRun.Setting setting = GridSimulationTest.moving(run, protocols[run % (faults ? 2 : protocols.length)],
                    IsolationLevel.SERIALIZABLE, faults);
            try {
                GridRun found = new GridRun(run, setting, wrong(kind), L1::new);
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
