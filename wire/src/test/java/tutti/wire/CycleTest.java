package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.Conversation.extended;
import static tutti.wire.Conversation.get;
import static tutti.wire.Conversation.send;
import static tutti.wire.Conversation.simple;
import static tutti.wire.FrontEndFixture.PATIENCE;

import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;

/** Cycles of messages in the middle of which a transaction ends or begins. */
@Timeout(60)
class CycleTest extends OnFrontEnd {
    private static String insert(int id) {
        return "insert into account values (" + id + ", 0)";
    }

    @Test
    void afterRollbackOfAFailedBlockStatementsCommitByThemselves() throws Exception {
        BackendConnection client = fixture.client();
        simple(client, "begin");
        assertEquals("E(22012)/E", simple(client, "select 1/0"));
        assertEquals("12C(ROLLBACK)12C(INSERT 0 1)/I", extended(client, "rollback", insert(1)));
        simple(client, "begin");
        assertEquals("E(22012)/E", simple(client, "select 1/0"));
        assertEquals("12C(ROLLBACK)12C(BEGIN)12C(INSERT 0 1)/T", extended(client, "commit", "begin", insert(2)));
        assertEquals("C(COMMIT)/I", simple(client, "commit"));
        assertEquals(List.of("INSERT account (1,0,);", "INSERT account (2,0,);"), fixture.node.drainCommitted());
        client.close();
    }

    @Test
    void aChainedBlockGoesOnInTheSameCycle() throws Exception {
        BackendConnection client = fixture.client();
        simple(client, "begin isolation level read committed");
        simple(client, insert(1));
        assertEquals("12C(ROLLBACK)12C(INSERT 0 1)12C(COMMIT)/I",
                extended(client, "rollback and chain", insert(2), "commit"));
        simple(client, "begin");
        assertEquals("12C(COMMIT)12C(INSERT 0 1)12C(COMMIT)/I",
                extended(client, "commit and chain", insert(3), "commit"));
        simple(client, "begin");
        assertEquals("E(22012)/E", simple(client, "select 1/0"));
        assertEquals("12C(ROLLBACK)12C(INSERT 0 1)/T", extended(client, "abort and chain", insert(4)));
        assertEquals("C(COMMIT)/I", simple(client, "commit"));
        assertEquals("2:0 3:0 4:0", fixture.accounts());
        assertEquals(3, fixture.node.drainCommitted().size());
        client.close();
    }

    @Test
    void beginGoesToTheEngineWithWhatFollowsIt() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("C(BEGIN)12C(INSERT 0 1)/T", get(send(client, 2, out -> {
            Frontend.query(out, "BEGIN");
            Frontend.statement(out, insert(1));
            Frontend.sync(out);
        })));
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
        assertEquals("C(BEGIN)12DC(SHOW)12C(INSERT 0 1)12C(COMMIT)/I", get(send(client, 3, out -> {
            Frontend.query(out, "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ");
            Frontend.statement(out, "show transaction_isolation");
            Frontend.statement(out, insert(2));
            Frontend.sync(out);
            Frontend.statement(out, "commit");
            Frontend.sync(out);
        })));
        assertEquals("C(BEGIN)E(42601)/E", get(send(client, 2, out -> {
            Frontend.query(out, "BEGIN");
            Frontend.statement(out, "nonsense");
            Frontend.sync(out);
        })));
        assertEquals("C(ROLLBACK)/I", simple(client, "commit"));
        assertEquals("2:0", fixture.accounts());
        client.close();
    }

    /** What is sent with COMMIT is answered with its outcome, however much it is. */
    @Test
    void aCommitComesBehindLargeResultsOfItsCycle() throws Exception {
        BackendConnection client = fixture.client();
        simple(client, "begin");
        String heard = extended(client, insert(1),
                "select repeat('x', 1000) from generate_series(1, 5000)", "commit");
        assertTrue(heard.endsWith("C(SELECT 5000)12C(COMMIT)/I"), heard.substring(heard.length() - 50));
        assertEquals("1:0", fixture.accounts());
        client.close();
    }

    /** The engine knows nothing of the block yet. */
    @Test
    void aBlockIsPushedOutBetweenItsBeginAndItsFirstStatement() throws Exception {
        BackendConnection client = fixture.client();
        ByteBuf all = client.buffer();
        Frontend.query(all, "BEGIN");
        int cut = all.writerIndex() + 3;
        Frontend.statement(all, insert(1));
        Frontend.sync(all);
        assertEquals("C(BEGIN)/T", get(send(client, out -> out.writeBytes(all, cut))));
        push();
        assertEquals("12E(40001)/E", get(send(client, out -> out.writeBytes(all, all.readableBytes()))));
        all.release();
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
        assertEquals("12C(INSERT 0 1)/I", extended(client, insert(2)));
        assertEquals("2:0", fixture.accounts());
        client.close();
    }

    @Test
    void aQueryBehindAnErrorIsSkippedUpToSync() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("E(42601)/I", get(send(client, out -> {
            Frontend.parse(out, "", "nonsense");
            Frontend.query(out, "select 1");
            Frontend.query(out, "select 2");
            Frontend.sync(out);
        })));
        assertEquals("TDC(SELECT 1)/I", simple(client, "select 3"));
        assertEquals("C(INSERT 0 1)/I", simple(client, insert(3)));
        assertEquals("3:0", fixture.accounts());
        client.close();
    }

    /** As behind a bare server, whatever the query would do. */
    @Test
    void aQueryInTheMiddleOfACycleIsSkippedIfTheCycleHasFailedAndRunsIfNot() throws Exception {
        BackendConnection bare = BackendConnection.connect(fixture.loops.next(), fixture.server.settings())
                .get(20, TimeUnit.SECONDS);
        BackendConnection client = fixture.client();
        for (String query : List.of("select 1", insert(1), "create table skipped (a int)", "begin",
                "begin; " + insert(2),
                insert(3) + "; commit; " + insert(4), "commit", "notify skipped")) {
            Conversation.Batch messages = out -> {
                Frontend.statement(out, "select 1/0");
                Frontend.query(out, query);
                Frontend.sync(out);
            };
            assertEquals("1E(22012)/I", get(send(bare, messages)));
            assertEquals("1E(22012)/I", get(send(client, messages)), query);
        }
        assertEquals("null", fixture.accounts());
        Conversation.Batch succeeds = out -> {
            Frontend.statement(out, "select 1");
            Frontend.query(out, "insert into account values (5, 0)");
        };
        assertEquals("12DC(SELECT 1)C(INSERT 0 1)", get(send(client, succeeds)).substring(0, 27));
        get(send(client, Frontend::sync));
        assertEquals("5:0", fixture.accounts());
        bare.close();
        client.close();
    }

    @Test
    void aBlockThatCouldNotBeginIsNotCommitted() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("E(42601)/I", extended(client, "begin nonsense", insert(1), "commit", "select 1"));
        assertEquals("12C(INSERT 0 1)/I", extended(client, insert(2)));
        assertEquals("2:0", fixture.accounts());
        client.close();
    }

    /** Who executes it for the client does not know its client_min_messages. */
    @Test
    void whatEveryNodeExecutesTellsNoMoreThanTheClientWantsToHear() throws Exception {
        BackendConnection client = fixture.client();
        String sql = "drop table if exists nothing_there";
        assertEquals("NC(DROP TABLE)/I", simple(client, sql));
        for (String least : List.of("warning", "error")) {
            fixture.capture.leastTold = least;
            assertEquals("C(DROP TABLE)/I", simple(client, sql));
            assertEquals("12C(DROP TABLE)/I", extended(client, sql));
        }
        fixture.capture.leastTold = "notice";
        client.close();
    }

    /** As behind a bare server. */
    @Test
    void aPortalThatEveryNodeExecutesIsRunOnce() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("12C(CREATE TABLE)E(55000)/I", get(send(client, out -> {
            Frontend.statement(out, "create table if not exists once (a int)");
            Frontend.execute(out, "", 0);
            Frontend.sync(out);
        })));
        assertEquals("C(DROP TABLE)/I", simple(client, "drop table once"));
        client.close();
    }

    @Test
    void statementsAreForgottenAtAnyMoment() throws Exception {
        BackendConnection client = fixture.client();
        assertEquals("C(INSERT 0 1)C(DEALLOCATE ALL)C(INSERT 0 1)/I",
                simple(client, insert(1) + "; deallocate all; " + insert(2)));
        assertEquals("C(BEGIN)C(INSERT 0 1)C(COMMIT)C(DEALLOCATE ALL)C(INSERT 0 1)/I",
                simple(client, "begin; " + insert(3) + "; commit; deallocate all; " + insert(4)));
        client.close();
        BackendConnection other = fixture.client();
        assertEquals("12C(INSERT 0 1)12C(DEALLOCATE ALL)12C(INSERT 0 1)/I",
                extended(other, insert(5), "deallocate all", insert(6)));
        assertEquals("12C(INSERT 0 1)/I", extended(other, insert(7)));
        assertEquals("1:0 2:0 3:0 4:0 5:0 6:0 7:0", fixture.accounts());
        other.close();
    }

    /** Names are bounded; those that the engine has forgotten do not count. */
    @Test
    void namesThatAreForgottenMakeRoomForOthers() throws Exception {
        int half = NamedObjects.LIMIT / 2;
        BackendConnection client = fixture.client();
        for (String forget : List.of("deallocate all", "discard all", "select 1; deallocate prepare all", "select 1")) {
            get(send(client, out -> {
                for (int i = 0; i < half; i++) {
                    Frontend.parse(out, "s" + i, "select 1");
                }
                Frontend.sync(out);
            }));
            simple(client, forget);
        }
        assertEquals("E(42P05)/I", parse(client, "s1"), "they are there");
        assertEquals("C(DEALLOCATE)TDC(SELECT 1)/I", simple(client, "deallocate S1; select 1"));
        assertEquals("1/I", parse(client, "s1"));
        assertEquals("12C(DEALLOCATE)12DC(SELECT 1)/I", extended(client, "deallocate \"s1\"", "select 1"));
        assertEquals("1/I", parse(client, "s1"));
        assertEquals("E(26000)/I", simple(client, "deallocate nobody"));
        assertEquals("12E(26000)/I", extended(client, "deallocate nobody"));
        for (int cycle = 0; cycle < 3; cycle++) {
            assertEquals("2".repeat(half) + "/I", get(send(client, out -> {
                for (int i = 0; i < half; i++) {
                    Frontend.bind(out, "p" + i, "s1");
                }
                Frontend.sync(out);
            })));
        }
        client.close();
    }

    private static String parse(BackendConnection client, String name) throws Exception {
        return get(send(client, out -> {
            Frontend.parse(out, name, "select 1");
            Frontend.sync(out);
        }));
    }

    @Test
    void anAnswerThatIsLostBecauseTheTransactionGaveWayIsAnError() throws Exception {
        fixture.admin.execute("""
                create table patient (id int);
                grant all on patient to public;
                create function patience() returns trigger language plpgsql as
                    'begin perform pg_sleep(3600); return null; exception when query_canceled then return null; end';
                create constraint trigger patience after insert on patient deferrable initially deferred
                    for each row execute function patience();
                create function write() returns int language sql as 'insert into patient values (1) returning id';
                create view writes as select write();
                grant select on writes to public""", PATIENCE);
        BackendConnection client = fixture.client();
        for (boolean synced : new boolean[]{false, true}) {
            simple(client, "begin");
            assertEquals("TDC(SELECT 1)/T", simple(client, "select * from writes"));
            CompletableFuture<String> commit = send(client, out -> {
                Frontend.statement(out, "commit");
                if (synced) {
                    Frontend.sync(out);
                } else {
                    Frontend.flush(out);
                }
            });
            fixture.awaitSleeping();
            push();
            if (!synced) {
                send(client, out -> {
                    Frontend.statement(out, insert(1));
                    Frontend.sync(out);
                    Frontend.query(out, "select 1");
                });
            }
            assertEquals("E(40001)/I", get(commit));
            assertTrue(fixture.node.drainCommitted().isEmpty());
        }
        client.close();
    }
}
