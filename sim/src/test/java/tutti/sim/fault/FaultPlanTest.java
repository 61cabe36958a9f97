package tutti.sim.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.EnumSet;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tutti.sim.kernel.Nanos;

class FaultPlanTest {
    private static final List<String> HOSTS = List.of("n1", "n2", "n3", "n4", "n5");
    private static final FaultProfile ALL = FaultProfile.parse("all");
    private static final FaultProfile EVERY = FaultProfile.parse("all,disks,beyond,rare,rows,engine-full,parameters")
            .withDownMax(HOSTS.size());
    private static final String GOOD = """
            # found on a Tuesday
            fault-plan 1
            seed -42
            hosts n1,n2,n3
            safety 10s

            f2 at 4s for 1s crash host n2 unsynced torn
            f1 at 1.2s for 300ms loss from n1 to n2,n3 rate 0.05
            f3 at 4s for 20ms delay from * to n1 by uniform 1ms 5ms
            """;

    @Test
    void plansOfAllKindsReadBackAsTheyWereWritten() {
        EnumSet<FaultKind> seen = EnumSet.noneOf(FaultKind.class);
        for (long seed = 0; seed < 500; seed++) {
            FaultPlan plan = FaultPlan.random(seed, EVERY, HOSTS, List.of("n6", "n7"), 10 * Nanos.SECOND);
            assertEquals(plan, FaultPlan.parse(plan.toString()), plan.toString());
            assertEquals(plan, FaultPlan.random(seed, EVERY, HOSTS, List.of("n6", "n7"), 10 * Nanos.SECOND));
            plan.faults().forEach(fault -> seen.add(fault.action().kind()));
            assertFalse(plan.faults().isEmpty());
        }
        assertEquals(EnumSet.allOf(FaultKind.class), seen);
        assertNotEquals(FaultPlan.random(1, ALL, HOSTS, Nanos.SECOND), FaultPlan.random(2, ALL, HOSTS, Nanos.SECOND));
    }

    @Test
    void membersChangeOnlyWhereThereAreSpareHosts() {
        List<String> spares = List.of("n6", "n7");
        for (long seed = 0; seed < 200; seed++) {
            FaultPlan same = FaultPlan.random(seed, FaultProfile.parse("members,crash"), HOSTS, Nanos.SECOND);
            assertEquals(FaultPlan.random(seed, FaultProfile.parse("crash"), HOSTS, Nanos.SECOND), same);
            FaultPlan plan = FaultPlan.random(seed, FaultProfile.parse("members").withFaultsMax(20), HOSTS, spares,
                    Nanos.SECOND);
            List<String> come = plan.faults().stream().map(Fault::action).filter(each -> each instanceof Action.Join
                    || each instanceof Action.Replace).map(each -> each.values().getLast()).toList();
            List<String> gone = plan.faults().stream().map(Fault::action).filter(each -> each instanceof Action.Leave
                    || each instanceof Action.Replace).map(each -> each.values().getFirst()).toList();
            assertEquals(come.stream().distinct().toList(), come, "each spare host comes once");
            assertEquals(gone.stream().distinct().toList(), gone, "each node goes once");
            assertTrue(spares.containsAll(come) && HOSTS.containsAll(gone) && gone.size() <= HOSTS.size() - 2);
        }
    }

    @Test
    void plansKeepTheBoundUnlessTheyAreAskedNotTo() {
        boolean beyond = false;
        boolean damaged = false;
        boolean powerLost = false;
        for (long seed = 0; seed < 500; seed++) {
            FaultPlan plan = FaultPlan.random(seed, FaultProfile.parse("all,disks"), HOSTS, 10 * Nanos.SECOND);
            assertFalse(plan.isBeyondPromise(), plan.toString());
            assertTrue(FaultPlan.damaged(plan.faults()).size() <= 2, plan.toString());
            powerLost |= plan.faults().stream().anyMatch(fault -> fault.action() instanceof Action.PowerLoss);
            damaged |= !FaultPlan.damaged(plan.faults()).isEmpty();
            beyond |= FaultPlan.random(seed, FaultProfile.parse("beyond"), HOSTS, Nanos.SECOND).isBeyondPromise();
        }
        assertTrue(damaged && beyond && powerLost);
        assertTrue(plan("flipped-bits host n1 count 1", "bad-sectors host n2 count 1").isBeyondPromise(),
                "two of three");
        assertFalse(plan("flipped-bits host n1 count 1", "bad-sectors host n1 count 1").isBeyondPromise(),
                "the same one twice");
        assertTrue(plan("old-copy host n1", "pause host n2").isBeyondPromise(), "nobody can see it");
    }

    private static FaultPlan plan(String one, String other) {
        return FaultPlan.parse("fault-plan 1\nseed 1\nhosts n1,n2,n3\nsafety 1s\nf1 at 0s for 1s " + one
                + "\nf2 at 0s for 1s " + other);
    }

    @Test
    void aPlanIsReadFromText() {
        FaultPlan plan = FaultPlan.parse(GOOD);
        assertEquals(-42, plan.seed());
        assertEquals(List.of("n1", "n2", "n3"), plan.hosts());
        assertEquals(List.of(1, 2, 3), plan.faults().stream().map(Fault::number).toList());
        assertEquals("""
                fault-plan 1
                seed -42
                hosts n1,n2,n3
                safety 10s
                f1 at 1.2s for 300ms loss from n1 to n2,n3 rate 0.05
                f2 at 4s for 1s crash host n2 unsynced torn
                f3 at 4s for 20ms delay from * to n1 by uniform 1ms 5ms
                """, plan.toString());
    }

    /** If this fails, plans noted as seeds in the past mean something else now. */
    @Test
    void seedsMeanWhatTheyAlwaysMeant() {
        assertEquals("""
                fault-plan 1
                seed 7
                hosts n1,n2,n3
                safety 10s
                f4 at 75ms for 695ms engine-hang host n2
                f2 at 1.068s for 913ms bursty-loss from * to n1,n2,n3 lost uniform 0s 1.68ms received uniform 0s 23.52ms
                f6 at 2.682s for 1.44s engine-aborts host n2 rate 0.002
                f5 at 2.951s for 2.456s loss from * to n3 rate 0.05
                f7 at 5.783s for 680ms loss from n1 to n1,n2,n3 rate 0.007
                f3 at 8.88s for 97ms clock-jump host n1 jump back time 22.345926s
                f1 at 9.958s for 42ms kill host n3 operation 8 unsynced lost
                """, FaultPlan.random(7, ALL, List.of("n1", "n2", "n3"), 10 * Nanos.SECOND).toString());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
            "crash host n2 | crush host n2 | line 7: there is no fault 'crush'; did you mean 'crash'",
            "host n2 | host n22 | line 7: there is no host 'n22'; did you mean 'n2'",
            "unsynced torn | unsynced tron | line 7: there is no unsynced 'tron'; did you mean 'torn'",
            "unsynced torn | unsinced torn | line 7: there is no parameter of crash at this place named 'unsinced'; did you mean 'unsynced'",
            "unsynced torn | unsynced | line 7: unsynced of crash has no value",
            "to n2,n3 rate 0.05 | to n2,n3 | line 8: loss needs rate",
            "rate 0.05 | rate 1.05 | line 8: a rate is 0 to 1, not 1.05",
            "rate 0.05 | rate five | line 8: 'five' is no number",
            "rate 0.05 | rate 0.05 rate 0.05 | line 8: 'rate' is there twice",
            "1.2s | 1.2 | line 8: '1.2' is no duration",
            "for 300ms | for 0s | line 8: a fault has a number from 1",
            "uniform 1ms 5ms | unifrom 1ms 5ms | line 9: 'unifrom 1ms 5ms' is no distribution",
            "f3 at | f1 at | line 9: fault f1 is there twice",
            "f3 at | f3 on | line 9: 'f3 on 4s",
            "seed -42 | sede -42 | line 3: there is no line here that begins with 'sede'; did you mean 'seed'",
            "seed -42 | seed x | line 3: 'x' is no seed",
            "fault-plan 1 | fault-plan 2 | line 2: this is version 2",
            "safety 10s | safety long | line 5: 'long' is no duration",
    })
    void badLinesAreRefusedWithTheirNumberAndTheReason(String good, String bad, String message) {
        assertTrue(GOOD.contains(good), good);
        String text = GOOD.replace(good, bad == null ? "" : bad);
        String said = assertThrows(IllegalArgumentException.class, () -> FaultPlan.parse(text)).getMessage();
        assertTrue(said.startsWith(message), said);
    }

    @Test
    void aPlanThatEndsEarlySaysWhatIsMissing() {
        String said = assertThrows(IllegalArgumentException.class, () -> FaultPlan.parse("fault-plan 1\nseed 1\n"))
                .getMessage();
        assertEquals("line 3: the plan ends before its line 'hosts ...'", said);
    }

    @Test
    void profilesAreReadAndKept() {
        assertEquals(List.of(FaultKind.LOSS, FaultKind.CRASH), FaultProfile.parse("crash, loss").kinds());
        assertEquals(FaultKind.values().length, EVERY.kinds().size());
        assertTrue(ALL.kinds().stream().allMatch(kind -> kind.promise() == FaultKind.Promise.RECOVERS));
        assertEquals(ALL.kinds(), FaultProfile.parse("network,hosts,engine,members").kinds());
        // What came later is in no profile that there was before.
        assertEquals(List.of(FaultKind.KILL_BEHIND, FaultKind.GONE, FaultKind.LOST_SIGHT),
                FaultProfile.parse("rare").kinds());
        assertFalse(FaultProfile.parse("all,disks,beyond").kinds().stream().anyMatch(
                FaultProfile.parse("rare").kinds()::contains));
        assertEquals(List.of(), FaultPlan.random(1, FaultProfile.parse("none"), HOSTS, Nanos.SECOND).faults());
        String said = assertThrows(IllegalArgumentException.class, () -> FaultProfile.parse("loss,cloging"))
                .getMessage();
        assertTrue(said.startsWith("there is no fault 'cloging'; did you mean 'clogging'?"), said);
    }

    @Test
    void neverHalfOfTheHostsIsDownAtOnce() {
        FaultProfile crashes = FaultProfile.parse("crash").withFaultsMax(30);
        int most = 0;
        for (long seed = 0; seed < 200; seed++) {
            FaultPlan plan = FaultPlan.random(seed, crashes, HOSTS, 10 * Nanos.SECOND);
            for (Fault one : plan.faults()) {
                int down = (int) plan.faults().stream().filter(other -> other.atNanos() <= one.atNanos()
                        && one.atNanos() <= other.atNanos() + other.forNanos()).count();
                most = Math.max(most, down);
            }
        }
        assertEquals(2, most);
    }
}
