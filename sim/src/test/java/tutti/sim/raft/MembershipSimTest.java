package tutti.sim.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tutti.sim.fault.FaultPlan;
import tutti.sim.fault.FaultProfile;
import tutti.sim.kernel.Nanos;

/**
 * Nodes come with copies and others go, again and again, under all kinds of faults: nothing that anybody was told of is lost, and in the
 * end all that are members come to rest in one order ({@code Membership} of the Raft order says why).
 */
class MembershipSimTest {
    private static final List<String> HOSTS = List.of("n1", "n2", "n3", "n4", "n5", "n6");
    private static final long SAFETY = 12 * Nanos.SECOND;

    private static int run(long from, long to) {
        int changes = 0;
        for (long seed = from; seed < to; seed++) {
            FaultPlan plan = FaultPlan.random(seed,
                    FaultProfile.parse("crash,partition,pause,power-loss").withFaultsMax(12).withDownMax(2), HOSTS,
                    SAFETY);
            RaftRun run = RaftRun.changing(seed, plan);
            assertEquals(List.of(), run.run().failures(), "seed " + seed);
            changes += run.changes();
        }
        return changes;
    }

    @Test
    void nodesComeAndGo() {
        assertTrue(run(1, 4) > 8);
    }

    @Test
    @Tag("long")
    void nodesComeAndGoForLonger() {
        assertTrue(run(100, 130) > 100);
    }

    @Test
    @Tag("long")
    void nodesComeAndGoForMuchLonger() {
        assertTrue(run(130, 500) > 1000);
    }
}
