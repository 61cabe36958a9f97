package tutti.check.listappend;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tutti.check.CheckResult;
import tutti.check.isolation.Isolation;
import tutti.workload.client.ClientOutcome;
import tutti.workload.listappend.ListAppendHistory;
import tutti.workload.listappend.ListAppendOperation;
import tutti.workload.listappend.ListAppendTransaction;

/** What can be told from lists alone; each anomaly with a neighbour that is none. */
class ListAppendCheckTest {
    private ListAppendHistory history = new ListAppendHistory(100);
    private long clock;

    @BeforeEach
    void empty() {
        history = new ListAppendHistory(100);
        clock = 0;
    }

    private static ListAppendOperation append(long key, int value) {
        return new ListAppendOperation.Append(key, value);
    }

    private static ListAppendOperation read(long key, int... values) {
        return new ListAppendOperation.Read(key, values);
    }

    /** A transaction of a session of its own, concurrent with all others. */
    private ListAppendCheckTest ok(ListAppendOperation... operations) {
        return add(100 + history.size(), 0, 1_000, ClientOutcome.OK, false, operations);
    }

    private ListAppendCheckTest ended(ClientOutcome outcome, ListAppendOperation... operations) {
        return add(100 + history.size(), 0, 1_000, outcome, false, operations);
    }

    /** One after the others, in a session. */
    private ListAppendCheckTest next(int session, ListAppendOperation... operations) {
        clock += 2;
        return add(session, clock, clock + 1, ClientOutcome.OK, false, operations);
    }

    private ListAppendCheckTest last(ListAppendOperation... operations) {
        return add(100 + history.size(), 2_000, 2_001, ClientOutcome.OK, true, operations);
    }

    private ListAppendCheckTest add(int session, long from, long to, ClientOutcome outcome, boolean last,
            ListAppendOperation... operations) {
        assertTrue(history.add(new ListAppendTransaction(session, 0, from, to, outcome, last, List.of(operations))));
        return this;
    }

    private CheckResult check(Isolation isolation) {
        return ListAppendCheck.check(history, isolation);
    }

    private void passes(Isolation... levels) {
        for (Isolation isolation : levels) {
            CheckResult result = check(isolation);
            assertTrue(result.passed(), result.text());
        }
    }

    private void finds(String rule, Isolation... levels) {
        for (Isolation isolation : levels) {
            CheckResult result = check(isolation);
            List<String> rules = new ArrayList<>();
            result.violations().forEach(violation -> rules.add(violation.rule()));
            assertTrue(rules.contains(rule), result.text());
        }
    }

    @Test
    void oneAfterTheOther() {
        next(1, append(1, 1), read(1, 1)).next(2, read(1, 1), append(1, 2), append(1, 3), read(1, 1, 2, 3)).next(1,
                read(1, 1, 2, 3), read(2)).last(read(1, 1, 2, 3), read(2));
        passes(Isolation.values());
    }

    @Test
    void incompatibleOrders() {
        ok(append(1, 1)).ok(append(1, 2)).ok(read(1, 1, 2)).ok(read(1, 2));
        finds("incompatible orders", Isolation.READ_COMMITTED, Isolation.SNAPSHOT_ISOLATION);
    }

    @Test
    void aLostUpdateShowsInTheListsOfItsTwoWriters() {
        ok(append(1, 1)).ok(read(1, 1), append(1, 2), read(1, 1, 2)).ok(read(1, 1), append(1, 3), read(1, 1, 3));
        finds("incompatible orders", Isolation.SNAPSHOT_ISOLATION);
    }

    @Test
    void aLostUpdateShowsEvenIfNobodySeesWhatWasLost() {
        ok(append(1, 1)).ok(read(1, 1), append(1, 2)).ok(read(1, 1), append(1, 3)).ok(read(1, 1, 3));
        finds("P4 (lost update)", Isolation.SNAPSHOT_ISOLATION, Isolation.SERIALIZABLE);
        passes(Isolation.READ_COMMITTED);
    }

    @Test
    void aLostAppendShowsAfterTheEnd() {
        ok(append(1, 1)).ok(append(1, 2)).ok(read(1, 1));
        passes(Isolation.STRICT_SERIALIZABLE);
        last(read(1, 1));
        finds("lost append", Isolation.READ_COMMITTED, Isolation.SERIALIZABLE);
    }

    @Test
    void whatWasNotAcknowledgedMayBeLost() {
        ok(append(1, 1)).ended(ClientOutcome.FAILED, append(1, 2)).ended(ClientOutcome.UNKNOWN, append(1, 3))
                .last(read(1, 1));
        passes(Isolation.values());
    }

    @Test
    void anUnknownOutcomeIsKnownOnceSomebodyReadsIt() {
        ended(ClientOutcome.UNKNOWN, append(1, 1), append(2, 1)).ok(read(1, 1));
        passes(Isolation.values());
        ok(read(1, 1), read(2));
        finds("G-single (read skew)", Isolation.SNAPSHOT_ISOLATION, Isolation.SERIALIZABLE);
        passes(Isolation.READ_COMMITTED);
    }

    @Test
    void duplicates() {
        ok(append(1, 1)).ok(append(1, 2)).ok(read(1, 1, 2, 1));
        finds("duplicate append", Isolation.READ_COMMITTED, Isolation.SERIALIZABLE);
    }

    @Test
    void valuesFromNowhere() {
        ok(append(1, 1)).ok(read(1, 1, 7));
        finds("value from nowhere", Isolation.READ_UNCOMMITTED, Isolation.SERIALIZABLE);
    }

    @Test
    void abortedReads() {
        ended(ClientOutcome.FAILED, append(1, 1)).ok(read(1, 1));
        finds("G1a (aborted read)", Isolation.READ_COMMITTED, Isolation.SERIALIZABLE);
        empty();
        ended(ClientOutcome.FAILED, append(1, 1)).ended(ClientOutcome.FAILED, read(1, 1));
        passes(Isolation.values());
    }

    @Test
    void intermediateReads() {
        ok(append(1, 1), append(1, 2)).ok(read(1, 1));
        finds("G1b (intermediate read)", Isolation.READ_COMMITTED, Isolation.SERIALIZABLE);
        empty();
        ok(append(1, 1), read(1, 1), append(1, 2)).ok(read(1, 1, 2));
        passes(Isolation.values());
    }

    @Test
    void tornAppends() {
        ok(append(1, 1), append(1, 2)).ok(append(1, 3)).ok(read(1, 1, 3, 2));
        finds("G0 (dirty write)", Isolation.READ_COMMITTED, Isolation.SERIALIZABLE);
    }

    @Test
    void dirtyWritesOfSeveralKeys() {
        ok(append(1, 1), append(2, 1)).ok(append(1, 2), append(2, 2)).ok(read(1, 1, 2)).ok(read(2, 2, 1));
        finds("G0 (dirty write)", Isolation.READ_UNCOMMITTED, Isolation.SERIALIZABLE);
    }

    @Test
    void circularInformation() {
        ok(append(1, 1), read(2, 1)).ok(append(2, 1), read(1, 1));
        finds("G1c (circular information flow)", Isolation.READ_COMMITTED, Isolation.SERIALIZABLE);
        passes(Isolation.READ_UNCOMMITTED);
    }

    @Test
    void ownOperationsAreFoundAgain() {
        ok(append(1, 1), read(1));
        finds("internal", Isolation.READ_COMMITTED, Isolation.SERIALIZABLE);
        empty();
        ok(append(1, 9)).ok(read(1), read(1, 9));
        finds("internal", Isolation.SNAPSHOT_ISOLATION, Isolation.SERIALIZABLE);
        passes(Isolation.READ_COMMITTED);
    }

    @Test
    void writeSkew() {
        ok(read(1), append(2, 1)).ok(read(2), append(1, 1)).ok(read(1, 1), read(2, 1));
        finds("G2-item (write skew)", Isolation.SERIALIZABLE);
        passes(Isolation.SNAPSHOT_ISOLATION, Isolation.STRONG_SNAPSHOT_ISOLATION);
    }

    @Test
    void longFork() {
        ok(append(1, 1)).ok(append(2, 1)).ok(read(1, 1), read(2)).ok(read(1), read(2, 1));
        finds("G-nonadjacent (long fork)", Isolation.SNAPSHOT_ISOLATION, Isolation.SERIALIZABLE);
        passes(Isolation.READ_COMMITTED);
    }

    @Test
    void staleReads() {
        next(1, append(1, 1)).next(1, read(1)).next(2, read(1, 1));
        finds("G-single-order (stale read)", Isolation.STRONG_SESSION_SNAPSHOT_ISOLATION,
                Isolation.STRONG_SESSION_SERIALIZABLE);
        passes(Isolation.SNAPSHOT_ISOLATION, Isolation.SERIALIZABLE);
        empty();
        next(1, append(1, 1)).next(2, read(1)).next(2, read(1, 1));
        finds("G-single-order (stale read)", Isolation.STRONG_SNAPSHOT_ISOLATION, Isolation.STRICT_SERIALIZABLE);
        passes(Isolation.STRONG_SESSION_SNAPSHOT_ISOLATION, Isolation.STRONG_SESSION_SERIALIZABLE);
    }

    @Test
    void theSameAppendTwiceCannotBeJudged() {
        ok(append(1, 1)).ok(append(1, 1));
        assertTrue(assertThrows(IllegalArgumentException.class, () -> check(Isolation.SERIALIZABLE)).getMessage()
                .contains("more than once"));
    }

    @Test
    void anExplanationNamesOperationsAndReasons() {
        ok(append(1, 1)).ok(read(1, 1), append(1, 2)).ok(read(1, 1), append(1, 3)).ok(read(1, 1, 3));
        CheckResult.Violation violation = check(Isolation.SNAPSHOT_ISOLATION).violations().getFirst();
        assertEquals("T1, T2", violation.subject());
        assertTrue(violation.text().contains("T1 read list 1 without what T2 appended to it"), violation.text());
        assertTrue(violation.rows().getFirst().toString().contains("append(1, 2)"), violation.rows().toString());
    }
}
