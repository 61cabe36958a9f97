package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.TransactionId;

/** When a node is told that all others show what it shows. */
class ShownElsewhereTest extends ReplicaTrio {
    private static final long SECOND = 1_000_000_000L;

    /** Something commits at node 0, and node 2 does not show it. */
    private long commitWhileNodeTwoIsHeld(String protocol) throws IOException {
        openAll(protocol);
        engines.get(2).hold();
        TransactionId name = Objects.requireNonNull(nodes.get(0).reserve());
        new Client(0, name, true).committed();
        return nodes.get(0).visiblePosition();
    }

    private CompletableFuture<Set<Integer>> missing(long position, long patienceNanos) {
        CompletableFuture<Set<Integer>> told = new CompletableFuture<>();
        nodes.get(0).awaitElsewhere(position, patienceNanos, new Completion<>() {
            @Override
            public void succeeded(Set<Integer> nodes) {
                told.complete(nodes);
            }

            @Override
            public void failed(EngineFailure failure) {
                told.completeExceptionally(new AssertionError(failure.toString()));
            }
        });
        ((TestMachine) machine).runFor(SECOND);
        return told;
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "postgres-r", "hybrid"})
    void whoWaitsIsToldWhenAllShowIt(String protocol) throws IOException {
        long position = commitWhileNodeTwoIsHeld(protocol);
        CompletableFuture<Set<Integer>> told = missing(position, 60 * SECOND);
        assertFalse(told.isDone());
        assertTrue(nodes.get(2).visiblePosition() < position);
        engines.get(2).goOn();
        assertEquals(Set.of(), get(told));
        assertTrue(nodes.get(1).visiblePosition() >= position && nodes.get(2).visiblePosition() >= position);
        assertTrue(missing(position, 0).isDone(), "known already");
    }

    /** Whoever asks for more and more is told of the first all the same. */
    @Test
    void laterQuestionsDoNotKeepEarlierOnesWaiting() throws IOException {
        long position = commitWhileNodeTwoIsHeld("si");
        CompletableFuture<Set<Integer>> first = missing(position, 60 * SECOND);
        CompletableFuture<Set<Integer>> later = missing(position + 1000, 60 * SECOND);
        engines.get(2).goOn();
        assertEquals(Set.of(), get(first));
        assertFalse(later.isDone());
    }

    @Test
    void aNodeThatIsGoneIsNotWaitedFor() throws IOException {
        CompletableFuture<Set<Integer>> told = missing(commitWhileNodeTwoIsHeld("si"), 60 * SECOND);
        assertFalse(told.isDone());
        nodes.get(2).close();
        assertEquals(Set.of(), get(told));
    }

    @Test
    void whoIsWaitedForInVainIsNamed() throws IOException {
        CompletableFuture<Set<Integer>> told = missing(commitWhileNodeTwoIsHeld("si"), 3 * SECOND);
        assertFalse(told.isDone());
        assertEquals(Set.of(2), get(told));
        engines.get(2).goOn();
    }
}
