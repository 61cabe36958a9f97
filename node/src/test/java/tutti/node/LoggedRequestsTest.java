package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.TransactionRequest;
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

    /** All of the same length. */
    private static byte[] request(int number) {
        return String.format(Locale.ROOT, "request %4d", number).getBytes(StandardCharsets.UTF_8);
    }

    private CompletableFuture<TransactionId> log(int node, int number) {
        CompletableFuture<TransactionId> logged = new CompletableFuture<>();
        nodes.get(node).log(request(number),
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

    /** More are not logged, by whichever node, before some have been executed. */
    @Test
    void theyTakeSoMuchMemoryAtATime() throws IOException {
        int count = 500;
        waitingBytesMax = count * (TransactionRequest.Whole.WAITING_BYTES + (long) request(0).length);
        openAll("hybrid");
        engines.values().forEach(ListEngine::hold);
        List<CompletableFuture<TransactionId>> logged = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            logged.add(log(0, i));
        }
        logged.forEach(this::get);
        int more = 7;
        for (int i = 0; i < more; i++) {
            logged.add(log(i % 3, count + i));
        }
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

    /** As many bytes are ordered as the requests take that it would carry, before the next one is taken. */
    @Test
    void manyThatWaitAreNotWrittenOverAndOver() throws IOException {
        snapshotPositions = 1;
        openAll("hybrid");
        engines.values().forEach(ListEngine::hold);
        long begun = nodes.get(0).visiblePosition();
        for (int i = 0; i < 200; i++) {
            get(log(0, i));
        }
        ((TestMachine) machine).runFor(1_000_000_000L);
        assertTrue(newestSnapshot() <= begun + 2, () -> "of position " + newestSnapshot() + ", begun at " + begun);
        engines.values().forEach(ListEngine::goOn);
        awaitEqual(200);
        await(() -> newestSnapshot() > begun + 200);
    }

    @Test
    void whatIsLoggedIsExecutedWhenItsOwnersDatabaseIsWellAgain() throws IOException {
        openAll("hybrid");
        engines.values().forEach(engine -> engine.full = true);
        TransactionId ticket = get(log(0, 1));
        ((TestMachine) machine).runFor(3_600_000_000_000L);
        TransactionOutcome open = told(done -> nodes.get(1).outcome(ticket, done));
        assertEquals(TransactionOutcome.IN_PROGRESS, open);
        engines.values().forEach(engine -> engine.full = false);
        awaitEqual(1);
    }

    private long newestSnapshot() {
        try (Stream<Path> all = Files.list(files(0))) {
            return all.map(file -> String.valueOf(file.getFileName())).filter(name -> name.endsWith(".snapshot"))
                    .mapToLong(name -> Long.parseLong(name.replaceAll("\\D", ""))).max().orElse(0);
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }
}
