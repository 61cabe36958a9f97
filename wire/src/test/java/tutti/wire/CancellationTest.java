package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.Conversation.send;
import static tutti.wire.Conversation.simple;
import static tutti.wire.FrontEndFixture.PATIENCE;

import io.netty.buffer.ByteBuf;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.Frontend;

/** Requests to cancel that the engine misses, does not answer, or hears too late: nobody waits for them. */
@Timeout(60)
class CancellationTest extends OnFrontEnd {
    private CancelRelay relay;
    private PostgresFrontEnd frontEnd;
    private BackendConnection client;

    @BeforeEach
    void startBehindRelay() throws Exception {
        relay = new CancelRelay(fixture.server.address());
        BackendSettings real = fixture.server.settings();
        frontEnd = new PostgresFrontEnd(FrontEndSettings.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                BackendSettings.of(relay.address(), real.user(), real.database(), real.credentials())), fixture.node,
                fixture.capture, fixture.registry, fixture.loops);
        client = fixture.client(frontEnd.start());
    }

    @AfterEach
    void stop() throws Exception {
        client.close();
        frontEnd.close();
        relay.close();
    }

    private CompletableFuture<String> sleep(double seconds) throws Exception {
        String sql = "select 1 from pg_sleep(" + seconds + ")";
        CompletableFuture<String> running = send(client, out -> Frontend.query(out, sql));
        fixture.awaitSleeping();
        return running;
    }

    private static String end(CompletableFuture<String> running) throws Exception {
        return running.get(20, TimeUnit.SECONDS).replace("T", "");
    }

    @Test
    void aVictimIsCancelledThoughTheEngineMissesTheRequestAgainAndAgain() throws Exception {
        relay.toLose.set(2);
        simple(client, "begin");
        simple(client, "insert into account values (1, 1)");
        CompletableFuture<String> running = sleep(3600);
        push();
        assertEquals("E(40001)/E", end(running));
        assertEquals(0, relay.toLose.get());
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
        assertEquals("C(INSERT 0 1)/I", simple(client, "insert into account values (1, 1)"));
    }

    @Test
    void aVictimIsCancelledThoughARequestIsNeverAnswered() throws Exception {
        relay.toKeep.set(1);
        simple(client, "begin");
        simple(client, "insert into account values (1, 1)");
        CompletableFuture<String> running = sleep(3600);
        push();
        assertEquals("E(40001)/E", end(running));
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));

        running = sleep(3600);
        relay.deliverKept();
        assertEquals("E(40001)/I", end(running), "its client has not asked for that");
        running = sleep(3600);
        client.cancel().get(20, TimeUnit.SECONDS);
        assertEquals("E(57014)/I", end(running), "but for this");
    }

    @Test
    void aCommitDoesNotWaitForARequestThatIsNeverAnswered() throws Exception {
        relay.toKeep.set(1);
        fixture.node.manual = true;
        simple(client, "begin");
        simple(client, "insert into account values (1, 1)");
        fixture.admin.execute("select pg_advisory_lock(7)", PATIENCE);
        CompletableFuture<String> running = send(client, out -> Frontend.query(out, "select pg_advisory_xact_lock(7)"));
        fixture.awaitRunning("select pg_advisory_xact_lock%");
        CompletableFuture<Void> asked = client.cancel();
        relay.awaitKept();
        fixture.admin.execute("select pg_advisory_unlock(7)", PATIENCE);
        assertEquals("DC(SELECT 1)/T", running.get(20, TimeUnit.SECONDS).substring(1));
        CompletableFuture<String> committing = send(client, out -> Frontend.query(out, "commit"));
        ScriptedNode.take(fixture.node.asked).commit();
        assertEquals("C(COMMIT)/I", committing.get(20, TimeUnit.SECONDS));
        assertEquals("1:1", fixture.accounts());
        asked.get(20, TimeUnit.SECONDS);
    }

    /** What runs in COMMIT, which everything behind it waits for, may never hear that it is cancelled: the engine is told, and may end it. */
    @Test
    void aCommitThatDoesNotEndIsTheEnginesToEnd() throws Exception {
        relay.toLose.set(Integer.MAX_VALUE);
        fixture.node.manual = true;
        simple(client, "begin");
        simple(client, "insert into account values (1, 1)");
        simple(client, "declare held cursor with hold for select pg_sleep(3600)");
        CompletableFuture<String> waiting = send(client, out -> Frontend.query(out, "commit"));
        CompletableFuture<Void> committing = CompletableFuture
                .runAsync(ScriptedNode.take(fixture.node.asked)::commit);
        fixture.awaitSleeping();
        assertEquals(client.processId(), fixture.committing.peek());
        fixture.end(client.processId());
        assertEquals("08006", ScriptedNode.take(fixture.node.failures));
        assertTrue(fixture.committing.isEmpty(), "its time is over");
        assertEquals("C(COMMIT)/I", waiting.get(20, TimeUnit.SECONDS));
        committing.get(20, TimeUnit.SECONDS);
    }

    /**
     * An engine that waits for data hears no request to cancel, nor a Sync: a COPY that has been interrupted before it takes data fails when it does,
     * however its client has asked for it.
     */
    @ParameterizedTest
    @ValueSource(strings = {"flush", "sync", "query"})
    void aCopyThatTakesDataOnlyWhenItHasBeenInterruptedFails(String form) throws Exception {
        relay.toKeep.set(1);
        fixture.admin.execute("begin; lock table account in access exclusive mode", PATIENCE);
        String copy = "copy account (id, balance) from stdin";
        CompletableFuture<String> running = send(client, out -> {
            if (form.equals("query")) {
                Frontend.query(out, copy);
                return;
            }
            Frontend.statement(out, copy);
            if (form.equals("sync")) {
                Frontend.sync(out);
            } else {
                Frontend.flush(out);
            }
        });
        awaitLockWanted();
        CompletableFuture<Void> pushed = CompletableFuture.runAsync(() -> {
            try {
                push();
            } catch (Exception failed) {
                throw new IllegalStateException(failed);
            }
        });
        relay.awaitKept();
        fixture.admin.execute("commit", PATIENCE);
        pushed.get(20, TimeUnit.SECONDS);
        if (form.equals("flush")) {
            ByteBuf end = client.buffer();
            Frontend.sync(end);
            client.channel().writeAndFlush(end);
        }
        assertEquals("E(40001)/I", running.get(20, TimeUnit.SECONDS).replace("12", ""));
        assertEquals("C(INSERT 0 1)/I", simple(client, "insert into account values (1, 1)"));
        assertEquals("1:1", fixture.accounts());
    }

    private static void awaitLockWanted() throws Exception {
        while (!"1"
                .equals(fixture.admin.execute("select count(*) from pg_locks where not granted", PATIENCE).value())) {
            Thread.onSpinWait();
        }
    }
}
