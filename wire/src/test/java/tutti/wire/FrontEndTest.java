package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.Conversation.extended;
import static tutti.wire.Conversation.send;
import static tutti.wire.Conversation.simple;
import static tutti.wire.FrontEndFixture.PATIENCE;

import io.netty.buffer.ByteBuf;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.postgresql.PGNotification;
import org.postgresql.PGConnection;
import java.sql.Connection;
import org.junit.jupiter.api.Timeout;
import tutti.core.txn.AbortReason;
import tutti.pgwire.Backend;
import tutti.pgwire.ResponseHandler;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;
import tutti.pgwire.PostgresException;
import tutti.pgwire.QueryResult;
import tutti.pgwire.Scram;

/** Statements through the front end, message by message. */
@Timeout(60)
class FrontEndTest extends OnFrontEnd {
    private static final AbortReason LOST = new AbortReason.LostCertification(0, 7);

    @Test
    void anAutocommitWriteIsCommittedByTheNode() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("C(INSERT 0 1)/I", simple(client, "insert into account values (1, 10)"));
        assertEquals("12C(UPDATE 1)/I", extended(client, "update account set balance = 11 where id = 1"));
        assertEquals("TDC(UPDATE 1)/I", simple(client, "update account set balance = 12 where id = 1 returning *"));
        assertEquals(List.of("INSERT account (1,10,);", "UPDATE account (1,11,);", "UPDATE account (1,12,);"),
                fixture.node.drainCommitted());
        assertEquals("1:12", fixture.accounts());
        client.close();
    }

    @Test
    void thePositionIsCommittedWithTheTransaction() throws Exception {
        BackendConnection client = fixture.client();
        simple(client, "insert into account values (1, 10)");
        assertEquals(Long.toString(fixture.node.position()), fixture.admin
                .execute("select max(position) from cap.applied", PATIENCE).value());
        client.close();
    }

    @Test
    void readsNeverAskTheNode() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("TDC(SELECT 1)/I", simple(client, "select count(*) from account"));
        assertEquals("12DC(SELECT 1)/I", extended(client, "select 1"));
        assertEquals(0, fixture.node.begun.size());
        assertEquals("C(BEGIN)/T", simple(client, "begin"));
        assertEquals("TDC(SELECT 1)/T", simple(client, "select 1"));
        assertEquals("C(COMMIT)/I", simple(client, "commit"));
        assertEquals("ended", ScriptedNode.take(fixture.node.ended));
        assertEquals(0, fixture.node.committed.size());
        client.close();
    }

    @Test
    void everyFormOfCommitGoesThroughTheNode() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("C(BEGIN)/T", simple(client, "begin"));
        assertEquals("C(INSERT 0 1)/T", simple(client, "insert into account values (1, 1)"));
        assertEquals("C(COMMIT)/I", simple(client, "commit"));
        assertEquals("12C(BEGIN)12C(INSERT 0 1)/T", extended(client, "begin", "insert into account values (2, 2)"));
        assertEquals("12C(COMMIT)/I", extended(client, "end"));
        assertEquals("12C(BEGIN)12C(INSERT 0 1)12C(COMMIT)12DC(SELECT 1)/I",
                extended(client, "begin", "insert into account values (3, 3)", "commit", "select 1"));
        assertEquals("C(BEGIN)C(INSERT 0 1)C(COMMIT)/I",
                simple(client, "begin; insert into account values (4, 4); commit"));
        assertEquals("C(INSERT 0 1)C(INSERT 0 1)/I",
                simple(client, "insert into account values (5, 5); insert into account values (6, 6)"));
        assertEquals("12C(INSERT 0 1)12C(INSERT 0 1)/I",
                extended(client, "insert into account values (7, 7)", "insert into account values (8, 8)"));
        assertEquals("C(INSERT 0 1)C(BEGIN)C(INSERT 0 1)C(COMMIT)C(INSERT 0 1)/I",
                simple(client, "insert into account values (9, 9); begin; insert into account values (10, 10); end;"
                        + "insert into account values (11, 11)"));
        assertEquals(8, fixture.node.drainCommitted().size());
        assertEquals("1:1 2:2 3:3 4:4 5:5 6:6 7:7 8:8 9:9 10:10 11:11", fixture.accounts());
        client.close();
    }

    @Test
    void commitAndChainBeginsTheNextAlike() throws Exception {
        BackendConnection client = fixture.client();
        simple(client, "begin isolation level read committed");
        simple(client, "insert into account values (1, 1)");
        assertEquals("C(COMMIT)/T", simple(client, "commit and chain"));
        assertEquals("read committed", client.execute("show transaction_isolation", PATIENCE).value());
        assertEquals("C(INSERT 0 1)/T", simple(client, "insert into account values (2, 2)"));
        assertEquals("12C(COMMIT)/T", extended(client, "commit and chain"));
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
        assertEquals("1:1 2:2", fixture.accounts());
        client.close();
    }

    @Test
    void rolledBackAndFailedTransactionsDoNotAsk() throws Exception {
        BackendConnection client = fixture.client();
        simple(client, "begin");
        simple(client, "insert into account values (1, 1)");
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
        simple(client, "begin");
        simple(client, "insert into account values (1, 1)");
        assertEquals("E(22012)/E", simple(client, "select 1/0"));
        assertEquals("E(25P02)/E", simple(client, "select 1"));
        assertEquals("C(ROLLBACK)/I", simple(client, "commit"));
        assertEquals("12C(BEGIN)12C(INSERT 0 1)1E(22012)/E",
                extended(client, "begin", "insert into account values (1, 1)", "select 1/0", "commit"));
        assertEquals("12C(ROLLBACK)/I", extended(client, "commit"));
        assertEquals("E(23502)/I", simple(client, "insert into account values (1, null)"));
        assertEquals("12E(23502)/I", extended(client, "insert into account values (1, null)"));
        assertEquals("C(INSERT 0 1)E(22012)/I",
                simple(client, "insert into account values (1, 1); select 1/0; commit"));
        assertEquals("C(BEGIN)C(INSERT 0 1)C(ROLLBACK)C(INSERT 0 1)/I", simple(client,
                "begin; insert into account values (1, 1); rollback; insert into account values (2, 2)"));
        assertEquals(List.of("INSERT account (2,2,);"), fixture.node.drainCommitted());
        assertEquals("2:2", fixture.accounts());
        client.close();
    }

    @Test
    void aLostCertificationIsOneErrorAndTheSessionGoesOn() throws Exception {
        BackendConnection client = fixture.client();
        fixture.node.abort = LOST;
        assertEquals("E(40001)/I", simple(client, "insert into account values (1, 1)"));
        assertEquals("12E(40001)/I", extended(client, "insert into account values (1, 1)"));
        simple(client, "begin");
        simple(client, "insert into account values (1, 1)");
        assertEquals("E(40001)/I", simple(client, "commit"));
        extended(client, "begin", "insert into account values (1, 1)");
        assertEquals("12E(40001)/I", extended(client, "commit", "select 1"));
        assertEquals("C(BEGIN)C(INSERT 0 1)E(40001)/I",
                simple(client, "begin; insert into account values (1, 1); commit; select 1"));
        fixture.node.abort = null;
        assertEquals("C(INSERT 0 1)/I", simple(client, "insert into account values (1, 1)"));
        assertEquals("1:1", fixture.accounts());
        client.close();
    }

    @Test
    void theErrorNamesKeyAndWinner() throws Exception {
        BackendConnection client = fixture.client();
        fixture.node.abort = LOST;
        PostgresException lost = assertThrows(PostgresException.class,
                () -> client.execute("insert into account values (1, 1)", PATIENCE));
        assertTrue(String.valueOf(lost.fields().get('D')).contains("key 0 of INSERT account (1,1,)"), lost.toString());
        assertTrue(String.valueOf(lost.fields().get('D')).contains("position 7"), lost.toString());
        client.close();
    }

    @Test
    void aDeferredConstraintIsTheErrorOfTheCommit() throws Exception {
        fixture.admin.execute("create table parent (id int primary key); grant all on parent to public;"
                + SmallCapture.table("child", "id int primary key, parent int references parent deferrable initially"
                        + " deferred"),
                PATIENCE);
        BackendConnection client = fixture.client();
        simple(client, "begin");
        assertEquals("C(INSERT 0 1)/T", simple(client, "insert into child values (1, 1)"));
        assertEquals("E(23503)/I", simple(client, "commit"));
        extended(client, "begin", "insert into child values (1, 1)");
        assertEquals("12E(23503)/I", extended(client, "commit"));
        assertEquals("12E(23503)/I", extended(client, "insert into child values (1, 1)"));
        assertEquals("E(23503)/I", simple(client, "insert into child values (1, 1)"));
        client.close();
    }

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

        BackendConnection other = fixture.client();
        fixture.node.manual = true;
        CompletableFuture<String> waiting = send(other,
                out -> Frontend.query(out, "insert into account values (1, 1)"));
        ScriptedNode.Open open = ScriptedNode.take(fixture.node.asked);
        fixture.admin.execute("select pg_terminate_backend(" + other.processId() + ")", PATIENCE);
        assertThrows(ExecutionException.class, () -> waiting.get(20, TimeUnit.SECONDS));
        open.commit();
        assertEquals("08006", ScriptedNode.take(fixture.node.failures));
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

    /** A client that sends Flush waits for what it has asked for, before it sends Sync. */
    @Test
    void aWriteByItselfIsAnsweredBeforeSync() throws Exception {
        BackendConnection client = fixture.client();
        CompletableFuture<Void> first = new CompletableFuture<>();
        CompletableFuture<String> end = new CompletableFuture<>();
        ByteBuf out = client.buffer();
        Frontend.statement(out, "insert into account values (1, 10), (2, 20) returning id");
        Frontend.flush(out);
        StringBuilder seen = new StringBuilder();
        client.send(out, new ResponseHandler() {
            @Override
            public void message(byte type, ByteBuf body) {
                seen.append((char) type);
                if (type == Backend.COMMAND_COMPLETE) {
                    first.complete(null);
                }
            }

            @Override
            public void ready(byte status) {
                end.complete(seen.append('/').append((char) status).toString());
            }

            @Override
            public void lost(Throwable cause) {
                end.completeExceptionally(cause);
            }
        });
        first.get(20, TimeUnit.SECONDS);
        assertEquals("null", fixture.accounts());
        ByteBuf sync = client.buffer();
        Frontend.sync(sync);
        client.eventLoop().submit(() -> client.channel().writeAndFlush(sync)).get(20, TimeUnit.SECONDS);
        assertEquals("12DDC/I", end.get(20, TimeUnit.SECONDS));
        assertEquals("1:10 2:20", fixture.accounts());
        client.close();
    }

    /** Who has seen the end of its request's connection may begin the next statement. */
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

    @Test
    void schemaChangesAreExecutedByAllReplicas() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("C(CREATE TABLE)/I", simple(client, "create table made_simple (a int)"));
        assertEquals("12C(CREATE TABLE)12DC(SELECT 1)/I",
                extended(client, "create table made_extended (a int)", "select 1"));
        assertEquals("E(42P07)/I", simple(client, "create table made_simple (a int)"));
        assertEquals("12E(42P07)/I", extended(client, "create table made_simple (a int)", "select 1"));
        assertEquals("alice: create table made_simple (a int)", ScriptedNode.take(fixture.node.barriers));
        simple(client, "begin");
        assertEquals("C(CREATE TABLE)/T", simple(client, "create table made_inside (a int)"));
        assertEquals("12C(ALTER TABLE)/T", extended(client, "alter table made_inside add b int"));
        assertEquals("C(COMMIT)/I", simple(client, "commit"));
        assertEquals("S alice: create table made_inside (a int);S alice: alter table made_inside add b int;",
                ScriptedNode.take(fixture.node.committed));
        client.close();
    }

    @Test
    void passwordsOfRolesAreHashedBeforeTheyAreOrdered() throws Exception {
        BackendConnection client = fixture.client();
        try {
            assertEquals("C(CREATE ROLE)/I", simple(client, "create role keeper login password 'open sesame'"));
            assertHashed("alice: create role keeper login password '", ScriptedNode.take(fixture.node.barriers));
            String stored = fixture.admin.execute(
                    "select rolpassword from pg_authid where rolname = 'keeper'", Duration.ofSeconds(20)).value();
            assertEquals(Scram.Verifier.of("open sesame", Scram.Verifier.parse(stored).salt(), 4096).toString(),
                    stored);
            assertEquals("12C(ALTER ROLE)/I", extended(client, "alter user keeper password 'open sesame 2'"));
            assertHashed("alice: alter user keeper password '", ScriptedNode.take(fixture.node.barriers));
            simple(client, "begin");
            assertEquals("C(ALTER ROLE)/T", simple(client, "alter role alice password 'wonderland'"));
            assertEquals("C(COMMIT)/I", simple(client, "commit"));
            assertHashed("S alice: alter role alice password '", ScriptedNode.take(fixture.node.committed));
            assertEquals("C(BEGIN)C(ALTER ROLE)C(COMMIT)/I",
                    simple(client, "begin; alter role alice password 'wonderland'; commit"));
            assertHashed("S alice: alter role alice password '", ScriptedNode.take(fixture.node.committed));
            assertEquals("E(0A000)/I", simple(client, "alter role keeper password U&'open sesame 5'"));
            assertEquals("E(0A000)/I", extended(client, "alter role keeper password n'open sesame 6'"));
            assertTrue(fixture.node.barriers.isEmpty(), fixture.node.barriers.toString());
        } finally {
            simple(client, "drop role keeper");
            client.close();
        }
    }

    private static void assertHashed(String before, String ordered) {
        assertTrue(ordered.startsWith(before + "SCRAM-SHA-256$4096:"), ordered);
        assertFalse(ordered.contains("sesame") || ordered.contains("wonderland"), ordered);
    }

    @Test
    void changesOfTemporaryTablesConcernNobodyElse() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("C(CREATE TABLE)/I", simple(client, "create temp table passing (a int)"));
        assertEquals("C(CREATE INDEX)/I", simple(client, "create index passing_a on passing (a)"));
        assertEquals("12C(ALTER TABLE)12DC(SELECT 1)/I",
                extended(client, "alter table if exists only passing add b int", "select 1"));
        simple(client, "begin");
        assertEquals("C(ALTER TABLE)/T", simple(client, "alter table passing add c int"));
        assertEquals("12C(ALTER TABLE)/T", extended(client, "alter table passing add d int"));
        assertEquals("C(COMMIT)/I", simple(client, "commit"));
        assertEquals("E(42701)/I", simple(client, "alter table passing add d int"));
        assertEquals("C(DROP TABLE)/I", simple(client, "drop table passing"));
        assertTrue(fixture.node.barriers.isEmpty(), fixture.node.barriers.toString());
        assertTrue(fixture.node.committed.isEmpty(), fixture.node.committed.toString());
        client.close();
    }

    @Test
    void constraintsAreCheckedWhenTheClientSays() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("NC(SET CONSTRAINTS)/I", simple(client, "set constraints all immediate"));
        simple(client, "begin");
        assertEquals("C(SET CONSTRAINTS)/T", simple(client, "set constraints all immediate"));
        assertEquals("12C(SET CONSTRAINTS)12C(SET CONSTRAINTS)/T",
                extended(client, "set constraints all deferred", "set constraints all immediate"));
        assertEquals("E(42704)/E", simple(client, "set constraints no_such immediate"));
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
        simple(client, "begin");
        assertEquals("12E(42704)/E", extended(client, "set constraints no_such immediate", "select 1"));
        assertEquals("C(ROLLBACK)/I", simple(client, "commit"));
        assertEquals("C(BEGIN)C(SET CONSTRAINTS)TDC(SELECT 1)C(COMMIT)/I",
                simple(client, "begin; set constraints all immediate; select 1; commit"));
        client.close();
    }

    @Test
    void aTableIsMadeFromAQueryInATransactionBlock() throws Exception {
        BackendConnection client = fixture.client();
        for (String sql : new String[]{"create table made_of as select 1 as a", "select 1 as a into made_of"}) {
            simple(client, "begin");
            assertEquals("C(SELECT 1)/T", simple(client, sql), sql);
            simple(client, "rollback");
            simple(client, "begin");
            assertEquals("12C(SELECT 1)/T", extended(client, sql), sql);
            simple(client, "rollback");
            assertEquals("C(BEGIN)C(SELECT 1)C(ROLLBACK)/I", simple(client, "begin; " + sql + "; rollback"), sql);
        }
        assertTrue(fixture.node.barriers.isEmpty(), fixture.node.barriers.toString());
        client.close();
    }

    @Test
    void whoListensIsTold() throws Exception {
        BackendConnection client = fixture.client();
        try (Connection listener = fixture.jdbc(); java.sql.Statement listens = listener.createStatement()) {
            listens.execute("listen \"It's \\\"");
            listens.execute("listen plain");
            assertEquals("C(NOTIFY)/I", simple(client, "notify \"It's \\\", 'a''b'"));
            assertEquals("12C(NOTIFY)12DC(SELECT 1)/I", extended(client, "notify PLAIN", "select 1"));
            assertEquals("C(BEGIN)C(NOTIFY)C(ROLLBACK)/I", simple(client, "begin; notify plain, 'never'; rollback"));
            assertEquals("TDC(SELECT 1)C(NOTIFY)C(BEGIN)C(NOTIFY)C(COMMIT)/I",
                    simple(client, "select 1; notify plain, 'c'; begin; notify plain, E'\\x64'; commit"));
            simple(client, "begin");
            assertEquals("C(NOTIFY)/T", simple(client, "notify plain, 'e'"));
            assertEquals("C(COMMIT)/I", simple(client, "commit"));
            assertEquals("E(22023)/I", simple(client, "notify plain, '" + "x".repeat(8000) + "'"));
            List<String> told = new java.util.ArrayList<>();
            while (told.size() < 5) {
                for (PGNotification one : listener.unwrap(PGConnection.class).getNotifications(20_000)) {
                    told.add(one.getName() + "=" + one.getParameter());
                }
            }
            assertEquals(List.of("It's \\=a'b", "plain=", "plain=c", "plain=d", "plain=e"), told);
        }
        client.close();
    }

    @Test
    void whatIsNotSupportedIsRefusedClearly() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("E(0A000)/I", simple(client, "create database x"));
        assertEquals("12E(0A000)/I", extended(client, "create database x", "select 1"));
        simple(client, "begin");
        assertEquals("E(0A000)/E", simple(client, "prepare transaction 'x'"));
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
        assertEquals("TDC(SELECT 1)E(0A000)/I", simple(client, "select 1; create database x; select 2"));
        PostgresException refused = assertThrows(PostgresException.class,
                () -> client.execute("create database x", PATIENCE));
        assertTrue(refused.fields().message().contains("not replicated"), refused.toString());
        client.close();
    }

    @Test
    void writesAreRefusedWhenTheNodeSaysSo() throws Exception {
        BackendConnection client = fixture.client();
        fixture.node.refusal = "there is no majority";
        assertEquals("E(57P03)/I", simple(client, "insert into account values (1, 1)"));
        assertEquals("12E(57P03)/I", extended(client, "insert into account values (1, 1)"));
        assertEquals("E(57P03)/I", simple(client, "create table refused (a int)"));
        assertEquals("TDC(SELECT 1)/I", simple(client, "select 1"));
        client.close();
    }

    @Test
    void copyGoesBothWays() throws Exception {
        BackendConnection client = fixture.client();
        CompletableFuture<String> in = send(client, out -> {
            Frontend.query(out, "copy account from stdin");
            Frontend.copyData(out,
                    io.netty.buffer.Unpooled.copiedBuffer("1\t1\tx\n2\t", java.nio.charset.StandardCharsets.UTF_8));
            Frontend.copyData(out,
                    io.netty.buffer.Unpooled.copiedBuffer("2\ty\n", java.nio.charset.StandardCharsets.UTF_8));
            Frontend.copyDone(out);
        });
        assertEquals("GC(COPY 2)/I", in.get(20, TimeUnit.SECONDS));
        assertEquals("INSERT account (1,1,x);INSERT account (2,2,y);", ScriptedNode.take(fixture.node.committed));
        assertEquals("HddcC(COPY 2)/I", simple(client, "copy account to stdout"));
        CompletableFuture<String> bad = send(client, out -> {
            Frontend.query(out, "copy account from stdin");
            Frontend.copyData(out,
                    io.netty.buffer.Unpooled.copiedBuffer("x\n", java.nio.charset.StandardCharsets.UTF_8));
            Frontend.copyDone(out);
        });
        assertEquals("GE(22P02)/I", bad.get(20, TimeUnit.SECONDS));
        assertEquals("C(INSERT 0 1)/I", simple(client, "insert into account values (3, 1)"));
        client.close();
    }

    @Test
    void preparedStatementsSurviveAndDiscardAllIsHandled() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("1/I", send(client, out -> {
            Frontend.parse(out, "ins", "insert into account values ($1, $2)");
            Frontend.sync(out);
        }).get(20, TimeUnit.SECONDS));
        for (int i = 1; i <= 3; i++) {
            String id = String.valueOf(i);
            assertEquals("2C(INSERT 0 1)/I", send(client, out -> {
                Frontend.bind(out, "", "ins", id, id);
                Frontend.execute(out, "", 0);
                Frontend.sync(out);
            }).get(20, TimeUnit.SECONDS));
        }
        assertEquals("C(DISCARD ALL)/I", simple(client, "discard all"));
        assertEquals("C(INSERT 0 1)/I", simple(client, "insert into account values (4, 4)"));
        assertEquals("12C(INSERT 0 1)/I", extended(client, "insert into account values (5, 5)"));
        assertEquals(5, fixture.node.drainCommitted().size());
        client.close();
    }

    @Test
    void pipelinedCyclesAreAnsweredInOrder() throws Exception {
        BackendConnection client = fixture.client();
        List<CompletableFuture<String>> answers = new java.util.ArrayList<>();
        for (int i = 0; i < 50; i++) {
            int id = i;
            answers.add(send(client, out -> {
                Frontend.statement(out, "insert into account values ($1, 0)", String.valueOf(id));
                Frontend.sync(out);
            }));
            answers.add(send(client, out -> Frontend.query(out, "select " + id)));
        }
        for (int i = 0; i < 100; i += 2) {
            assertEquals("12C(INSERT 0 1)/I", answers.get(i).get(20, TimeUnit.SECONDS));
            assertEquals("TDC(SELECT 1)/I", answers.get(i + 1).get(20, TimeUnit.SECONDS));
        }
        assertEquals(50, fixture.node.drainCommitted().size());
        client.close();
    }

    @Test
    void aCommitPastTheNodeIsRefusedByTheGuard() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("E(2D000)/I", simple(client, "do $$ begin insert into account values (1, 1); commit; end $$"));
        PostgresException direct = assertThrows(PostgresException.class,
                () -> fixture.admin.execute("insert into account values (1, 1)", PATIENCE));
        assertEquals("55000", direct.sqlState());
        client.close();
    }

    @Test
    void errorsInScriptsPointIntoTheWholeText() throws Exception {
        BackendConnection client = fixture.client();
        PostgresException wrong = assertThrows(PostgresException.class,
                () -> client.execute("begin; commit; select nonsense", PATIENCE));
        assertEquals("23", wrong.fields().get('P'));
        QueryResult result = client.execute("begin; select 1; commit; select 2", PATIENCE);
        assertEquals("2", result.value());
        assertNull(wrong.fields().get('D'));
        client.close();
    }

    @Test
    void severalSchemaChangesAreExecutedByAllReplicasTogether() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("C(CREATE TABLE)C(CREATE TABLE)/I",
                simple(client, "create table first_of_two (a int);; create table second_of_two (a int);"));
        assertEquals("alice: create table first_of_two (a int)\0create table second_of_two (a int)",
                ScriptedNode.take(fixture.node.barriers).strip());
        assertEquals("C(DROP TABLE)E(42P01)/I", simple(client, "drop table first_of_two; drop table no_such"));
        assertEquals("C(DROP TABLE)C(DROP TABLE)/I",
                simple(client, "drop table first_of_two; drop table second_of_two"));
        PostgresException wrong = assertThrows(PostgresException.class,
                () -> client.execute("create table ü (a int); create table u (a nonsense)", PATIENCE));
        assertEquals("43", wrong.fields().get('P'));
        client.close();
    }

    @Test
    void scriptsThatCannotBeParsedAreNotExecuted() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("E(42601)/I", simple(client, "insert into account values (1, 1); commit; selekt 1"));
        assertEquals("E(42601)/I", simple(client, "create table a (a int); create table b (a int"));
        assertTrue(fixture.node.barriers.isEmpty());
        simple(client, "begin");
        assertEquals("E(42601)/E", simple(client, "savepoint a; rollback to a; commit; selekt 1"));
        assertEquals("C(ROLLBACK)TDC(SELECT 1)/I", simple(client, "rollback; select 1"));
        assertEquals("null", fixture.accounts());
        client.close();
    }

    @Test
    void scriptsOutsideOfBlocksTellWhatIsOnlyForBlocks() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("C(INSERT 0 1)E(25P01)/I",
                simple(client, "insert into account values (1, 1); savepoint a; select 1"));
        assertEquals("C(INSERT 0 1)NC(COMMIT)C(INSERT 0 1)NC(ROLLBACK)/I", simple(client,
                "insert into account values (1, 1); commit; insert into account values (2, 1); rollback"));
        assertEquals("1:1", fixture.accounts());
        assertEquals("E(25P01)/I", simple(client, "lock account"));
        assertEquals("12E(25P01)/I", extended(client, "lock account"));
        assertEquals("E(25P01)/I", simple(client, "declare c cursor for select 1"));
        assertEquals("C(LOCK TABLE)TDC(SELECT 1)/I", simple(client, "lock account; select 1"));
        client.close();
    }
}
