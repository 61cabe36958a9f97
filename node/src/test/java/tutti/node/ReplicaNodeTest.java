package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.SnapshotIsolation;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;

/** What one replica promises, under {@code si}. */
class ReplicaNodeTest extends ReplicaTrio {
    /** Longer than any test. */
    private static final long FOREVER_NANOS = TimeUnit.HOURS.toNanos(10);

    private ListEngine.Session commit(int node, String change, long key) {
        ListEngine.Session session = engines.get(node).new Session(change);
        nodes.get(node).begin(session).executed(writes(change, key), ReadSet.EMPTY);
        return session;
    }

    private Outcome outcome(ListEngine.Session session) {
        return get(session.outcome);
    }

    private long committed(ListEngine.Session session) {
        Outcome outcome = outcome(session);
        return assertInstanceOf(Outcome.Committed.class, outcome, outcome::toString).position();
    }

    /** Writes through every node and sees the write back everywhere: whatever was decided before is visible then. */
    private void settle() {
        for (int node : nodes.keySet()) {
            awaitVisible(committed(commit(node, "settle", 1_000_000 + node)));
        }
    }

    @Test
    void whatCommitsAtOneNodeIsInTheSameOrderAtAll() throws IOException {
        openAll(SnapshotIsolation.NAME);
        List<ListEngine.Session> sessions = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            sessions.add(commit(i % 3, "change " + i, i));
        }
        for (ListEngine.Session session : sessions) {
            committed(session);
        }
        settle();
        assertEquals(303, engines.get(0).changes().size());
        assertEquals(engines.get(0).changes(), engines.get(1).changes());
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
    }

    @Test
    void nodesThatWereAskedToLookAllDoSoAtTheSamePosition() throws IOException {
        openAll(SnapshotIsolation.NAME);
        List<Long> positions = new ArrayList<>();
        List<List<String>> seen = new ArrayList<>();
        List<BooleanSupplier> begun = new ArrayList<>();
        for (int node : List.of(0, 2)) {
            this.<Void>told(done -> nodes.get(node).expect(17, (position, go) -> {
                positions.add(position);
                seen.add(engines.get(node).changes());
                begun.add(go);
            }, done));
        }
        for (int i = 0; i < 30; i++) {
            commit(i % 3, "before " + i, i);
        }
        this.<Void>told(done -> nodes.get(1).look(17, done));
        List<ListEngine.Session> after = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            after.add(commit(1, "after " + i, 100 + i));
        }
        // Node 1 was not asked to look, so it does not wait.
        after.forEach(this::committed);
        await(() -> begun.size() == 2);
        assertEquals(positions.getFirst(), positions.getLast());
        assertEquals(seen.getFirst(), seen.getLast());
        assertEquals(seen.getFirst(), engines.get(1).changes().subList(0, seen.getFirst().size()));
        for (int i = 0; i < 2; i++) {
            assertEquals(seen.get(i), engines.get(2 * i).changes());
            assertTrue(begun.get(i).getAsBoolean());
        }
        settle();
    }

    /** Its look does not count then. */
    @Test
    void aNodeWhoseLookTakesTooLongGoesOn() throws IOException {
        openAll(SnapshotIsolation.NAME);
        List<BooleanSupplier> begun = new ArrayList<>();
        this.<Void>told(done -> nodes.get(1).expect(3, (_, go) -> begun.add(go), done));
        this.<Void>told(done -> nodes.get(0).look(3, done));
        settle();
        assertFalse(begun.getFirst().getAsBoolean());
    }

    /** Commits some at node 0, which wait at node 2 to be applied; answers the last one's position. */
    private long manyThatWait() {
        long last = 0;
        for (int i = 0; i < 5; i++) {
            last = committed(commit(0, "change " + i, i));
        }
        long delivered = last;
        await(() -> nodes.get(2).deliveredPosition() >= delivered);
        return last;
    }

    @Test
    void whoAsksForAPositionDoesNotWaitForMoreToCome() throws IOException {
        lingerNanos = FOREVER_NANOS;
        openAll(SnapshotIsolation.NAME);
        long last = manyThatWait();
        assertTrue(this.<Long>told(done -> nodes.get(2).await(last, done)) >= last);
    }

    @Test
    void aTransactionThatBeginsHasWhatWasOrderedBeforeItAppliedAtOnce() throws IOException {
        lingerNanos = FOREVER_NANOS;
        openAll(SnapshotIsolation.NAME);
        long last = manyThatWait();
        nodes.get(2).begin(engines.get(2).new Session("begins"));
        await(() -> nodes.get(2).visiblePosition() >= last);
        committed(commit(0, "later", 7));
        await(() -> nodes.get(2).visiblePosition() > last);
    }

    @Test
    void whoHoldsAPositionIsNotTooOldAlthoughItBeginsLater() throws IOException {
        openAll(SnapshotIsolation.NAME);
        ReplicaNode node = nodes.get(0);
        long held = node.hold();
        settle();
        ListEngine.Session late = engines.get(0).new Session("late");
        Transactions.Ticket ticket = node.begin(late, held);
        node.unhold(held);
        ticket.executed(writes("late", 1), ReadSet.EMPTY);
        committed(late);
        long forgotten = node.visiblePosition();
        settle();
        ListEngine.Session tooLate = engines.get(0).new Session("too late");
        node.begin(tooLate, forgotten).executed(writes("too late", 2), ReadSet.EMPTY);
        assertInstanceOf(AbortReason.TooOld.class,
                assertInstanceOf(Outcome.Aborted.class, outcome(tooLate)).reason());
    }

    @Test
    void whoMeetsWhatIsPromisedToAPreparedTransactionIsRolledBackAndNotOrdered() throws IOException {
        openAll(SnapshotIsolation.NAME);
        engines.get(1).promised = writes("prepared", 5).keys();
        committed(commit(1, "elsewhere", 6));
        ListEngine.Session meets = commit(1, "meets", 5);
        assertEquals(new Outcome.Aborted(new AbortReason.Promised(0, "prepared")), outcome(meets));
        assertTrue(meets.rolledBack.isDone());
        engines.get(1).promised = KeySet.EMPTY;
        committed(commit(1, "afterwards", 5));
        settle();
        assertEquals(engines.get(0).changes(), engines.get(1).changes());
        assertTrue(engines.get(0).changes().stream().noneMatch(change -> change.contains("meets")));
    }

    @Test
    void ofConcurrentWritersOfOneKeyOneCommitsAndTheOthersAreRolledBackBeforeTheyHear() throws IOException {
        openAll(SnapshotIsolation.NAME);
        for (int round = 0; round < 50; round++) {
            long key = round;
            List<ListEngine.Session> sessions = new ArrayList<>();
            List<Transactions.Ticket> tickets = new ArrayList<>();
            for (int node : ALL) {
                ListEngine.Session session = engines.get(node).new Session("round " + round);
                sessions.add(session);
                tickets.add(nodes.get(node).begin(session));
            }
            for (Transactions.Ticket ticket : tickets) {
                ticket.executed(writes("round " + round, key), ReadSet.EMPTY);
            }
            int committed = 0;
            for (ListEngine.Session session : sessions) {
                if (outcome(session) instanceof Outcome.Committed) {
                    committed++;
                } else {
                    assertTrue(session.rolledBack.isDone());
                }
            }
            assertEquals(1, committed, "round " + round);
        }
        settle();
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
    }

    @Test
    void anOpenTransactionThatHoldsARowGivesWayToAnOrderedOne() throws IOException {
        openAll(SnapshotIsolation.NAME);
        ListEngine.Session holder = engines.get(0).new Session("never");
        Transactions.Ticket ticket = nodes.get(0).begin(holder);
        engines.get(0).blocked(nodes.get(0).visiblePosition() + 1, holder);
        committed(commit(1, "winner", 7));
        Outcome.Aborted aborted = assertInstanceOf(Outcome.Aborted.class, outcome(holder));
        assertInstanceOf(AbortReason.Victim.class, aborted.reason());
        ticket.executed(writes("never", 7), ReadSet.EMPTY);
        settle();
        assertTrue(engines.get(0).changes().stream().noneMatch("never"::equals));
    }

    @Test
    void aBarrierIsExecutedByEveryNodeAtOnePosition() throws IOException {
        openAll(SnapshotIsolation.NAME);
        ExecuteResult result = told(done -> nodes.get(1).barrier("CREATE TABLE t".getBytes(StandardCharsets.UTF_8),
                KeySet.EMPTY, done));
        assertTrue(result.tookEffect());
        settle();
        for (int node : ALL) {
            assertEquals(engines.get(1).changes(), engines.get(node).changes());
        }
        assertTrue(engines.get(0).changes().contains("CREATE TABLE t"));
    }

    @Test
    void aNodeThatWasAwayCatchesUpWithEachPositionOnce() throws IOException {
        openAll(SnapshotIsolation.NAME);
        for (int i = 0; i < 50; i++) {
            outcome(commit(0, "before " + i, i));
        }
        nodes.remove(2).close();
        for (int i = 0; i < 50; i++) {
            outcome(commit(1, "while away " + i, i));
        }
        openReady(SnapshotIsolation.NAME, 2);
        settle();
        assertEquals(103, engines.get(2).changes().size());
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
    }

    @Test
    void theLogIsTruncatedAndARestartBeginsAtASnapshot() throws IOException {
        openAll(SnapshotIsolation.NAME);
        for (int round = 0; firstRetained() < 2 * SNAPSHOT_POSITIONS; round++) {
            outcome(commit(round % 3, "change " + round, round % 10));
        }
        nodes.remove(2).close();
        for (int i = 0; i < 30; i++) {
            outcome(commit(0, "while away " + i, i % 10));
        }
        openReady(SnapshotIsolation.NAME, 2);
        settle();
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
    }

    @Test
    void anEngineThatWritesForItIsAskedWhatIsDurableWhenSomethingCanBeForgottenAndSeldomOtherwise() throws IOException {
        openAll(SnapshotIsolation.NAME);
        engines.values().forEach(engine -> engine.writesForDurability = true);
        assertEquals(4, askedDurable(60), 1, "nothing to gain");
        ListEngine behind = engines.get(0);
        behind.durabilityLag = 10 * SNAPSHOT_POSITIONS;
        for (int i = 0; i < 2 * SNAPSHOT_POSITIONS; i++) {
            outcome(commit(0, "change " + i, i % 10));
        }
        assertEquals(60, askedDurable(60), 1, "there is a snapshot that the others do not know");
        assertEquals(1, firstRetained());
        behind.durabilityLag = 0;
        assertEquals(4, askedDurable(60), 2, "and now they do");
        assertTrue(firstRetained() >= SNAPSHOT_POSITIONS, () -> "begins at " + firstRetained());
    }

    /** How often node 0's engine is asked in so many of the times at which it could be. */
    private int askedDurable(int times) {
        int before = engines.get(0).askedDurable.get();
        ((TestMachine) machine).runFor(times * DURABILITY_NANOS);
        return engines.get(0).askedDurable.get() - before;
    }

    private long firstRetained() {
        return nodes.get(0).orderStatus().firstRetained();
    }

    @Test
    void withoutAMajorityWritesAreRefusedWithTheReason() throws IOException {
        openAll(SnapshotIsolation.NAME);
        nodes.remove(1).close();
        nodes.remove(2).close();
        ReplicaNode alone = nodes.get(0);
        await(() -> alone.refusal() != null);
        assertTrue(String.valueOf(alone.refusal()).contains("majority"), alone.refusal());
        Outcome.Aborted aborted = assertInstanceOf(Outcome.Aborted.class, outcome(commit(0, "lost", 1)));
        assertEquals("unavailable", aborted.reason().label());
        openReady(SnapshotIsolation.NAME, 1);
        await(() -> alone.refusal() == null);
        committed(commit(0, "found", 1));
    }

    @Test
    void anEngineThatWentAwayStopsTheReplicaAndSaysThatARestartHelps() throws IOException {
        openAll(SnapshotIsolation.NAME);
        Runnable lost = engines.get(2).lost;
        assertNotNull(lost);
        lost.run();
        assertTrue(end(2).cause().getMessage().contains("from the log"));
        assertEquals(ReplicaNode.State.FAILED, nodes.get(2).state());
        assertNotNull(nodes.get(2).refusal());
        assertTrue(nodes.get(0).view().majority());
    }
}
