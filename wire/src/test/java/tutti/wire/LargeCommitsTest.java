package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.txn.AbortReason;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;

/** What large transactions take of the node's memory has a bound: the next one waits, and loses nothing by that. */
@Timeout(60)
class LargeCommitsTest extends OnFrontEnd {
    private static final int ROWS = 200;

    private static CompletableFuture<String> insert(BackendConnection client, int from) {
        return Conversation.send(client, out -> Frontend.query(out,
                "INSERT INTO account SELECT i, 1, repeat('x', 1000) FROM generate_series(" + from + ", "
                        + (from + ROWS - 1) + ") i"));
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        while (!condition.getAsBoolean()) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            Thread.onSpinWait();
        }
    }

    private static void awaitWaiting(int count) throws InterruptedException {
        await(() -> fixture.frontEnd.memory().commitsWaiting() == count);
    }

    @Test
    void oneWaitsForAnotherAndGivesWayWhileItWaits() throws Exception {
        ScriptedNode node = fixture.node;
        BackendConnection first = fixture.client();
        BackendConnection second = fixture.client();
        BackendConnection third = fixture.client();
        BackendConnection gone = fixture.client();
        node.manual = true;

        CompletableFuture<String> firstAnswer = insert(first, 0);
        ScriptedNode.Open holding = ScriptedNode.take(node.asked);
        ScriptedNode.take(node.begun);
        long taken = fixture.frontEnd.memory().commitBytes();
        assertTrue(taken > 200_000, () -> taken + " bytes");

        CompletableFuture<String> secondAnswer = insert(second, 1000);
        ScriptedNode.Open waiting = ScriptedNode.take(node.begun);
        awaitWaiting(1);
        CompletableFuture<String> thirdAnswer = insert(third, 2000);
        ScriptedNode.take(node.begun);
        awaitWaiting(2);
        insert(gone, 3000);
        ScriptedNode.take(node.begun);
        awaitWaiting(3);
        assertNull(node.asked.peek(), "none of them has asked to commit");

        BackendConnection other = fixture.client();
        node.manual = false;
        assertEquals("C(INSERT 0 1)/I", Conversation.simple(other, "INSERT INTO account VALUES (-1, 1, 'small')"),
                "others are served");
        ScriptedNode.take(node.begun);
        node.manual = true;

        waiting.rollBack(new AbortReason.Victim(3));
        assertEquals("E(40001)/I", Conversation.get(secondAnswer));
        awaitWaiting(2);
        gone.abort();
        awaitWaiting(1);

        holding.commit();
        assertEquals("C(INSERT 0 200)/I", Conversation.get(firstAnswer));
        ScriptedNode.take(node.asked).commit();
        assertEquals("C(INSERT 0 200)/I", Conversation.get(thirdAnswer));
        assertEquals(String.valueOf(2 * ROWS + 1),
                fixture.admin.execute("SELECT count(*) FROM account", FrontEndFixture.PATIENCE).value());
        List.of(first, second, third, other).forEach(BackendConnection::close);
        await(() -> fixture.frontEnd.memory().commitBytes() == 0);
    }
}
