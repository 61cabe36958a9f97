package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.protocol.TransactionRequest;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;

/** Every protocol that nodes can run, on three replicas in one process: who commits, who hears what, and that copies are equal. */
class ProtocolNodesTest extends ReplicaTrio {
    @AfterEach
    void noneHasFailed() {
        noneHasEnded();
    }

    @Test
    void everyNodeExecutesWholeRequests() throws IOException {
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
            }).submit(new TransactionRequest.Whole(statement, ConflictClasses.ALL, KeySet.EMPTY,
                    TransactionRequest.Placement.EITHER));
        }
        long last = 0;
        for (CompletableFuture<Outcome> outcome : outcomes) {
            last = Math.max(last,
                    assertInstanceOf(Outcome.Committed.class, get(outcome)).position());
        }
        assertEquals("request 7", new String(results.get(7).join().response(), StandardCharsets.UTF_8));
        awaitVisible(last);
        assertEquals(60, engines.get(0).changes().size());
        assertEquals(engines.get(0).changes(), engines.get(1).changes());
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
    }

    /** Nodes at which changes may be made, until one is found. */
    private int writer() {
        for (int tries = 0;; tries++) {
            for (int node : nodes.keySet()) {
                if (new Client(node, "probe", 1_000_000).outcome() instanceof Outcome.Committed) {
                    return node;
                }
            }
            assertTrue(tries < 10_000, "no node makes changes");
        }
    }

    private void settle() {
        long last = 0;
        for (int tries = 0; last == 0; tries++) {
            last = new Client(writer(), "settle", 1_000_001 + tries).outcome() instanceof Outcome.Committed(long at)
                    ? at
                    : 0;
        }
        awaitVisible(last);
        for (int node : nodes.keySet()) {
            assertEquals(engines.get(nodes.keySet().iterator().next()).changes(), engines.get(node).changes());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r", "passive", "nodo", "akara", "2pc", "hybrid"})
    void transactionsAtAllNodesEndAndCopiesAreEqual(String protocol) throws IOException {
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
    @ValueSource(strings = {"passive", "nodo", "akara", "2pc", "hybrid"})
    void whatChangesNothingLetsTheNextOnesPass(String protocol) throws IOException {
        openAll(protocol);
        for (int i = 0; i < 20; i++) {
            get(new Client(i % 3, "", 3).turn);
        }
        new Client(writer(), "next", 3).committed();
        settle();
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r", "passive", "nodo", "akara", "2pc", "hybrid"})
    void aBarrierIsExecutedByEveryNode(String protocol) throws IOException {
        openAll(protocol);
        ReplicaNode at = nodes.get(writer());
        ExecuteResult result = told(
                done -> at.barrier("CREATE TABLE t".getBytes(StandardCharsets.UTF_8), KeySet.EMPTY, done));
        assertTrue(result.tookEffect());
        settle();
        assertTrue(engines.get(0).changes().contains("CREATE TABLE t"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r", "passive", "nodo", "akara", "2pc", "hybrid"})
    void aNodeThatIsGoneHoldsUpNobodyAndCatchesUp(String protocol) throws IOException {
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
            new Client(at, "without " + i, 100 + i).committed();
        }
        openReady(protocol, 0);
        settle();
    }
}
