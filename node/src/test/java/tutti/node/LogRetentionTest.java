package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;

/** A member that is away holds the others' log for a time and up to a size, and no longer. */
class LogRetentionTest extends ReplicaTrio {
    private static final long SECOND = 1_000_000_000L;
    private static final Group.View ALL_THERE = new Group.View(ALL, true, 0);
    private static final Group.View WITHOUT_2 = new Group.View(Set.of(0, 1), true, 0);

    private final long[] restart = {500, 400, 100};

    private static LogRetention of(long bytes, long nanos) {
        return new LogRetention(0, ALL, new ReplicaNode.Retention(bytes, nanos), Map.of());
    }

    @Test
    void whoIsAwayForTooLongIsGivenUpUntilItIsBack() {
        LogRetention retention = of(1000, 60 * SECOND);
        assertFalse(retention.review(0, ALL_THERE, Set.of(), 10, restart));
        assertFalse(retention.review(SECOND, WITHOUT_2, Set.of(), 10, restart));
        assertFalse(retention.review(61 * SECOND, WITHOUT_2, Set.of(), 10, restart));
        assertTrue(retention.review(62 * SECOND, WITHOUT_2, Set.of(), 10, restart));
        assertEquals(Set.of(2), retention.givenUp());
        assertFalse(retention.review(63 * SECOND, WITHOUT_2, Set.of(), 10, restart));
        assertFalse(retention.review(64 * SECOND, ALL_THERE, Set.of(), 10, restart));
        assertEquals(Set.of(), retention.givenUp());
        assertFalse(retention.review(65 * SECOND, WITHOUT_2, Set.of(), 10, restart), "its time begins anew");
    }

    @Test
    void whoIsFurthestBehindIsGivenUpFirstWhenTheLogIsTooLarge() {
        LogRetention retention = of(1000, Long.MAX_VALUE);
        Group.View alone = new Group.View(Set.of(0), true, 0);
        assertFalse(retention.review(0, alone, Set.of(), 1000, restart));
        assertTrue(retention.review(1, alone, Set.of(), 1001, restart));
        assertEquals(Set.of(2), retention.givenUp());
        assertTrue(retention.review(2, alone, Set.of(), 1001, restart));
        assertEquals(Set.of(1, 2), retention.givenUp());
    }

    @Test
    void whoIsThereAndSlowIsNotGivenUp() {
        assertFalse(of(1, 1).review(SECOND, ALL_THERE, Set.of(), 1 << 30, restart));
    }

    @Test
    void whoIsExcludedCountsAsAway() {
        LogRetention retention = of(1000, Long.MAX_VALUE);
        assertTrue(retention.review(0, ALL_THERE, Set.of(1), 1001, restart));
        assertEquals(Set.of(1), retention.givenUp());
    }

    @Test
    void whoReachesNoMajorityGivesNobodyUp() {
        LogRetention retention = of(1, SECOND);
        Group.View minority = new Group.View(Set.of(0), false, -1);
        assertFalse(retention.review(0, minority, Set.of(), 1000, restart));
        assertFalse(retention.review(100 * SECOND, minority, Set.of(), 1000, restart));
        assertFalse(new LogRetention(0, ALL, new ReplicaNode.Retention(1000, SECOND), Map.of()).review(101 * SECOND,
                WITHOUT_2,
                Set.of(), 1, restart), "it was away itself");
    }

    @Test
    void whatWasCountedInAFormerLifeCounts() {
        LogRetention first = of(1000, 64 * SECOND);
        assertNull(first.absences());
        first.review(0, WITHOUT_2, Set.of(), 10, restart);
        assertEquals(Map.of(2, 0L), first.absences());
        first.review(SECOND, WITHOUT_2, Set.of(), 10, restart);
        assertNull(first.absences(), "that is little");
        first.review(60 * SECOND, WITHOUT_2, Set.of(), 10, restart);
        Map<Integer, Long> kept = first.absences();
        assertEquals(Map.of(2, 60 * SECOND), kept);

        LogRetention next = new LogRetention(0, ALL, new ReplicaNode.Retention(1000, 64 * SECOND), kept);
        Group.View minority = new Group.View(Set.of(0), false, -1);
        assertFalse(next.review(1000 * SECOND, minority, Set.of(), 10, restart));
        assertFalse(next.review(2000 * SECOND, WITHOUT_2, Set.of(), 10, restart), "it was not there itself");
        assertTrue(next.review(2005 * SECOND, WITHOUT_2, Set.of(), 10, restart));
        assertEquals(Set.of(2), next.givenUp());
        assertFalse(next.review(2006 * SECOND, ALL_THERE, Set.of(), 10, restart));
        assertEquals(Map.of(), next.absences());
    }

    private void work(int count, int key) {
        for (int i = 0; i < count; i++) {
            new Client(i % 2, "change " + key + " " + i, key + i).committed();
        }
    }

    /** What lies between two snapshots is kept, however short the log is to be. */
    @Test
    void largeTransactionsAreForgottenBeforeThereAreManyOfThem() throws IOException {
        snapshotPositions = 10_000;
        openAll("si");
        String large = "x".repeat(1 << 20);
        for (int i = 0; i < 100; i++) {
            new Client(i % 3, large, i).committed();
        }
        awaitVisible(100);
        ((TestMachine) machine).runFor(2 * SECOND);
        work(3, 1000);
        ((TestMachine) machine).runFor(2 * SECOND);
        assertTrue(nodes.get(0).orderStatus().firstRetained() > 50, () -> nodes.get(0).orderStatus().toString());
        noneHasEnded();
    }

    @Test
    void aDeadMembersLogIsForgottenAndItIsToldThatItNeedsACopy() throws IOException {
        retention = new ReplicaNode.Retention(Long.MAX_VALUE, SECOND);
        openAll("si");
        work(30, 0);
        awaitVisible(30);
        nodes.remove(2).close();
        long kept = nodes.get(0).orderStatus().firstRetained();
        work(60, 1000);
        ((TestMachine) machine).runFor(SECOND / 2);
        assertEquals(kept, nodes.get(0).orderStatus().firstRetained());
        ((TestMachine) machine).runFor(2 * SECOND);
        assertEquals(Set.of(2), nodes.get(0).givenUp());
        assertTrue(nodes.get(0).orderStatus().firstRetained() > 60, () -> nodes.get(0).orderStatus().toString());
        noneHasEnded();
        open("si", 2);
        assertInstanceOf(DurableLog.TruncatedException.class, end(2).cause());
        assertTrue(String.valueOf(end(2).cause().getMessage()).contains("needs a copy"), end(2)::toString);
        work(10, 2000);
    }
}
