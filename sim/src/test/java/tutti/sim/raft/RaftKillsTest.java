package tutti.sim.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.sim.disk.Unsynced;
import tutti.sim.fault.Action;
import tutti.sim.fault.Fault;
import tutti.sim.fault.FaultKind;
import tutti.sim.fault.FaultPlan;
import tutti.sim.kernel.Nanos;

/**
 * The Raft order on simulated machines, one of which is killed at its first, second, third ... operation on its disk, with all
 * fates of what was not flushed, and starts again. {@code -Dtutti.raft.kills=N} goes to the Nth.
 */
class RaftKillsTest {
    private static final int OPERATIONS = Integer.getInteger("tutti.raft.kills", 60);
    private static final List<String> HOSTS = List.of("n1", "n2", "n3");

    @Test
    void aNodeThatIsKilledAtAnyOperationOnItsDiskLosesNothingThatWasTold() {
        long kills = 0;
        for (int operation = 1; operation <= OPERATIONS; operation++) {
            Unsynced fate = Unsynced.values()[operation % Unsynced.values().length];
            FaultPlan plan = new FaultPlan(operation, HOSTS, Nanos.SECOND, List.of(new Fault(1, 50 * Nanos.MILLI,
                    300 * Nanos.MILLI, new Action.Kill("n" + (1 + operation % HOSTS.size()), operation, fate))));
            RaftRun.Result result = new RaftRun(operation, plan).run();
            assertEquals(List.of(), result.failures(), plan.toString());
            assertTrue(result.delivered() > 0, plan.toString());
            kills += result.happened().getOrDefault(FaultKind.KILL, 0L);
        }
        assertTrue(kills > OPERATIONS / 2, kills + " kills happened");
    }
}
