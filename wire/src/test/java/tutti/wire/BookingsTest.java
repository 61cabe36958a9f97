package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.Conversation.extended;
import static tutti.wire.Conversation.get;
import static tutti.wire.Conversation.send;
import static tutti.wire.Conversation.simple;
import static tutti.wire.ScriptedNode.take;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.txn.AbortReason;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;

/** What a client has seen in vain is booked by whoever is about to look at it next, before it is looked at. */
@Timeout(120)
class BookingsTest extends OnRepeatingFrontEnd {
    private static final String READ = "select balance from account where id = $1";
    private static final String ADD = "update account set balance = balance + 1 where id = 1";

    @BeforeEach
    void nothingIsBooked() {
        node.booked.clear();
    }

    private static CompletableFuture<String> read(BackendConnection client, String id, boolean begins) {
        return send(client, out -> {
            if (begins) {
                Frontend.statement(out, "begin");
            }
            Frontend.statement(out, READ, id);
            Frontend.sync(out);
        });
    }

    /** A client has seen a row that was changed before it asked to commit. */
    private void losesInVain(String id) throws Exception {
        simple(client, "begin");
        get(read(client, "2", false));
        get(read(client, id, false));
        simple(client, ADD);
        node.manual = true;
        CompletableFuture<String> answer = send(client, out -> Frontend.query(out, "commit"));
        ScriptedNode.Open lost = take(node.asked);
        lost.rollBack();
        elsewhere("UPDATE account SET balance = balance + 50 WHERE id = " + id);
        lost.abort(LOST);
        assertEquals("E(40001)/I", get(answer));
    }

    @Test
    void whoeverWaitsMayCancel() throws Exception {
        losesInVain("1");
        node.manual = false;
        simple(client, "begin");
        CompletableFuture<String> seen = read(client, "1", false);
        ScriptedNode.Booked booked = take(node.booked);
        client.cancel().get(20, TimeUnit.SECONDS);
        assertEquals("E(57014)/E", get(seen));
        booked.over.get(20, TimeUnit.SECONDS);
        booked.comes();
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
        assertEquals("C(UPDATE 1)/I", simple(client, ADD));
    }

    @Test
    void whoLooksAtItNextWaitsAndSeesWhatThoseBeforeItHaveLeft() throws Exception {
        losesInVain("1");
        assertEquals(1, node.wanted.size());
        node.begun.clear();
        CompletableFuture<String> seen = read(client, "1", true);
        ScriptedNode.Booked booked = take(node.booked);
        assertTrue(node.wanted.contains(booked.key));
        assertFalse(seen.isDone());
        // Nothing is held meanwhile, and what others do is seen.
        elsewhere("UPDATE account SET balance = 99 WHERE id = 1");
        booked.comes();
        assertEquals("12C(BEGIN)12DC(SELECT 1)/T", get(seen));
        simple(client, ADD);
        CompletableFuture<String> answer = send(client, out -> Frontend.query(out, "commit"));
        ScriptedNode.Open run = take(node.asked);
        assertEquals(run.id, take(booked.runs));
        assertFalse(booked.over.isDone());
        run.commit();
        assertEquals("C(COMMIT)/I", get(answer));
        assertEquals("1:100 2:20", fixture.accounts());
        assertEquals("TDC(SELECT 1)/I", simple(client, "select 1"));
        booked.over.get(20, TimeUnit.SECONDS);
    }

    @Test
    void otherRowsAndOtherStatementsAreNotBooked() throws Exception {
        losesInVain("1");
        node.manual = false;
        simple(client, "begin");
        assertEquals("12DC(SELECT 1)/T", get(read(client, "2", false)));
        assertEquals("C(UPDATE 1)/T", simple(client, ADD));
        assertEquals("TDC(SELECT 1)/T", simple(client, "select balance from account where id = 1"));
        assertEquals("C(COMMIT)/I", simple(client, "commit"));
        assertTrue(node.booked.isEmpty());
    }

    @Test
    void ofAScanTheValuesAreBooked() throws Exception {
        String scan = "select count(*) from account where balance > 15";
        simple(client, "begin");
        assertEquals("TDC(SELECT 1)/T", simple(client, scan));
        simple(client, "update account set balance = 1 where id = 2");
        elsewhere("UPDATE account SET balance = 30 WHERE id = 1");
        take(node.begun).rollBack(new AbortReason.Victim(3));
        assertEquals("E(40001)/E", simple(client, "select 1"));
        simple(client, "rollback");
        simple(client, "begin");
        simple(client, "select 1");
        CompletableFuture<String> seen = send(client, out -> Frontend.query(out, scan));
        take(node.booked).comes();
        assertEquals("TDC(SELECT 1)/T", get(seen));
        assertEquals("TDC(SELECT 1)/T", simple(client, scan));
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
        assertTrue(node.booked.isEmpty(), "once for each transaction");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whoLosesKeepsWhatItHasBooked(boolean victim) throws Exception {
        losesInVain("1");
        simple(client, "begin");
        CompletableFuture<String> seen = read(client, "1", false);
        ScriptedNode.Booked booked = take(node.booked);
        booked.comes();
        get(seen);
        node.begun.clear();
        simple(client, "update account set balance = balance + 1 where id = 2");
        CompletableFuture<String> answer = send(client, out -> Frontend.query(out, "commit"));
        ScriptedNode.Open first = take(node.asked);
        first.rollBack(victim ? new AbortReason.Victim(3) : LOST);
        ScriptedNode.Open again = take(node.asked);
        assertFalse(booked.over.isDone());
        assertEquals(first.id, take(booked.runs));
        assertEquals(again.id, take(booked.runs));
        again.commit();
        assertEquals("C(COMMIT)/I", get(answer));
        assertEquals("1:60 2:21", fixture.accounts());
        assertTrue(node.booked.isEmpty());
    }

    @Test
    void whoRollsBackOrGoesHasBookedNothing() throws Exception {
        losesInVain("1");
        CompletableFuture<String> seen = read(client, "1", true);
        ScriptedNode.Booked first = take(node.booked);
        first.comes();
        get(seen);
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
        first.over.get(20, TimeUnit.SECONDS);
        CompletableFuture<String> unheard = read(client, "1", true);
        ScriptedNode.Booked second = take(node.booked);
        client.close();
        second.over.get(20, TimeUnit.SECONDS);
        assertFalse(unheard.isDone() && !unheard.isCompletedExceptionally());
    }

    /** What has been sent of the cycle before is sent once more, and its client hears it once. */
    @Test
    void inTheMiddleOfACycle() throws Exception {
        losesInVain("1");
        simple(client, "begin");
        assertEquals("12DC(SELECT 1)/T", extended(client, "select 7"));
        CompletableFuture<String> seen = send(client, out -> {
            Frontend.statement(out, "update account set balance = balance + 1 where id = 2 returning balance");
            Frontend.statement(out, READ, "1");
            Frontend.statement(out, "update account set balance = balance + 1 where id = 2 returning balance");
            Frontend.sync(out);
        });
        take(node.booked).comes();
        assertEquals("12DC(UPDATE 1)12DC(SELECT 1)12DC(UPDATE 1)/T", get(seen));
        node.manual = false;
        assertEquals("C(COMMIT)/I", simple(client, "commit"));
        assertEquals("1:60 2:22", fixture.accounts());
    }

    /** What its client has seen before it waited may have changed. */
    @Test
    void whatHasBeenSeenBeforeMustBeTheSame() throws Exception {
        losesInVain("1");
        simple(client, "begin");
        get(read(client, "2", false));
        CompletableFuture<String> seen = read(client, "1", false);
        ScriptedNode.Booked booked = take(node.booked);
        elsewhere("UPDATE account SET balance = balance + 1 WHERE id = 2");
        booked.comes();
        assertEquals("E(40001)/E", get(seen));
        booked.over.get(20, TimeUnit.SECONDS);
        assertEquals(2, node.wanted.size(), "and is wanted from then on");
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
    }
}
