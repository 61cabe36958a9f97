package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.protocol.Replica.Priority;
import tutti.core.protocol.Request;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.WriteSet;

/** Every protocol that nodes can run, on three replicas in one process: who commits, who hears what, and that copies are equal. */
@Timeout(60)
class ProtocolNodesTest extends ReplicaTrio {
    @AfterEach
    void noneHasFailed() {
        assertFalse(failed.isDone(), () -> failed.join().toString());
    }

    /** A client's transaction that changes one row, when its turn comes. */
    private final class Client implements LocalTransaction {
        private final ListEngine.Session session;
        private final WriteSet writes;
        private final Transactions.Ticket ticket;
        final CompletableFuture<Priority> turn = new CompletableFuture<>();

        Client(int node, String change, long key) {
            session = engines.get(node).new Session(change);
            writes = change.isEmpty()
                    ? WriteSet.EMPTY
                    : new WriteSet(new KeySet.Builder().add(key, KeyKind.UPDATE).build(),
                            change.getBytes(StandardCharsets.UTF_8));
            ReplicaNode at = nodes.get(node);
            ticket = at.begin(this);
            if (at.executesAtOnce()) {
                run(Priority.OPTIMISTIC);
            } else {
                ticket.submit(new Request.Interactive(ConflictClasses.of(List.of(key % 7))));
            }
        }

        @Override
        public void run(Priority priority) {
            if (turn.complete(priority)) {
                if (writes.isEmpty()) {
                    ticket.ended();
                } else {
                    ticket.executed(writes, ReadSet.EMPTY);
                }
            }
        }

        @Override
        public void commit(long position, Completion<Void> done) {
            session.commit(position, done);
        }

        @Override
        public void rollback(Runnable done) {
            session.rollback(done);
        }

        @Override
        public void answer(Outcome outcome) {
            session.answer(outcome);
        }

        Outcome outcome() throws Exception {
            return session.outcome.get(20, TimeUnit.SECONDS);
        }
    }

    @Test
    void everyNodeExecutesWholeRequests() throws Exception {
        openAll("active");
        List<CompletableFuture<Outcome>> outcomes = new ArrayList<>();
        List<CompletableFuture<ExecuteResult>> results = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            byte[] statement = ("request " + i).getBytes(StandardCharsets.UTF_8);
            CompletableFuture<Outcome> outcome = new CompletableFuture<>();
            CompletableFuture<ExecuteResult> result = new CompletableFuture<>();
            outcomes.add(outcome);
            results.add(result);
            ReplicaNode at = nodes.get(i % 3);
            assertTrue(at.wholeOnly());
            at.begin(new LocalTransaction() {
                @Override
                public void executed(ExecuteResult answered) {
                    result.complete(answered);
                }

                @Override
                public void commit(long position, Completion<Void> done) {
                    throw new AssertionError("it has not run here by itself");
                }

                @Override
                public void rollback(Runnable done) {
                    throw new AssertionError("it has not run here by itself");
                }

                @Override
                public void answer(Outcome answer) {
                    assertTrue(result.isDone(), "the result comes first");
                    outcome.complete(answer);
                }
            }).submit(new Request.Whole(statement, ConflictClasses.ALL, KeySet.EMPTY, Request.Placement.EITHER));
        }
        long last = 0;
        for (CompletableFuture<Outcome> outcome : outcomes) {
            last = Math.max(last,
                    assertInstanceOf(Outcome.Committed.class, outcome.get(20, TimeUnit.SECONDS)).position());
        }
        assertEquals("request 7", new String(results.get(7).join().response(), StandardCharsets.UTF_8));
        for (ReplicaNode node : nodes.values()) {
            while (node.visiblePosition() < last) {
                Thread.onSpinWait();
            }
        }
        assertEquals(60, engines.get(0).changes().size());
        assertEquals(engines.get(0).changes(), engines.get(1).changes());
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
    }

    /** Nodes at which changes may be made, until one is found. */
    private int writer() throws Exception {
        for (int tries = 0;; tries++) {
            for (int node : nodes.keySet()) {
                if (new Client(node, "probe", 1_000_000).outcome() instanceof Outcome.Committed) {
                    return node;
                }
            }
            assertTrue(tries < 10_000, "no node makes changes");
        }
    }

    private void settle() throws Exception {
        long last = 0;
        for (int tries = 0; last == 0; tries++) {
            last = new Client(writer(), "settle", 1_000_001 + tries).outcome() instanceof Outcome.Committed(long at)
                    ? at
                    : 0;
        }
        for (ReplicaNode other : nodes.values()) {
            while (other.visiblePosition() < last) {
                Thread.onSpinWait();
            }
        }
        for (int node : nodes.keySet()) {
            assertEquals(engines.get(nodes.keySet().iterator().next()).changes(), engines.get(node).changes());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r", "passive", "nodo", "akara", "2pc"})
    void transactionsAtAllNodesEndAndCopiesAreEqual(String protocol) throws Exception {
        openAll(protocol);
        List<Client> clients = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            clients.add(new Client(i % 3, "change " + i, i));
        }
        int committed = 0;
        for (Client client : clients) {
            switch (client.outcome()) {
                case Outcome.Committed _ -> committed++;
                case Outcome.Aborted(AbortReason reason) -> {
                    assertEquals("passive", protocol);
                    assertInstanceOf(AbortReason.Refused.class, reason);
                }
            }
        }
        assertEquals(protocol.equals("passive") ? 100 : 300, committed);
        settle();
        assertTrue(engines.get(0).changes().size() > committed);
    }

    @ParameterizedTest
    @ValueSource(strings = {"passive", "nodo", "akara", "2pc"})
    void whatChangesNothingLetsTheNextOnesPass(String protocol) throws Exception {
        openAll(protocol);
        for (int i = 0; i < 20; i++) {
            new Client(i % 3, "", 3).turn.get(20, TimeUnit.SECONDS);
        }
        assertInstanceOf(Outcome.Committed.class, new Client(writer(), "next", 3).outcome());
        settle();
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r", "passive", "nodo", "akara", "2pc"})
    void aBarrierIsExecutedByEveryNode(String protocol) throws Exception {
        openAll(protocol);
        CompletableFuture<ExecuteResult> result = new CompletableFuture<>();
        nodes.get(writer()).barrier("CREATE TABLE t".getBytes(StandardCharsets.UTF_8), KeySet.EMPTY,
                new Completion<>() {
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
        assertTrue(engines.get(0).changes().contains("CREATE TABLE t"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r", "passive", "nodo", "akara", "2pc"})
    void aNodeThatIsGoneHoldsUpNobodyAndCatchesUp(String protocol) throws Exception {
        openAll(protocol);
        for (int i = 0; i < 20; i++) {
            new Client(0, "with all " + i, i).outcome();
        }
        // Some of these are on their way when it goes.
        for (int i = 0; i < 20; i++) {
            Client unheard = new Client(0, "last words " + i, i);
            assertTrue(unheard.ticket.id().node() == 0);
        }
        nodes.remove(0).close();
        int at = writer();
        for (int i = 0; i < 20; i++) {
            assertInstanceOf(Outcome.Committed.class, new Client(at, "without " + i, 100 + i).outcome());
        }
        open(protocol, 0).ready().get(20, TimeUnit.SECONDS);
        settle();
    }
}
