package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.Conversation.get;
import static tutti.wire.Conversation.send;
import static tutti.wire.Conversation.simple;
import static tutti.wire.FrontEndFixture.PATIENCE;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;

/**
 * COPY by the extended protocol: a Sync that comes while the engine takes data is ignored, and others are answered. Each conversation is had with a
 * bare server, too.
 */
@Timeout(60)
class CopyCycleTest extends OnFrontEnd {
    private static final String COPY = "copy account (id, balance) from stdin";
    private static final String INTO_VIEW = "copy shown from stdin";

    private BackendConnection bare;
    private BackendConnection client;

    @BeforeEach
    void connect() throws Exception {
        fixture.admin.execute("create or replace view shown as select 1 as id; grant all on shown to public", PATIENCE);
        bare = BackendConnection.connect(fixture.loops.next(), fixture.server.settings()).get(20, TimeUnit.SECONDS);
        bare.execute("create temp table account (id int primary key, balance int not null)", PATIENCE);
        client = fixture.client();
    }

    @AfterEach
    void close() {
        bare.close();
        client.close();
    }

    private static void data(ByteBuf out, String row) {
        Frontend.copyData(out, Unpooled.copiedBuffer(row + "\n", StandardCharsets.UTF_8));
    }

    private static void row(ByteBuf out, int id) {
        data(out, id + "\t0");
        Frontend.copyDone(out);
    }

    /** Both hear the same, and both are where a client expects them behind that. */
    private void bothHear(String expected, int cycles, Conversation.Batch batch) throws Exception {
        assertEquals(expected, get(send(bare, cycles, batch)), "bare");
        assertEquals(expected, get(send(client, cycles, batch)), "a node");
        for (BackendConnection each : List.of(bare, client)) {
            assertEquals("TDC(SELECT 1)/" + expected.substring(expected.length() - 1), simple(each, "select 1"));
        }
    }

    @Test
    void theSyncBehindTheDataIsAnswered() throws Exception {
        bothHear("12GC(COPY 1)/I", 1, out -> {
            Frontend.statement(out, COPY);
            row(out, 1);
            Frontend.sync(out);
        });
        bothHear("12GE(22P02)/I", 1, out -> {
            Frontend.statement(out, COPY);
            data(out, "nonsense");
            Frontend.copyDone(out);
            Frontend.sync(out);
        });
        bothHear("12GC(COPY 1)12GC(COPY 1)/I", 1, out -> {
            Frontend.statement(out, COPY);
            row(out, 2);
            Frontend.statement(out, COPY);
            row(out, 3);
            Frontend.sync(out);
        });
        assertEquals("1:0 2:0 3:0", fixture.accounts());
    }

    /** It would wait for the end of the data, which its client does not send any more. */
    @Test
    void whoSendsAnotherMessageThanDataIsSentAway() {
        for (BackendConnection each : List.of(bare, client)) {
            ExecutionException lost = assertThrows(ExecutionException.class, () -> get(send(each, 2, out -> {
                Frontend.query(out, COPY);
                Frontend.query(out, "select 1");
            })));
            assertTrue(String.valueOf(lost.getCause()).contains("08P01"), String.valueOf(lost.getCause()));
        }
    }

    @Test
    void aSyncBeforeTheDataIsIgnored() throws Exception {
        bothHear("12GC(COPY 1)/I", 1, out -> {
            Frontend.statement(out, COPY);
            Frontend.sync(out);
            row(out, 1);
            Frontend.sync(out);
        });
        bothHear("12GC(COPY 2)/I", 1, out -> {
            Frontend.statement(out, COPY);
            Frontend.sync(out);
            Frontend.sync(out);
            data(out, "2\t0");
            Frontend.sync(out);
            row(out, 3);
            Frontend.sync(out);
        });
        bothHear("12GE(22P02)/I", 1, out -> {
            Frontend.statement(out, COPY);
            Frontend.sync(out);
            data(out, "nonsense");
            Frontend.copyDone(out);
            Frontend.sync(out);
        });
        bothHear("12GE(57014)/I", 1, out -> {
            Frontend.statement(out, COPY);
            Frontend.sync(out);
            Frontend.copyFail(out, "no");
            Frontend.sync(out);
        });
        assertEquals("1:0 2:0 3:0", fixture.accounts());
    }

    /** The engine fails when it has said that it takes data, and before it reads any. */
    @Test
    void aSyncIsAnsweredIfTheEngineFailsBeforeItReadsAnything() throws Exception {
        bothHear("12GE(42809)/I", 1, out -> {
            Frontend.statement(out, INTO_VIEW);
            Frontend.sync(out);
        });
        for (BackendConnection each : List.of(bare, client)) {
            simple(each, "begin");
            assertEquals("12GE(42809)/E", get(send(each, out -> {
                Frontend.statement(out, INTO_VIEW);
                Frontend.sync(out);
            })));
            assertEquals("C(ROLLBACK)/I", simple(each, "rollback"));
        }
    }

    @Test
    void dataIsIgnoredAndEachSyncAnsweredIfNoCopyBegins() throws Exception {
        for (String sql : List.of("copy nobody from stdin", "nonsense")) {
            bothHear(sql.equals("nonsense") ? "E(42601)/I" : "12E(42P01)/I", 2, out -> {
                Frontend.statement(out, sql);
                Frontend.sync(out);
                row(out, 1);
                Frontend.sync(out);
            });
        }
        assertEquals("null", fixture.accounts());
    }
}
