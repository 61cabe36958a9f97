package tutti.check.replica;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import tutti.check.CheckResult;
import tutti.check.history.History;
import tutti.check.history.HistoryRecorder;
import tutti.core.txn.TransactionId;

/** Replicas that apply the same, and those that do not. */
class CommitSequenceCheckTest {
    private final HistoryRecorder recorder = new HistoryRecorder();

    private static TransactionId id(int number) {
        return new TransactionId(number % 3, number);
    }

    private void applied(int replica, int... transactions) {
        for (int transaction : transactions) {
            recorder.write(id(transaction), transaction % 2);
            recorder.applied(replica, 10L * transaction, id(transaction), 1000 + transaction);
        }
    }

    private CheckResult.Violation violation() {
        return CommitSequenceCheck.check(recorder.history()).violations().getFirst();
    }

    private void passes() {
        CheckResult result = CommitSequenceCheck.check(recorder.history());
        assertTrue(result.passed(), result.text());
    }

    @Test
    void equalSequencesWithGapsBetweenPositions() {
        applied(0, 1, 2, 3);
        applied(1, 1, 2, 3);
        passes();
    }

    @Test
    void aCrashedReplicaHasAPrefix() {
        applied(0, 1, 2, 3);
        applied(1, 1, 2);
        assertEquals("complete", violation().rule());
        recorder.crashed(1);
        passes();
    }

    @Test
    void aGapIsNoPrefixNotEvenOfACrashedOne() {
        applied(0, 1, 2, 3);
        applied(1, 1, 3);
        recorder.crashed(1);
        assertEquals("no gap", violation().rule());
        assertTrue(violation().text().contains("left out T2:0.2 at position 20"), violation().text());
    }

    @Test
    void orderCounts() {
        applied(0, 1, 2, 3);
        applied(1, 1, 3, 2);
        assertEquals("no gap", violation().rule());
    }

    @Test
    void theFirstPositionThatDiffersIsNamed() {
        applied(0, 1, 2, 3);
        recorder.applied(1, 10, id(1), 1001);
        recorder.applied(1, 20, id(9), 7);
        recorder.applied(1, 30, id(8), 8);
        assertEquals("position 20", violation().subject());
        assertTrue(violation().text().contains("replica 0 applied T2:0.2, replica 1 T0:0.9"), violation().text());
    }

    @Test
    void statesAreCompared() {
        applied(0, 1, 2, 3);
        recorder.applied(1, 10, id(1), 1001);
        recorder.applied(1, 20, id(2), 666);
        recorder.applied(1, 30, id(3), 667);
        assertEquals("same state", violation().rule());
        assertEquals("position 20", violation().subject());
    }

    @Test
    void whatIsWithdrawnDoesNotCount() {
        applied(0, 1, 3);
        applied(1, 1, 2, 3);
        recorder.undone(id(2));
        assertEquals("no gap", violation().rule());
        recorder.withdrawn(1, id(2));
        passes();
    }

    @Test
    void aStateThatWasNotTakenIsNotCompared() {
        applied(0, 1, 2);
        recorder.applied(1, 10, id(1), 0);
        recorder.applied(1, 20, id(2), 1002);
        passes();
    }

    @Test
    void aRestartedReplicaGoesOnWhereItRecovered() {
        applied(0, 1, 2, 3);
        applied(1, 1, 2);
        recorder.crashed(1);
        // What it had not yet made durable it applies again.
        recorder.started(1, 10);
        applied(1, 2, 3);
        passes();
    }

    @Test
    void aRestartedReplicaMustNotSkip() {
        applied(0, 1, 2, 3);
        applied(1, 1);
        recorder.crashed(1);
        recorder.started(1, 10);
        applied(1, 3);
        assertEquals("no gap", violation().rule());
    }

    @Test
    void aCopiedReplicaBeginsBehindItsCopy() {
        applied(0, 1, 2, 3);
        recorder.started(1, 25);
        applied(1, 3);
        passes();
    }

    @Test
    void noTransactionTwice() {
        applied(0, 1, 2);
        recorder.applied(0, 30, id(1), 1003);
        assertEquals("applied once", violation().rule());
    }

    @Test
    void keysOnTheirOwnMayBeAppliedInDifferentOrders() {
        applied(0, 1, 2, 3);
        applied(1, 2, 1, 3);
        assertTrue(KeySequenceCheck.check(recorder.history()).passed());
        applied(2, 3, 2, 1);
        assertEquals("same order", KeySequenceCheck.check(recorder.history()).violations().getFirst().rule());
    }

    @Test
    void keysMustBeComplete() {
        applied(0, 1, 2, 3);
        applied(1, 1, 2);
        assertEquals("complete", KeySequenceCheck.check(recorder.history()).violations().getFirst().rule());
    }

    @Test
    void acknowledgedIsPresentAndAbortedIsAbsent() {
        applied(0, 1, 2);
        recorder.answered(id(1), 5, History.Answer.COMMITTED);
        recorder.write(id(3), 1);
        assertTrue(AcknowledgedHistoryCheck.check(recorder.history()).passed(), "nobody was told of the third");
        recorder.answered(id(3), 5, History.Answer.COMMITTED);
        assertEquals("acknowledged is present",
                AcknowledgedHistoryCheck.check(recorder.history()).violations().getFirst().rule());
        recorder.answered(id(3), 5, History.Answer.ABORTED);
        assertTrue(AcknowledgedHistoryCheck.check(recorder.history()).passed());
        recorder.answered(id(2), 5, History.Answer.ABORTED);
        assertEquals("aborted is absent",
                AcknowledgedHistoryCheck.check(recorder.history()).violations().getFirst().rule());
    }
}
