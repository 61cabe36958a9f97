package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.spi.Engine;
import tutti.core.txn.TablePlacement;
import tutti.core.txn.TransactionId;
import tutti.runtime.real.PathDirectory;

/** Verdicts that come when the engine need not remember any more what it has left out. */
class LateVerdictsTest {
    private static final Set<Integer> ALL = Set.of(0, 1, 2);
    private static final long POSITION = 10;
    private static final long LATE = POSITION + Engine.SKIPPED_KEPT + 1;

    @TempDir
    private Path directory;
    private final Node node = new Node();
    private Settlement settlement;

    @BeforeEach
    void begin() throws IOException {
        settlement = new Settlement(
                new ControlMessages.Life(0, ALL, 2, 5, ReplicaTrio.chosen("si")),
                new NodeFiles(PathDirectory.of(directory)),
                new Ballots(ALL, new Placements(TablePlacement.EVERYWHERE)), node);
    }

    private static Control.Inapplicable refused() {
        return new Control.Inapplicable(POSITION, List.of(new TransactionId(0, 7)), false, "23514", "check",
                Control.Vote.REFUSED);
    }

    private void made() {
        settlement.delivered(1, refused(), Set.of());
        settlement.delivered(0, new Control.Applied(POSITION));
    }

    @Test
    void whoHasMadeTheEffectsIsExcludedHoweverLateTheVerdictIs() {
        settlement.joined(1);
        settlement.visible(POSITION);
        made();
        settlement.visible(LATE);
        settlement.delivered(2, refused(), Set.of());
        assertEquals(List.of("excluded"), node.ends);
    }

    /** In its next life, too, which is delivered the verdict before it has joined the order. */
    @Test
    void soIsItsNextLife() throws IOException {
        settlement.recovered(LATE, Set.of());
        made();
        settlement.delivered(2, refused(), Set.of());
        assertEquals(List.of("excluded"), node.ends);
    }

    @Test
    void whoHasSaidNothingIsNotExcludedForWhatItsEngineNeedNotRemember() throws IOException {
        settlement.recovered(LATE, Set.of());
        settlement.delivered(1, refused(), Set.of());
        settlement.delivered(2, refused(), Set.of());
        settlement.joined(20);
        assertEquals(List.of(), node.ends);
    }

    /** Hears how the life ends. */
    private static final class Node implements Settlement.Node {
        private final List<String> ends = new ArrayList<>();
        private final Outcomes outcomes = new Outcomes(true);

        @Override
        public CommitPipeline pipeline() {
            throw new AssertionError("all is visible");
        }

        @Override
        public ClientTransactions transactions() {
            throw new AssertionError("nothing is refused here");
        }

        @Override
        public Outcomes outcomes() {
            return outcomes;
        }

        @Override
        public void send(Control control) {
            assertTrue(control instanceof Control.Applied, control::toString);
        }

        @Override
        public void schedule(long delayNanos, Runnable task) {
            throw new AssertionError("nothing is refused here");
        }

        @Override
        public boolean isFull() {
            return false;
        }

        @Override
        public boolean isReady() {
            return true;
        }

        @Override
        public void membersChanged() {
            // Nobody looks.
        }

        @Override
        public void isTroubled(int number, long position) {
            throw new AssertionError("it is in no trouble");
        }

        @Override
        public void isBeyond(int number, long position) {
            // Nobody was in trouble.
        }

        @Override
        public void exclude(Throwable cause) {
            ends.add("excluded");
        }

        @Override
        public void fail(Throwable cause, boolean restartable) {
            assertFalse(cause instanceof IOException, cause::toString);
            ends.add(restartable ? "begins anew" : "failed");
        }
    }
}
