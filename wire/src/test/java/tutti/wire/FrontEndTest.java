package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.Conversation.extended;
import static tutti.wire.Conversation.send;
import static tutti.wire.Conversation.simple;
import static tutti.wire.FrontEndFixture.PATIENCE;

import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.concurrent.CompletableFuture;
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

    /** The engine itself forgets it at each simple query. */
    @Test
    void aSimpleQueryEndsTheUnnamedStatement() throws Exception {
        BackendConnection client = fixture.client();
        for (String last : List.of("commit", "insert into account values (2, 2)")) {
            assertEquals("C(BEGIN)/T", simple(client, "begin"));
            assertEquals("12C(INSERT 0 1)/T",
                    extended(client, "insert into account values (" + last.length() + ", 1)"));
            if (!last.equals("commit")) {
                assertEquals("12C(COMMIT)/I", extended(client, "commit"));
            }
            assertTrue(simple(client, last).endsWith("/I"));
            assertEquals("E(26000)/I", Conversation.get(send(client, out -> {
                Frontend.bind(out, "", "");
                Frontend.execute(out, "", 0);
                Frontend.sync(out);
            })));
        }
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
        assertEquals("E(0A000)/E", simple(client, "reindex table concurrently account"));
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
        assertEquals("TDC(SELECT 1)E(25001)/I", simple(client, "select 1; create database x; select 2"));
        PostgresException refused = assertThrows(PostgresException.class,
                () -> client.execute("alter database x set tablespace y", PATIENCE));
        assertTrue(refused.fields().message().contains("every node's PostgreSQL"), refused.toString());
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
}
