package tutti.check.isolation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.check.CheckResult;
import tutti.check.history.History;
import tutti.check.history.HistoryRecorder;
import tutti.check.isolation.PrefixSnapshotCheck.Freshness;
import tutti.core.txn.TransactionId;

/** The anomalies of the literature, each with a neighbour that is none. */
class IsolationCheckTest {
    /** The weakest levels that do not have it, as the first violation's rule and which levels fail. */
    private static void assertAnomaly(History history, String rule, Isolation... refusedBy) {
        List<Isolation> refused = new ArrayList<>();
        for (Isolation isolation : Isolation.values()) {
            CheckResult result = IsolationCheck.check(history, isolation);
            if (!result.passed()) {
                refused.add(isolation);
                assertEquals(rule, result.violations().getFirst().rule(), result.text());
            }
            assertEquals(result.passed(), IsolationCheck.levels(history).get(isolation), isolation.text());
        }
        assertEquals(List.of(refusedBy), refused);
    }

    private static void assertSound(History history) {
        assertAnomaly(history, "none");
    }

    private static final Isolation[] ALL_BUT_UNCOMMITTED = {Isolation.READ_COMMITTED, Isolation.SNAPSHOT_ISOLATION,
            Isolation.STRONG_SESSION_SNAPSHOT_ISOLATION, Isolation.STRONG_SNAPSHOT_ISOLATION, Isolation.SERIALIZABLE,
            Isolation.STRONG_SESSION_SERIALIZABLE, Isolation.STRICT_SERIALIZABLE};
    private static final Isolation[] FROM_SNAPSHOTS = {Isolation.SNAPSHOT_ISOLATION,
            Isolation.STRONG_SESSION_SNAPSHOT_ISOLATION, Isolation.STRONG_SNAPSHOT_ISOLATION, Isolation.SERIALIZABLE,
            Isolation.STRONG_SESSION_SERIALIZABLE, Isolation.STRICT_SERIALIZABLE};
    private static final Isolation[] SERIALIZABLE = {Isolation.SERIALIZABLE, Isolation.STRONG_SESSION_SERIALIZABLE,
            Isolation.STRICT_SERIALIZABLE};

    @Test
    void nothingHappened() {
        assertSound(new HistoryOf().history());
    }

    @Test
    void oneAfterTheOther() {
        assertSound(new HistoryOf().read(1, "x", 0).write(1, "x").commit(1, 1).read(2, "x", 1).write(2, "x")
                .commit(2, 2).read(3, "x", 2).commit(3, 0).history());
    }

    @Test
    void readingWhatWasAborted() {
        assertAnomaly(new HistoryOf().write(1, "x").abort(1).read(2, "x", 1).commit(2, 0).history(),
                "G1a (aborted read)", ALL_BUT_UNCOMMITTED);
        // An aborted transaction may read what it likes.
        assertSound(new HistoryOf().write(1, "x").abort(1).read(2, "x", 1).abort(2).history());
    }

    @Test
    void readingEachOther() {
        assertAnomaly(
                new HistoryOf().write(1, "x").read(1, "y", 2).commit(1, 1).write(2, "y").read(2, "x", 1).commit(2, 2)
                        .history(),
                "G1c (circular information flow)", ALL_BUT_UNCOMMITTED);
    }

    @Test
    void lostUpdate() {
        History history = new HistoryOf().read(1, "x", 0).write(1, "x").commit(1, 1).read(2, "x", 0).write(2, "x")
                .commit(2, 2).history();
        assertAnomaly(history, "P4 (lost update)", FROM_SNAPSHOTS);
        assertTrue(IsolationCheck.check(history, Isolation.SERIALIZABLE).violations().getFirst().text()
                .contains("T0:0.2 read x before T0:0.1 overwrote it"));
        // Without having read it, the second simply overwrites.
        assertSound(new HistoryOf().read(1, "x", 0).write(1, "x").commit(1, 1).write(2, "x").commit(2, 2).history());
    }

    @Test
    void readSkew() {
        assertAnomaly(
                new HistoryOf().write(1, "x", "y").commit(1, 1).read(2, "x", 0).read(2, "y", 1).commit(2, 0).history(),
                "G-single (read skew)", FROM_SNAPSHOTS);
        assertSound(new HistoryOf().write(1, "x", "y").commit(1, 1).read(2, "x", 0).read(2, "y", 0).commit(2, 0)
                .history());
    }

    @Test
    void writeSkew() {
        assertAnomaly(
                new HistoryOf().read(1, "x", 0).read(1, "y", 0).write(1, "x").commit(1, 1).read(2, "x", 0)
                        .read(2, "y", 0).write(2, "y").commit(2, 2).history(),
                "G2-item (write skew)", SERIALIZABLE);
        assertSound(new HistoryOf().read(1, "x", 0).read(1, "y", 0).write(1, "x").commit(1, 1).read(2, "x", 1)
                .read(2, "y", 0).write(2, "y").commit(2, 2).history());
    }

    @Test
    void readOnlyTransactionAnomaly() {
        // Fekete, O'Neil and O'Neil (2004): without the reader the two writers are serializable.
        HistoryOf writers = new HistoryOf().read(1, "y", 0).read(1, "x", 0).write(1, "x").commit(1, 2).read(2, "y", 0)
                .write(2, "y").commit(2, 1);
        assertSound(writers.history());
        assertAnomaly(writers.read(3, "x", 0).read(3, "y", 2).commit(3, 0).history(),
                "G2-item (anti-dependency cycle)", SERIALIZABLE);
    }

    @Test
    void longFork() {
        History history = new HistoryOf().write(1, "x").commit(1, 1).write(2, "y").commit(2, 2).read(3, "x", 1)
                .read(3, "y", 0).commit(3, 0).read(4, "x", 0).read(4, "y", 2).commit(4, 0).history();
        assertAnomaly(history, "G-nonadjacent (long fork)", FROM_SNAPSHOTS);
        // One of the two readers alone: its snapshot fits one of the two orders of commits.
        History half = new HistoryOf().write(1, "x").commit(1, 1).write(2, "y").commit(2, 2).read(4, "x", 0)
                .read(4, "y", 2).commit(4, 0).history();
        assertSound(half);
        // But not that in which they were committed.
        assertEquals("snapshot",
                PrefixSnapshotCheck.check(half, Freshness.PLAIN).violations().getFirst().rule());
    }

    @Test
    void anOldSnapshotInASession() {
        History history = new HistoryOf().begun(1, 7, 1).write(1, "x").commit(1, 1, 2).begun(2, 7, 3).read(2, "x", 0)
                .commit(2, 0, 4).history();
        assertAnomaly(history, "G-single-order (stale read)", Isolation.STRONG_SESSION_SNAPSHOT_ISOLATION,
                Isolation.STRONG_SNAPSHOT_ISOLATION, Isolation.STRONG_SESSION_SERIALIZABLE,
                Isolation.STRICT_SERIALIZABLE);
        assertTrue(PrefixSnapshotCheck.check(history, Freshness.PLAIN).passed());
        assertEquals("freshness",
                PrefixSnapshotCheck.check(history, Freshness.STRONG_SESSION).violations().getFirst().rule());
    }

    @Test
    void anOldSnapshotInAnotherSession() {
        HistoryOf history = new HistoryOf().begun(1, 7, 1).write(1, "x").commit(1, 1, 2).begun(2, 8, 3);
        assertAnomaly(history.read(2, "x", 0).commit(2, 0, 4).history(), "G-single-order (stale read)",
                Isolation.STRONG_SNAPSHOT_ISOLATION, Isolation.STRICT_SERIALIZABLE);
        assertTrue(PrefixSnapshotCheck.check(history.history(), Freshness.STRONG_SESSION).passed());
        assertEquals("freshness",
                PrefixSnapshotCheck.check(history.history(), Freshness.STRONG).violations().getFirst().rule());
        // Begun at the very instant of the answer: concurrent.
        assertSound(new HistoryOf().begun(1, 7, 1).write(1, "x").commit(1, 1, 2).begun(2, 8, 2).read(2, "x", 0)
                .commit(2, 0, 4).history());
    }

    @Test
    void aReaderGoesBackInItsSession() {
        HistoryOf history = new HistoryOf().begun(1, 1, 1).write(1, "x").commit(1, 1, 9).begun(2, 2, 2).read(2, "x", 1)
                .commit(2, 0, 3).begun(3, 2, 4).read(3, "x", 0).commit(3, 0, 5);
        assertAnomaly(history.history(), "G-single-order (stale read)", Isolation.STRONG_SESSION_SNAPSHOT_ISOLATION,
                Isolation.STRONG_SNAPSHOT_ISOLATION, Isolation.STRONG_SESSION_SERIALIZABLE,
                Isolation.STRICT_SERIALIZABLE);
        assertEquals("freshness",
                PrefixSnapshotCheck.check(history.history(), Freshness.STRONG_SESSION).violations().getFirst().rule());
    }

    @Test
    void somebodyWhoWasToldNothingPrecedesNobody() {
        History history = new HistoryOf().begun(1, 7, 1).write(1, "x").unanswered(1, 1).begun(2, 7, 3).read(2, "x", 0)
                .commit(2, 0, 4)
                .begun(3, 8, 9).read(3, "x", 1).commit(3, 0, 10).history();
        assertSound(history);
    }

    @Test
    void aSnapshotThatIsNotWhatTheReplicaSays() {
        HistoryOf history = new HistoryOf().write(1, "x").commit(1, 1).write(2, "x").commit(2, 2).read(3, "x", 1)
                .commit(3, 0);
        assertTrue(PrefixSnapshotCheck.check(history.snapshot(3, 1).history(), Freshness.PLAIN).passed());
        assertEquals("snapshot", PrefixSnapshotCheck.check(history.snapshot(3, 2).history(), Freshness.PLAIN)
                .violations().getFirst().rule());
    }

    @Test
    void theSecondOfTwoConcurrentWritersCommits() {
        HistoryOf history = new HistoryOf().write(1, "x").commit(1, 1).read(2, "y", 0).write(2, "x").commit(2, 2);
        assertTrue(PrefixSnapshotCheck.check(history.history(), Freshness.PLAIN).passed(), "a snapshot of 1 will do");
        assertEquals("first committer wins",
                PrefixSnapshotCheck.check(history.snapshot(2, 0).history(), Freshness.PLAIN)
                        .violations().getFirst().rule());
    }

    @Test
    void contradictionsAreTold() {
        assertEquals("one position each", IsolationCheck.check(
                new HistoryOf().write(1, "x").commit(1, 1).write(2, "y").commit(2, 1).history(),
                Isolation.READ_COMMITTED).violations().getFirst().rule());
        assertEquals("read of nothing", IsolationCheck.check(
                new HistoryOf().write(1, "x").commit(1, 1).read(2, "y", 1).commit(2, 0).history(),
                Isolation.READ_COMMITTED).violations().getFirst().rule());
    }

    @Test
    void theShortestCycleIsTold() {
        // A cycle of five through one of two.
        HistoryOf history = new HistoryOf();
        for (int i = 1; i <= 5; i++) {
            history.read(i, "k" + i, 0).write(i, "k" + (i % 5 + 1)).commit(i, i);
        }
        assertEquals(5, IsolationCheck.check(history.history(), Isolation.SERIALIZABLE).violations().getFirst().rows()
                .size());
        history.read(6, "k1", 5).write(6, "k2").read(6, "z", 0).commit(6, 6).read(7, "k2", 1).write(7, "z").commit(7,
                7);
        CheckResult.Violation shortest = IsolationCheck.check(history.history(), Isolation.SERIALIZABLE).violations()
                .getFirst();
        assertEquals("T0:0.6, T0:0.7", shortest.subject());
        assertEquals("G2-item (write skew)", shortest.rule());
    }

    @Test
    void executedAgainMeansThatWhatWasReadBeforeDoesNotCount() {
        HistoryRecorder recorder = new HistoryRecorder();
        TransactionId first = new TransactionId(0, 1);
        TransactionId second = new TransactionId(1, 1);
        recorder.read(second, 1, null);
        recorder.write(second, 1);
        recorder.write(first, 1);
        recorder.committed(first, 1);
        recorder.executedAgain(second);
        recorder.read(second, 1, first);
        recorder.write(second, 1);
        recorder.committed(second, 2);
        assertSound(recorder.history());
    }
}
