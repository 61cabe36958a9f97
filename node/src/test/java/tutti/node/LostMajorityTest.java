package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.Order;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;

/** What clients hear whose commits are on their way to the order when the majority is lost. */
class LostMajorityTest extends ReplicaTrio {
    private static final long DOUBT_NANOS = 3_000_000_000L;

    private HeldOrder held;

    LostMajorityTest() {
        doubtNanos = DOUBT_NANOS;
    }

    @Override
    Order order(int node) {
        Order order = super.order(node);
        if (node != 0) {
            return order;
        }
        HeldOrder first = new HeldOrder(order);
        held = first;
        return first;
    }

    private void loseMajority() {
        nodes.remove(1).close();
        nodes.remove(2).close();
    }

    private void findMajority(String protocol) throws Exception {
        held.goOn();
        openReady(protocol, 1);
        openReady(protocol, 2);
    }

    private TransactionOutcome ask(int node, TransactionId about) {
        return told(done -> nodes.get(node).outcome(about, done));
    }

    private void passes(long nanos) {
        CompletableFuture<Void> over = new CompletableFuture<>();
        machine.loop("passing", cause -> {
            throw new AssertionError(cause);
        }).schedule(nanos, () -> over.complete(null));
        await(over::isDone);
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r", "passive", "2pc"})
    void whoseCommitIsUnderWayHearsThatItIsInDoubtAndCanAskLater(String protocol) throws Exception {
        openAll(protocol);
        new Client(0, "before", 1).committed();
        TransactionId name = Objects.requireNonNull(nodes.get(0).reserve());
        held.hold();
        Client client = new Client(0, name, true);
        await(() -> held.holds());
        loseMajority();
        await(() -> nodes.get(0).refusal() != null);
        passes(DOUBT_NANOS - 1_000_000);
        assertFalse(client.doubtful.isDone(), "a majority may come back in time");
        assertEquals(name, get(client.doubtful));
        await(client::isRolledBack);
        findMajority(protocol);
        boolean committed = client.outcome() instanceof Outcome.Committed;
        for (int node : ALL) {
            assertEquals(committed ? TransactionOutcome.COMMITTED : TransactionOutcome.ABORTED,
                    ask(node, name), "node " + node);
            assertEquals(committed, engines.get(node).changes().contains(name.toString()), "node " + node);
        }
        assertTrue(committed, "nobody was in its way");
        noneHasEnded();
    }

    /** It has not been sent to be decided, because its node is about to join, and never will be without its locks. */
    @Test
    void whoseCommitIsCertainNotToComeHearsThat() throws Exception {
        openAll("2pc");
        held.hold();
        Client client = new Client(0, "never", 1);
        await(() -> held.holds());
        loseMajority();
        assertEquals(new Outcome.Aborted(new AbortReason.Failed("unavailable")), client.outcome());
        assertFalse(client.doubtful.isDone());
        findMajority("2pc");
        awaitVisible(new Client(1, "next", 1).committed());
        nodes.keySet().forEach(node -> assertFalse(engines.get(node).changes().contains("never"), "node " + node));
        noneHasEnded();
    }

    @Test
    void whoWaitsForATurnHearsToo() throws IOException {
        openAll("nodo");
        held.hold();
        Client client = new Client(0, Objects.requireNonNull(nodes.get(0).reserve()), true);
        loseMajority();
        get(client.doubtful);
        assertFalse(client.turn.isDone());
    }

    @Test
    void whatEveryNodeExecutesIsInDoubtAlike() throws Exception {
        openAll("si");
        TransactionId name = Objects.requireNonNull(nodes.get(0).reserve());
        held.hold();
        CompletableFuture<EngineFailure> failed = new CompletableFuture<>();
        nodes.get(0).barrier("alter".getBytes(StandardCharsets.UTF_8), KeySet.EMPTY, name,
                new Completion<ExecuteResult>() {
                    @Override
                    public void succeeded(ExecuteResult result) {
                        failed.completeExceptionally(new AssertionError("it cannot have been executed"));
                    }

                    @Override
                    public void failed(EngineFailure failure) {
                        failed.complete(failure);
                    }
                });
        await(() -> held.holds());
        loseMajority();
        EngineFailure failure = get(failed);
        assertEquals("08007", failure.sqlState());
        assertTrue(failure.message().contains("tutti_outcome('" + name + "')"), failure.message());
        findMajority("si");
        assertEquals(TransactionOutcome.COMMITTED, ask(1, name));
        noneHasEnded();
    }

    /** Who waits in its queue would depose a primary that is well, when the others are there again. */
    @Test
    void whoIsLeftAloneDoesNotTakeOver() throws Exception {
        openAll("passive");
        nodes.remove(0).close();
        nodes.remove(1).close();
        passes(DOUBT_NANOS);
        openReady("passive", 0);
        openReady("passive", 1);
        awaitVisible(new Client(0, "still primary", 1).committed());
        passes(DOUBT_NANOS);
        new Client(0, "and still", 1).committed();
        noneHasEnded();
    }

    private CompletableFuture<EngineFailure> log(String request) {
        CompletableFuture<EngineFailure> failed = new CompletableFuture<>();
        nodes.get(0).log(request.getBytes(StandardCharsets.UTF_8), ConflictClasses.ALL, null,
                new Completion<TransactionId>() {
                    @Override
                    public void succeeded(TransactionId ticket) {
                        failed.completeExceptionally(new AssertionError("it cannot have been logged"));
                    }

                    @Override
                    public void failed(EngineFailure failure) {
                        failed.complete(failure);
                    }
                });
        return failed;
    }

    /** Nothing of it has been handed to the order, so there is no doubt. */
    @Test
    void whoWaitsForRoomAmongLoggedRequestsHearsThatThereIsNone() throws Exception {
        waitingBytesMax = 1;
        openAll("hybrid");
        held.hold();
        CompletableFuture<EngineFailure> first = log("first");
        await(() -> held.holds());
        CompletableFuture<EngineFailure> waits = log("waits");
        loseMajority();
        assertEquals("08007", get(first).sqlState());
        assertEquals("57P03", get(waits).sqlState());
        assertEquals("57P03", get(log("late")).sqlState());
        findMajority("hybrid");
        await(() -> nodes.keySet().stream().allMatch(node -> engines.get(node).changes().contains("first")));
        nodes.keySet().forEach(node -> assertEquals(1, engines.get(node).count(), "node " + node));
        noneHasEnded();
    }

    @Test
    void whoIsAnsweredInTimeHearsNothingOfIt() throws Exception {
        openAll("si");
        held.hold();
        Client client = new Client(0, "late", 1);
        await(() -> held.holds());
        loseMajority();
        await(() -> nodes.get(0).refusal() != null);
        passes(DOUBT_NANOS / 2);
        findMajority("si");
        client.committed();
        passes(DOUBT_NANOS);
        assertInstanceOf(Outcome.Committed.class, client.outcome());
        assertFalse(client.doubtful.isDone());
    }
}
