package tutti.sim.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Nodes that come back have lost all that they had, and begin anew with copies that others give them under all kinds of faults: nothing
 * that anybody was told of is lost ({@code OrderCopy} says why).
 */
class LostDirectoriesSimTest {
    private static final String FAULTS = "crash,partition,pause,power-loss";

    private static int run(long from, long to) {
        int copies = 0;
        for (long seed = from; seed < to; seed++) {
            RaftRun run = new RaftRun(seed, RaftCampaign.plan(seed, FAULTS), true);
            assertEquals(List.of(), run.run().failures(), "seed " + seed);
            copies += run.copies();
        }
        return copies;
    }

    @Test
    void copiesAreWhatTheOthersHold() {
        assertTrue(run(1, 13) > 3);
    }

    /** One that has not heard yet of the copy that counts welcomes it with another, as soon as it has begun. */
    @Test
    void whoWasWelcomeForAMomentBeginsAnewAllTheSame() {
        run(474, 475);
    }

    /** A node that has just begun reads behind a checkpoint what it need not deliver, while all hold as much as it does. */
    @Test
    void whatIsStillToBeReadIsNotForgotten() {
        run(4782, 4783);
    }

    @Test
    @Tag("long")
    void copiesAreWhatTheOthersHoldForLonger() {
        assertTrue(run(100, 1100) > 400);
    }
}
