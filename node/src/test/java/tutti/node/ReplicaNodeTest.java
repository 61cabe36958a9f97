package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.SnapshotIsolation;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.WriteSet;
import tutti.node.metrics.NodeMetrics;
import tutti.order.local.LocalOrderGroup;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** Three replicas in one process, over an order in memory and engines that are lists. */
@Timeout(60)
class ReplicaNodeTest {
    private static final Set<Integer> ALL = Set.of(0, 1, 2);
    private static final long SNAPSHOT_POSITIONS = 20;
    /** Longer than any test. */
    private static final long FOREVER_NANOS = TimeUnit.HOURS.toNanos(1);

    private long lingerNanos;

    @TempDir
    private Path directory;

    private final LocalOrderGroup group = new LocalOrderGroup(RealMachine.INSTANCE, ALL);
    private final Map<Integer, ListEngine> engines = new HashMap<>();
    private final Map<Integer, ReplicaNode> nodes = new HashMap<>();
    private final Map<Integer, CompletableFuture<Throwable>> failures = new HashMap<>();

    private ReplicaNode open(int node) throws Exception {
        ListEngine engine = engines.computeIfAbsent(node, _ -> new ListEngine());
        CompletableFuture<Throwable> failure = new CompletableFuture<>();
        failures.put(node, failure);
        ReplicaNode.Settings settings = new ReplicaNode.Settings(node, ALL,
                Protocols.STANDARD.choose(SnapshotIsolation.NAME), 3, 16, 100, 1 << 20, 5_000_000L, SNAPSHOT_POSITIONS,
                lingerNanos);
        ReplicaNode replica = new ReplicaNode(settings, RealMachine.INSTANCE,
                PathDirectory.of(directory.resolve("node" + node)), group.open(node), engine,
                world -> new SnapshotIsolation(
                        new SnapshotIsolation.Parameters(node, ALL, 1000, 5_000_000L), world),
                NodeMetrics.NONE, (cause, _) -> failure.complete(cause));
        nodes.put(node, replica);
        replica.start().get(20, TimeUnit.SECONDS);
        return replica;
    }

    private void openAll() throws Exception {
        for (int node : ALL) {
            open(node);
        }
        for (int node : ALL) {
            nodes.get(node).ready().get(20, TimeUnit.SECONDS);
        }
    }

    @AfterEach
    void closeAll() {
        nodes.values().forEach(ReplicaNode::close);
        engines.values().forEach(ListEngine::close);
    }

    private static WriteSet writes(String change, long key) {
        return new WriteSet(new KeySet.Builder().add(key, KeyKind.UPDATE).build(),
                change.getBytes(StandardCharsets.UTF_8));
    }

    private ListEngine.Session commit(int node, String change, long key) {
        ListEngine.Session session = engines.get(node).new Session(change);
        nodes.get(node).begin(session).executed(writes(change, key), ReadSet.EMPTY);
        return session;
    }

    private Outcome outcome(ListEngine.Session session) throws Exception {
        return session.outcome.get(20, TimeUnit.SECONDS);
    }

    /** Writes through every node and sees the write back everywhere: whatever was decided before is visible then. */
    private void settle() throws Exception {
        for (int node : nodes.keySet()) {
            Outcome.Committed last = assertInstanceOf(Outcome.Committed.class,
                    outcome(commit(node, "settle", 1_000_000 + node)));
            for (ReplicaNode other : nodes.values()) {
                while (other.visiblePosition() < last.position()) {
                    Thread.onSpinWait();
                }
            }
        }
    }

    @Test
    void whatCommitsAtOneNodeIsInTheSameOrderAtAll() throws Exception {
        openAll();
        List<ListEngine.Session> sessions = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            sessions.add(commit(i % 3, "change " + i, i));
        }
        for (ListEngine.Session session : sessions) {
            assertInstanceOf(Outcome.Committed.class, outcome(session));
        }
        settle();
        assertEquals(303, engines.get(0).changes().size());
        assertEquals(engines.get(0).changes(), engines.get(1).changes());
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
    }

    /** Commits some at node 0, which wait at node 2 to be applied; answers the last one's position. */
    private long manyThatWait() throws Exception {
        long last = 0;
        for (int i = 0; i < 5; i++) {
            last = assertInstanceOf(Outcome.Committed.class, outcome(commit(0, "change " + i, i))).position();
        }
        while (nodes.get(2).deliveredPosition() < last) {
            Thread.onSpinWait();
        }
        return last;
    }

    @Test
    void whoAsksForAPositionDoesNotWaitForMoreToCome() throws Exception {
        lingerNanos = FOREVER_NANOS;
        openAll();
        long last = manyThatWait();
        CompletableFuture<Long> seen = new CompletableFuture<>();
        nodes.get(2).await(last, new Completion<>() {
            @Override
            public void succeeded(Long position) {
                seen.complete(position);
            }

            @Override
            public void failed(EngineFailure failure) {
                seen.completeExceptionally(new AssertionError(failure.message()));
            }
        });
        assertTrue(seen.get() >= last);
    }

    @Test
    void aTransactionThatBeginsHasWhatWasOrderedBeforeItAppliedAtOnce() throws Exception {
        lingerNanos = FOREVER_NANOS;
        openAll();
        long last = manyThatWait();
        nodes.get(2).begin(engines.get(2).new Session("begins"));
        while (nodes.get(2).visiblePosition() < last) {
            Thread.onSpinWait();
        }
        assertInstanceOf(Outcome.Committed.class, outcome(commit(0, "later", 7)));
        while (nodes.get(2).visiblePosition() <= last) {
            Thread.onSpinWait();
        }
    }

    @Test
    void whoHoldsAPositionIsNotTooOldAlthoughItBeginsLater() throws Exception {
        openAll();
        ReplicaNode node = nodes.get(0);
        long held = node.hold();
        settle();
        ListEngine.Session late = engines.get(0).new Session("late");
        Transactions.Ticket ticket = node.begin(late, held);
        node.unhold(held);
        ticket.executed(writes("late", 1), ReadSet.EMPTY);
        assertInstanceOf(Outcome.Committed.class, outcome(late));
        long forgotten = node.visiblePosition();
        settle();
        ListEngine.Session tooLate = engines.get(0).new Session("too late");
        node.begin(tooLate, forgotten).executed(writes("too late", 2), ReadSet.EMPTY);
        assertInstanceOf(AbortReason.TooOld.class,
                assertInstanceOf(Outcome.Aborted.class, outcome(tooLate)).reason());
    }

    @Test
    void ofConcurrentWritersOfOneKeyOneCommitsAndTheOthersAreRolledBackBeforeTheyHear() throws Exception {
        openAll();
        for (int round = 0; round < 50; round++) {
            long key = round;
            List<ListEngine.Session> sessions = new ArrayList<>();
            List<Transactions.Ticket> tickets = new ArrayList<>();
            for (int node : ALL) {
                ListEngine.Session session = engines.get(node).new Session("round " + round);
                sessions.add(session);
                tickets.add(nodes.get(node).begin(session));
            }
            // All hold the row, as far as their nodes know, before one of them asks.
            for (Transactions.Ticket ticket : tickets) {
                ticket.touched(writes("", key).keys());
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
    void anOpenTransactionThatHoldsARowGivesWayToAnOrderedOne() throws Exception {
        openAll();
        ListEngine.Session holder = engines.get(0).new Session("never");
        Transactions.Ticket ticket = nodes.get(0).begin(holder);
        ticket.touched(writes("", 7).keys());
        assertInstanceOf(Outcome.Committed.class, outcome(commit(1, "winner", 7)));
        Outcome.Aborted aborted = assertInstanceOf(Outcome.Aborted.class, outcome(holder));
        assertInstanceOf(AbortReason.Victim.class, aborted.reason());
        ticket.executed(writes("never", 7), ReadSet.EMPTY);
        settle();
        assertTrue(engines.get(0).changes().stream().noneMatch("never"::equals));
    }

    @Test
    void aBarrierIsExecutedByEveryNodeAtOnePosition() throws Exception {
        openAll();
        CompletableFuture<ExecuteResult> result = new CompletableFuture<>();
        nodes.get(1).barrier("CREATE TABLE t".getBytes(StandardCharsets.UTF_8), KeySet.EMPTY, new Completion<>() {
            @Override
            public void succeeded(ExecuteResult value) {
                result.complete(value);
            }

            @Override
            public void failed(EngineFailure failure) {
                result.completeExceptionally(new IllegalStateException(failure.message()));
            }
        });
        assertTrue(result.get(20, TimeUnit.SECONDS).tookEffect());
        settle();
        for (int node : ALL) {
            assertEquals(engines.get(1).changes(), engines.get(node).changes());
        }
        assertTrue(engines.get(0).changes().contains("CREATE TABLE t"));
    }

    @Test
    void aNodeThatWasAwayCatchesUpWithEachPositionOnce() throws Exception {
        openAll();
        for (int i = 0; i < 50; i++) {
            outcome(commit(0, "before " + i, i));
        }
        nodes.remove(2).close();
        for (int i = 0; i < 50; i++) {
            outcome(commit(1, "while away " + i, i));
        }
        open(2).ready().get(20, TimeUnit.SECONDS);
        settle();
        assertEquals(103, engines.get(2).changes().size());
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
    }

    @Test
    void theLogIsTruncatedAndARestartBeginsAtASnapshot() throws Exception {
        openAll();
        for (int round = 0; firstRetained() < 2 * SNAPSHOT_POSITIONS; round++) {
            outcome(commit(round % 3, "change " + round, round % 10));
        }
        nodes.remove(2).close();
        for (int i = 0; i < 30; i++) {
            outcome(commit(0, "while away " + i, i % 10));
        }
        open(2).ready().get(20, TimeUnit.SECONDS);
        settle();
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
    }

    private long firstRetained() {
        return nodes.get(0).orderStatus().firstRetained();
    }

    @Test
    void withoutAMajorityWritesAreRefusedWithTheReason() throws Exception {
        openAll();
        nodes.remove(1).close();
        nodes.remove(2).close();
        ReplicaNode alone = nodes.get(0);
        while (alone.refusal() == null) {
            Thread.onSpinWait();
        }
        assertTrue(String.valueOf(alone.refusal()).contains("majority"), alone.refusal());
        Outcome.Aborted aborted = assertInstanceOf(Outcome.Aborted.class, outcome(commit(0, "lost", 1)));
        assertEquals("unavailable", aborted.reason().label());
        open(1);
        nodes.get(1).ready().get(20, TimeUnit.SECONDS);
        while (alone.refusal() != null) {
            Thread.onSpinWait();
        }
        assertInstanceOf(Outcome.Committed.class, outcome(commit(0, "found", 1)));
    }

    @Test
    void anEngineThatWentAwayStopsTheReplicaAndSaysThatARestartHelps() throws Exception {
        openAll();
        Runnable lost = engines.get(2).lost;
        assertNotNull(lost);
        lost.run();
        assertTrue(failures.get(2).get(20, TimeUnit.SECONDS).getMessage().contains("from the log"));
        assertEquals(ReplicaNode.State.FAILED, nodes.get(2).state());
        assertNotNull(nodes.get(2).refusal());
        assertTrue(nodes.get(0).view().majority());
    }
}
