package tutti.sim.raft;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tutti.sim.disk.Unsynced;
import tutti.sim.fault.Action;
import tutti.sim.fault.Fault;
import tutti.sim.fault.FaultPlan;
import tutti.sim.kernel.Nanos;

/** A host comes back with what its order had on disk a while ago: the other nodes tell it, whoever leads. */
class OldCopiesSimTest {
    private static final List<String> HOSTS = List.of("n1", "n2", "n3");

    @Test
    void anOldCopyOfAnOrdersDirectoryIsTurnedAway() {
        for (Action old : List.of(new Action.OldDirectory("n1", "order"), new Action.OldCopy("n2"),
                new Action.OldDirectory("n3", "order"))) {
            FaultPlan plan = new FaultPlan(1, HOSTS, Nanos.SECOND,
                    List.of(new Fault(1, Nanos.SECOND / 4, Nanos.SECOND / 4, old)));
            assertTurnedAway(new RaftRun(1, plan).run(), old.values().getFirst());
        }
    }

    private static void assertTurnedAway(RaftRun.Result result, String host) {
        List<String> failures = result.failures();
        assertTrue(failures.stream().anyMatch(each -> each.contains("comes with less than it has promised"))
                && failures.stream().allMatch(each -> each.startsWith(host)), failures::toString);
    }

    /** The leader of the time before is among those who have forgotten it. */
    @Test
    @Tag("long")
    void itIsTurnedAwayByThoseWhoHaveCrashedSince() {
        Stream<Fault> crashes = HOSTS.stream().filter(host -> !host.equals("n2")).map(host -> new Fault(
                2 + HOSTS.indexOf(host), 13 * Nanos.SECOND, 100 * Nanos.MILLI,
                new Action.Crash(host, Unsynced.LOST)));
        FaultPlan plan = new FaultPlan(7, HOSTS, 15 * Nanos.SECOND,
                Stream.concat(Stream.of(new Fault(1, Nanos.SECOND / 2, 12_700 * Nanos.MILLI,
                        new Action.OldDirectory("n2", "order"))), crashes).toList());
        assertTurnedAway(new RaftRun(7, plan).run(), "n2");
    }
}
