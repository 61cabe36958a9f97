package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.TransactionId;

/** Requests whose clients hear that they are logged, on three replicas in virtual time. */
class LoggedRequestsTest extends ReplicaTrio {
    @AfterEach
    void noneHasFailed() {
        noneHasEnded();
    }

    private CompletableFuture<TransactionId> log(int node, int number) {
        CompletableFuture<TransactionId> logged = new CompletableFuture<>();
        nodes.get(node).log(("request " + number).getBytes(StandardCharsets.UTF_8),
                ConflictClasses.of(Set.of((long) number % 50)), null, new Completion<>() {
                    @Override
                    public void succeeded(TransactionId ticket) {
                        logged.complete(ticket);
                    }

                    @Override
                    public void failed(EngineFailure failure) {
                        logged.completeExceptionally(new AssertionError(failure.toString()));
                    }
                });
        return logged;
    }

    private void awaitEqual(int count) {
        await(() -> nodes.keySet().stream().allMatch(node -> engines.get(node).count() == count));
        int first = nodes.keySet().iterator().next();
        nodes.keySet().forEach(node -> assertEquals(engines.get(first).changes(), engines.get(node).changes()));
    }

    @Test
    void whatIsLoggedCanBeAskedForEverywhere() throws IOException {
        openAll("hybrid");
        engines.values().forEach(ListEngine::hold);
        TransactionId ticket = get(log(0, 1));
        assertEquals(0, ticket.node());
        for (ReplicaNode node : nodes.values()) {
            TransactionOutcome open = told(done -> node.outcome(ticket, done));
            assertEquals(TransactionOutcome.IN_PROGRESS, open);
        }
        engines.values().forEach(ListEngine::goOn);
        awaitEqual(1);
        for (ReplicaNode node : nodes.values()) {
            TransactionOutcome now = told(done -> node.outcome(ticket, done));
            assertEquals(TransactionOutcome.COMMITTED, now);
        }
    }

    @Test
    void whatIsLoggedIsExecutedThoughItsNodeIsGone() throws IOException {
        openAll("hybrid");
        engines.values().forEach(ListEngine::hold);
        List<CompletableFuture<TransactionId>> logged = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            logged.add(log(0, i));
        }
        logged.forEach(this::get);
        nodes.remove(0).close();
        engines.values().forEach(ListEngine::goOn);
        awaitEqual(60);
    }

    /** More are not logged before some have been executed. */
    @Test
    void thereAreSoManyAtATime() throws IOException {
        snapshotPositions = Long.MAX_VALUE;
        openAll("hybrid");
        engines.values().forEach(ListEngine::hold);
        List<CompletableFuture<TransactionId>> logged = new ArrayList<>();
        int more = 7;
        for (int i = 0; i < ActiveRequestTable.LOGGED_MAX + more; i++) {
            logged.add(log(0, i));
        }
        get(logged.get(ActiveRequestTable.LOGGED_MAX - 1));
        for (ReplicaNode node : nodes.values()) {
            // an answer takes a while, in which everything is ordered that is going to be
            TransactionOutcome open = told(done -> node.outcome(logged.getFirst().join(), done));
            assertEquals(TransactionOutcome.IN_PROGRESS, open);
        }
        assertEquals(more, logged.stream().filter(each -> !each.isDone()).count());
        engines.values().forEach(ListEngine::goOn);
        logged.forEach(this::get);
        awaitEqual(logged.size());
    }
}
