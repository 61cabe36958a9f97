package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;

/** What nodes answer about transactions of other nodes, under every protocol: of living nodes, restarted ones, lost ones. */
class QuestionsTest extends ReplicaTrio {
    private TransactionOutcome ask(int node, TransactionId about) {
        return told(done -> nodes.get(node).outcome(about, done));
    }

    private TransactionId reserve(int node) {
        return Objects.requireNonNull(nodes.get(node).reserve());
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r", "passive", "nodo", "akara", "2pc", "hybrid"})
    void aLivingNodeAnswersForItsTransactions(String protocol) throws IOException {
        openAll(protocol);
        TransactionId committing = reserve(0);
        TransactionId open = reserve(0);
        TransactionId unused = reserve(0);
        new Client(0, committing, true).committed();
        Client holding = new Client(0, open, false);
        for (int node : ALL) {
            assertEquals(TransactionOutcome.COMMITTED, ask(node, committing));
            assertTrue(engines.get(node).changes().contains(committing.toString()), "visible at node " + node);
        }
        assertEquals(TransactionOutcome.ABORTED, ask(1, open));
        assertInstanceOf(Outcome.Aborted.class, holding.outcome());
        assertEquals(TransactionOutcome.ABORTED, ask(2, unused));
        assertInstanceOf(Outcome.Aborted.class, new Client(0, unused, true).outcome(), "it was told to have ended");
        assertEquals(TransactionOutcome.UNKNOWN, ask(1, new TransactionId(0, 99L << 32 | 1)), "of a life to come");
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "postgres-r", "nodo", "2pc", "hybrid"})
    void afterARestartAbsenceIsAnAnswer(String protocol) throws IOException {
        openAll(protocol);
        TransactionId committed = reserve(0);
        TransactionId open = reserve(0);
        new Client(0, committed, true).committed();
        new Client(0, open, false);
        // so many that there are snapshots, and the log is truncated
        for (int i = 0; i < 60; i++) {
            new Client(1, reserve(1), true).committed();
            if (!protocol.equals("si") && i > 2) {
                break;
            }
        }
        for (int node : List.of(0, 2)) {
            nodes.get(node).close();
            openReady(protocol, node);
        }
        for (int node : ALL) {
            assertEquals(TransactionOutcome.COMMITTED, ask(node, committed));
            assertEquals(TransactionOutcome.ABORTED, ask(node, open));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r", "2pc"})
    void aLostNodeIsFenced(String protocol) throws IOException {
        openAll(protocol);
        TransactionId committed = reserve(0);
        TransactionId open = reserve(0);
        new Client(0, committed, true).committed();
        nodes.get(0).close();
        assertEquals(TransactionOutcome.ABORTED, ask(1, open));
        assertEquals(TransactionOutcome.COMMITTED, ask(2, committed));
        openReady(protocol, 0);
        TransactionId again = reserve(0);
        assertInstanceOf(Outcome.Committed.class, new Client(0, again, true).outcome(), "its new life counts");
        assertEquals(TransactionOutcome.COMMITTED, ask(2, again));
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "2pc"})
    void positionsAreWaitedFor(String protocol) throws IOException {
        openAll(protocol);
        TransactionId written = reserve(0);
        new Client(0, written, true).committed();
        long position = nodes.get(0).visiblePosition();
        long there = told(done -> nodes.get(1).await(position, done));
        assertTrue(there >= position);
        assertTrue(engines.get(1).changes().contains(written.toString()));
        TransactionId next = reserve(0);
        new Client(0, next, true).committed();
        assertTrue(this.<Long>told(done -> nodes.get(2).awaitAll(done)) > position);
        assertTrue(engines.get(2).changes().contains(next.toString()));
    }

    /** Asks node 1 for a transaction that has committed at node 0 and is not shown there yet. */
    private CompletableFuture<TransactionOutcome> askWhileItIsHeld(String protocol) throws IOException {
        openAll(protocol);
        TransactionId name = reserve(0);
        engines.get(0).hold();
        new Client(0, name, true);
        await(() -> engines.get(1).changes().contains(name.toString()));
        CompletableFuture<TransactionOutcome> told = new CompletableFuture<>();
        nodes.get(1).outcome(name, new Completion<>() {
            @Override
            public void succeeded(TransactionOutcome outcome) {
                told.complete(outcome);
            }

            @Override
            public void failed(EngineFailure failure) {
                told.completeExceptionally(new AssertionError(failure.toString()));
            }
        });
        ((TestMachine) machine).runFor(1_000_000_000L);
        return told;
    }

    /** Updates begin at the primary, and have seen all that anybody was told of before. */
    @Test
    void nobodyIsToldBeforeThePrimaryShowsIt() throws IOException {
        CompletableFuture<TransactionOutcome> told = askWhileItIsHeld("passive");
        assertFalse(told.isDone());
        engines.get(0).goOn();
        assertEquals(TransactionOutcome.COMMITTED, get(told));
    }

    @Test
    void whoTakesOverHasShownIt() throws IOException {
        CompletableFuture<TransactionOutcome> told = askWhileItIsHeld("passive");
        assertFalse(told.isDone());
        nodes.get(0).close();
        assertEquals(TransactionOutcome.COMMITTED, get(told));
    }

    @Test
    void aPrimaryThatBeginsAnewHasShownIt() throws IOException {
        CompletableFuture<TransactionOutcome> told = askWhileItIsHeld("passive");
        nodes.get(0).close();
        engines.get(0).goOn();
        openReady("passive", 0);
        assertEquals(TransactionOutcome.COMMITTED, get(told));
    }

    @Test
    void whereUpdatesMayHaveSeenLessItIsToldAtOnce() throws IOException {
        assertEquals(TransactionOutcome.COMMITTED, askWhileItIsHeld("si").getNow(null));
    }

    @ParameterizedTest
    @ValueSource(strings = {"si"})
    void aNodeThatIsFencedBeginsAnew(String protocol) throws IOException {
        openAll(protocol);
        TransactionId name = reserve(0);
        nodes.get(1).fence(0, name.incarnation());
        assertTrue(end(0).restartable(), "and starting anew helps");
        assertEquals(TransactionOutcome.ABORTED, ask(2, name));
    }
}
