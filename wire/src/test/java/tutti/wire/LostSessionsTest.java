package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.Conversation.extended;
import static tutti.wire.Conversation.send;
import static tutti.wire.Conversation.simple;
import static tutti.wire.FrontEndFixture.PATIENCE;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.txn.AbortReason;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;

/** Transactions that give way or are cancelled, and clients and engines that die, message by message. */
@Timeout(60)
class LostSessionsTest extends OnFrontEnd {
    @Test
    void aVictimThatIsIdleInATransactionHearsItAtItsNextMessage() throws Exception {
        BackendConnection client = fixture.client();
        for (String next : List.of("select 1", "commit", "rollback", "begin")) {
            simple(client, "begin");
            simple(client, "insert into account values (1, 1)");
            push();
            String expected = switch (next) {
                case "commit" -> "E(40001)/I";
                case "rollback" -> "C(ROLLBACK)/I";
                default -> "E(40001)/E";
            };
            assertEquals(expected, simple(client, next));
            assertEquals("C(ROLLBACK)/I", simple(client, "rollback").replace("NC", "C"));
        }
        for (String next : List.of("select 1", "commit", "rollback")) {
            extended(client, "begin", "insert into account values (1, 1)");
            push();
            String expected = switch (next) {
                case "commit" -> "12E(40001)/I";
                case "rollback" -> "12C(ROLLBACK)/I";
                default -> "12E(40001)/E";
            };
            assertEquals(expected, extended(client, next));
            assertEquals("C(ROLLBACK)/I", simple(client, "rollback").replace("NC", "C"));
        }
        assertEquals("C(INSERT 0 1)/I", simple(client, "insert into account values (1, 1)"));
        client.close();
    }

    @Test
    void aVictimThatRunsAStatementIsCancelled() throws Exception {
        BackendConnection client = fixture.client();
        simple(client, "begin");
        simple(client, "insert into account values (1, 1)");
        CompletableFuture<String> running = send(client, out -> Frontend.query(out, "select pg_sleep(3600)"));
        fixture.awaitRunning("select pg_sleep%");
        push();
        assertEquals("E(40001)/E", running.get(20, TimeUnit.SECONDS).replace("T", ""));
        assertEquals("E(25P02)/E", simple(client, "select 1"));
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));

        running = send(client, out -> Frontend.query(out, "insert into account select 1, 1 from pg_sleep(3600)"));
        fixture.awaitRunning("insert into account select%");
        push();
        assertEquals("E(40001)/I", running.get(20, TimeUnit.SECONDS));

        running = send(client, out -> {
            Frontend.statement(out, "insert into account select 1, 1 from pg_sleep(3600)");
            Frontend.sync(out);
        });
        fixture.awaitRunning("insert into account select%");
        push();
        assertEquals("E(40001)/I", running.get(20, TimeUnit.SECONDS).replace("12", ""));
        assertEquals("C(INSERT 0 1)/I", simple(client, "insert into account values (1, 1)"));
        client.close();
    }

    @Test
    void aVictimWhoseCommitWaitsMayStillCommit() throws Exception {
        BackendConnection client = fixture.client();
        fixture.node.manual = true;
        CompletableFuture<String> waiting = send(client,
                out -> Frontend.query(out, "insert into account values (1, 1)"));
        ScriptedNode.Open open = ScriptedNode.take(fixture.node.asked);
        open.rollBack(new AbortReason.Victim(3));
        assertEquals("E(40001)/I", waiting.get(20, TimeUnit.SECONDS));

        waiting = send(client, out -> Frontend.query(out, "insert into account values (1, 1)"));
        open = ScriptedNode.take(fixture.node.asked);
        CompletableFuture<Void> free = new CompletableFuture<>();
        open.transaction.rollback(() -> free.complete(null));
        ScriptedNode.await(free);
        open.transaction.answer(new tutti.core.txn.Outcome.Committed(9));
        assertEquals("C(INSERT 0 1)/I", waiting.get(20, TimeUnit.SECONDS));
        client.close();
    }

    /** Others wait for what COMMIT executes, which is the queries of cursors. */
    @Test
    void aCommitDoesNotWaitForACursorWithoutEnd() throws Exception {
        BackendConnection client = fixture.client();
        for (String cursor : List.of("select pg_sleep(3600)", "select 1/(id-id) from account")) {
            simple(client, "begin");
            simple(client, "insert into account values (1, 1)");
            assertEquals("C(DECLARE CURSOR)/T", simple(client, "declare kept cursor with hold for " + cursor));
            assertEquals("NC(COMMIT)/I", simple(client, "commit"));
            assertEquals("E(34000)/I", simple(client, "fetch kept"));
        }
        assertEquals(List.of("57014", "22012"), List.copyOf(fixture.node.failures));
        simple(client, "begin");
        simple(client, "insert into account values (1, 1)");
        simple(client, "declare kept cursor with hold for select id from account");
        assertEquals("C(COMMIT)/I", simple(client, "commit"));
        assertEquals("TDC(FETCH 1)/I", simple(client, "fetch kept"));
        client.close();
    }

    /** The engine refuses a COMMIT that is certified: the node makes the changes, and nobody what the session alone has. */
    @Test
    void whatARefusedCommitUndoesIsTold() throws Exception {
        try (Connection client = fixture.jdbc()) {
            client.setAutoCommit(false);
            try (Statement statement = client.createStatement()) {
                statement.execute("set work_mem = '7MB'");
                statement.execute("create temporary table mine (id int)");
                statement.execute("insert into account values (1, 1)");
                statement.execute("declare kept cursor with hold for select 1/(id-id) from account");
                client.commit();
                assertEquals("22012", fixture.node.failures.take());
                SQLWarning warning = client.getWarnings();
                assertEquals("01000", warning.getSQLState());
                String said = warning.toString();
                assertTrue(said.contains("division by zero"), said);
                assertTrue(said.contains("done to the session alone is undone"), said);
                ResultSet result = statement
                        .executeQuery("select current_setting('work_mem') = '7MB', to_regclass('mine')");
                assertTrue(result.next());
                assertFalse(result.getBoolean(1));
                assertNull(result.getString(2));
            }
        }
    }

    @Test
    void aClientThatDiesWhileCommittingLeavesACommit() throws Exception {
        BackendConnection client = fixture.client();
        fixture.node.manual = true;
        CompletableFuture<String> waiting = send(client,
                out -> Frontend.query(out, "insert into account values (1, 1)"));
        ScriptedNode.Open open = ScriptedNode.take(fixture.node.asked);
        client.abort();
        assertThrows(ExecutionException.class, () -> waiting.get(20, TimeUnit.SECONDS));
        open.commit();
        assertEquals("INSERT account (1,1,);", ScriptedNode.take(fixture.node.committed));
        assertEquals("1:1", fixture.accounts());
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (fixture.frontEnd.sessions() > 0) {
            assertTrue(System.nanoTime() < deadline, "sessions of this test, or of one that failed before, stay open");
            Thread.onSpinWait();
        }
    }

    @Test
    void aClientThatDiesInATransactionLeavesNothing() throws Exception {
        BackendConnection client = fixture.client();
        simple(client, "begin");
        simple(client, "insert into account values (1, 1)");
        client.abort();
        assertEquals("disconnect", ScriptedNode.take(fixture.node.ended));
        assertEquals("null", fixture.accounts());
    }

    @Test
    void aBackendThatDiesIsTold() throws Exception {
        BackendConnection client = fixture.client();
        CompletableFuture<String> running = send(client, out -> Frontend.query(out, "select pg_sleep(3600)"));
        fixture.awaitRunning("select pg_sleep%");
        fixture.admin.execute("select pg_terminate_backend(" + client.processId() + ")", PATIENCE);
        ExecutionException lost = assertThrows(ExecutionException.class, () -> running.get(20, TimeUnit.SECONDS));
        assertTrue(String.valueOf(lost.getCause().getMessage()).contains("57P01"), lost.toString());

    }

    /** Who has asked to commit, and whose server process is ended then, hears what becomes of that, and nothing before that is known. */
    @Test
    void aBackendThatDiesDoesNotSpeakForTheCommitThatTheNodeDecides() throws Exception {
        for (String commit : List.of("insert into account values (1, 1)",
                "begin; insert into account values (1, 1); commit")) {
            fixture.reset();
            assertEquals(commit.startsWith("begin") ? "C(BEGIN)C(INSERT 0 1)C(COMMIT)/I" : "C(INSERT 0 1)/I",
                    lost(commit, ScriptedNode.Open::commit).get(20, TimeUnit.SECONDS));
            assertEquals("08006", ScriptedNode.take(fixture.node.failures));
        }
        assertEnds(lost("insert into account values (1, 1)", open -> open.rollBack(new AbortReason.Victim(3))),
                "(SQLSTATE 57P01): The transaction was rolled back: could not serialize access");
        assertEnds(lost("insert into account values (1, 1)", open -> open.transaction.doubtful(open.id)),
                "is in doubt: its session has ended before that was known (SQLSTATE 08007)");
    }

    @Test
    void whoseOutcomeIsNotKnownWhenTheNodeClosesHearsThat() throws Exception {
        try (FrontEndFixture own = new FrontEndFixture()) {
            own.node.manual = true;
            CompletableFuture<String> orphan = send(own.client(),
                    out -> Frontend.query(out, "insert into account values (1, 1)"));
            ScriptedNode.take(own.node.asked);
            CompletableFuture<String> waiting = send(own.client(),
                    out -> Frontend.query(out, "insert into account values (2, 1)"));
            ScriptedNode.take(own.node.asked);
            own.admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'alice'"
                    + " order by backend_start limit 1", PATIENCE);
            own.frontEnd.close();
            for (CompletableFuture<String> each : List.of(orphan, waiting)) {
                assertEnds(each, "(SQLSTATE 08007)");
            }
        }
    }

    /** A statement that every node executes goes on without the session as well. */
    @Test
    void aBackendThatDiesDoesNotSpeakForWhatEveryNodeExecutes() throws Exception {
        BackendConnection holder = fixture.client();
        simple(holder, "begin");
        simple(holder, "select * from account");
        BackendConnection client = fixture.client();
        CompletableFuture<String> waiting = send(client,
                out -> Frontend.query(out, "alter table account add if not exists extra int"));
        ScriptedNode.take(fixture.node.barriers);
        // the node waits for the lock
        simple(holder, "select pg_terminate_backend(" + client.processId() + ", 20000)");
        simple(holder, "rollback");
        assertEquals("C(ALTER TABLE)/I", waiting.get(20, TimeUnit.SECONDS));
        fixture.admin.execute("alter table account drop extra", PATIENCE);
        holder.close();
    }

    /** What a client hears that is about to commit, whose server process has been ended by then. */
    private CompletableFuture<String> lost(String commit, Consumer<ScriptedNode.Open> decided) throws Exception {
        BackendConnection client = fixture.client();
        fixture.node.manual = true;
        CompletableFuture<String> waiting = send(client, out -> Frontend.query(out, commit));
        ScriptedNode.Open open = ScriptedNode.take(fixture.node.asked);
        fixture.end(client.processId());
        assertFalse(waiting.isDone());
        decided.accept(open);
        return waiting;
    }

    private static void assertEnds(CompletableFuture<String> lost, String said) {
        String end = assertThrows(ExecutionException.class, () -> lost.get(20, TimeUnit.SECONDS)).getMessage();
        assertTrue(end.contains(said), end);
    }

    @Test
    void cancelRequestsReachTheStatement() throws Exception {
        BackendConnection client = fixture.client();
        CompletableFuture<String> running = send(client, out -> Frontend.query(out, "select 1 from pg_sleep(3600)"));
        fixture.awaitSleeping();
        client.cancel().get(20, TimeUnit.SECONDS);
        assertEquals("TE(57014)/I", running.get(20, TimeUnit.SECONDS));
        assertEquals("TDC(SELECT 1)/I", simple(client, "select 1"));
        client.close();
    }

    /** Who has seen the end of its request's connection may begin the next statement. */
    @Tag("long")
    @Test
    void aCancelRequestDoesNotMeetTheNextStatement() throws Exception {
        BackendConnection client = fixture.client();
        for (int i = 0; i < 100; i++) {
            CompletableFuture<String> running = send(client, out -> Frontend.query(out, "select pg_sleep(0.002)"));
            client.cancel().get(20, TimeUnit.SECONDS);
            running.get(20, TimeUnit.SECONDS);
            assertEquals("TDC(SELECT 1)/I", simple(client, "select pg_sleep(0.01)"));
        }
        client.close();
    }
}
