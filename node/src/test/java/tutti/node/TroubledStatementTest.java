package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.SnapshotIsolation;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.Order;
import tutti.core.txn.KeySet;

/** A statement that each node executes and that puts databases in trouble, while what the first node says takes long to be ordered. */
class TroubledStatementTest extends ReplicaTrio {
    private static final String STATEMENT = "CREATE TABLE t";

    private @Nullable HeldOrder held;

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

    private HeldOrder held() {
        return Objects.requireNonNull(held);
    }

    private boolean haveSpoken(int nodesMin) {
        return this.<List<ReplicaNode.Position>>told(nodes.get(1)::positions).stream()
                .anyMatch(each -> each.votes().size() >= nodesMin);
    }

    private void passes(long nanos) {
        boolean[] over = {false};
        machine.loop("patience", _ -> {}).schedule(nanos, () -> over[0] = true);
        await(() -> over[0]);
    }

    private void isInOneMindWithItsClient(CompletableFuture<ExecuteResult> client)
            throws IOException, DurableLog.OverflowException {
        engines.get(2).goOn();
        await(() -> haveSpoken(3));
        held().goOn();
        ALL.forEach(node -> engines.get(node).full = false);
        ALL.forEach(node -> await(() -> nodes.get(node).refusal() == null));
        boolean tookEffect = get(client).tookEffect();
        awaitVisible(new Client(1, "last", 2).committed());
        List<String> expected = tookEffect ? List.of("first", STATEMENT, "last") : List.of("first", "last");
        ALL.forEach(node -> assertEquals(expected, engines.get(node).changes()));
        noneHasEnded();
    }

    private CompletableFuture<ExecuteResult> troubled() throws IOException {
        openAll(SnapshotIsolation.NAME);
        engines.get(2).hold();
        new Client(0, "first", 1).committed();
        ALL.forEach(node -> engines.get(node).full = true);
        CompletableFuture<ExecuteResult> client = new CompletableFuture<>();
        nodes.get(0).barrier(STATEMENT.getBytes(StandardCharsets.UTF_8), KeySet.EMPTY, telling(client));
        await(() -> haveSpoken(2));
        return client;
    }

    /** It has said that it has never made it, and makes it: nobody may rest on that word when its client has heard of success. */
    @Test
    void whatItsClientHasHeardOfIsNotLeftOut() throws IOException, DurableLog.OverflowException {
        CompletableFuture<ExecuteResult> client = troubled();
        held().hold();
        engines.get(0).full = false;
        passes(10_000_000_000L);
        isInOneMindWithItsClient(client);
    }

    /** The same when it has been in trouble for longer. */
    @Test
    void whatItsClientHasHeardOfIsNotLeftOutLaterEither() throws IOException, DurableLog.OverflowException {
        CompletableFuture<ExecuteResult> client = troubled();
        passes(5_000_000_000L);
        engines.get(0).full = false;
        await(client::isDone);
        isInOneMindWithItsClient(client);
    }

    /** All have left it out by then; nobody is asked about it for ever. */
    @Test
    void whatIsSaidOfAPositionWhoseVerdictIsForgottenIsDecidedAsItWas()
            throws IOException, DurableLog.OverflowException {
        openAll(SnapshotIsolation.NAME);
        ALL.forEach(node -> engines.get(node).refused.addAll(List.of(STATEMENT, "no")));
        held().hold();
        long position = nodes.get(1).deliveredPosition() + 1;
        assertFalse(refused(STATEMENT).tookEffect());
        for (int next = 0; next < Ballots.CLOSED_MAX; next++) {
            assertFalse(refused("no").tookEffect());
        }
        assertEquals("none", verdict(position));
        held().goOn();
        new Client(0, "last", 2).committed();
        await(() -> verdict(position).equals("SKIPPED") || verdict(position).equals("none"));
        noneHasEnded();
    }

    private ExecuteResult refused(String text) {
        return told(done -> nodes.get(1).barrier(text.getBytes(StandardCharsets.UTF_8), KeySet.EMPTY, done));
    }

    private String verdict(long position) {
        return this.<List<ReplicaNode.Position>>told(nodes.get(1)::positions).stream()
                .filter(each -> each.position() == position).map(ReplicaNode.Position::verdict).findFirst()
                .orElse("none");
    }
}
