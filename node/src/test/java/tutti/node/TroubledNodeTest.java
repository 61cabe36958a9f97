package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.PassingProtocol;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;

/** One node's disk is full, and stays so: its order goes on, and so do the others, without it. */
class TroubledNodeTest extends ReplicaTrio {
    /** What each node's protocol was told last of who takes part. */
    private final Map<Integer, Set<Integer>> views = new TreeMap<>();
    private final Map<Integer, Protocol> protocols = new TreeMap<>();

    @Override
    Function<ReplicaWorld, Protocol> maker(int node, ChosenProtocol protocol) throws IOException {
        Function<ReplicaWorld, Protocol> maker = super.maker(node, protocol);
        return world -> {
            Protocol inner = new PassingProtocol(maker.apply(world)) {
                @Override
                public void view(Set<Integer> members) {
                    views.put(node, members);
                    super.view(members);
                }
            };
            protocols.put(node, inner);
            return inner;
        };
    }

    @AfterEach
    void noneHasFailed() {
        noneHasEnded();
    }

    private void awaitViews(Set<Integer> expected) {
        await(() -> views.values().stream().allMatch(expected::equals));
    }

    /** Node 0 knows that it is in trouble when it cannot make what another one has committed. */
    private void fill(String protocol) throws IOException {
        openAll(protocol);
        awaitViews(ALL);
        engines.get(0).full = true;
    }

    @ParameterizedTest
    @ValueSource(strings = {"nodo", "akara"})
    void whatStandsInTheClassQueuesGoes(String protocol) throws IOException {
        fill(protocol);
        Client first = new Client(1, "first", 5);
        Client stuck = new Client(0, "stuck", 5 + 7); // of the same class
        Client behind = new Client(2, "behind", 5 + 14);
        first.committed();
        behind.committed();
        assertInstanceOf(Outcome.Aborted.class, stuck.outcome());
        engines.get(0).full = false;
        awaitViews(ALL);
        awaitVisible(new Client(0, "again", 5).committed());
        assertEquals(engines.get(1).changes(), engines.get(0).changes());
    }

    @Test
    void othersOwnItsLogs() throws IOException {
        fill("hybrid");
        // The first one is not of its logs.
        for (long requestClass = 1; requestClass <= 30; requestClass++) {
            byte[] request = ("request " + requestClass).getBytes(StandardCharsets.UTF_8);
            ConflictClasses classes = ConflictClasses.of(List.of(requestClass));
            ExecuteResult result = told(done -> nodes.get(1).undertake(request, classes, null, done));
            assertTrue(result.tookEffect());
        }
        assertEquals(30, engines.get(2).count());
        engines.get(0).full = false;
        awaitViews(ALL);
        await(() -> engines.get(0).count() == 30);
    }

    @Test
    void aPrimaryIsSucceeded() throws IOException {
        fill("passive");
        CompletableFuture<ExecuteResult> told = new CompletableFuture<>();
        nodes.get(0).barrier("statement".getBytes(StandardCharsets.UTF_8), KeySet.EMPTY, null, telling(told));
        await(() -> protocols.get(2).primary().equals(OptionalInt.of(1)));
        new Client(1, "better", 1).committed();
        engines.get(0).full = false;
        awaitViews(ALL);
        await(() -> engines.get(0).count() == 2);
    }

    /** It is left out, and then nobody stands still any more. */
    @Test
    void whatNobodyHasRoomForKeepsNobodyOut() throws IOException {
        fill("si");
        engines.values().forEach(engine -> engine.full = true);
        ExecuteResult result = told(done -> nodes.get(0).barrier("statement".getBytes(StandardCharsets.UTF_8),
                KeySet.EMPTY, done));
        assertFalse(result.tookEffect());
        awaitViews(ALL);
    }
}
