package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.EventLoopGroup;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.txn.AbortReason;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.catalog.References;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings.Credentials;
import tutti.pgwire.PostgresException;
import tutti.pgwire.TestServer;
import tutti.pgwire.Transport;

/** The front end with the engine's own capture service. */
@Timeout(90)
class EngineCaptureTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    /** Of a session: role, settings, whether it is like others, what is fixed at submission, whether a target is temporary. */
    private static List<@Nullable String> settings(String likeOthers, @Nullable String submission) {
        List<@Nullable String> row = new ArrayList<>(List.of("alice"));
        row.addAll(Statement.SETTINGS);
        row.addAll(Arrays.asList(likeOthers, submission, "f"));
        return row;
    }

    @Test
    void settingsAreKnownForAWhileIfTheSessionIsLikeOthers() {
        EngineCapture capture = new EngineCapture(() -> TableCatalog.EMPTY, () -> References.NONE,
                () -> tutti.engine.postgres.catalog.InBandTables.NONE,
                () -> CompletableFuture.completedFuture(null), _ -> null, () -> false,
                new CaptureInstaller.Functions(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                        21, 22, 23, 24,
                        "life",
                        List.of()),
                new byte[1]);
        String made = "1000 0f8fad5b-d9cb-469f-a165-70867728950e";
        List<@Nullable String> first = settings("t", made);
        List<@Nullable String> later = capture.later(first, 5);
        assertNotNull(later);
        assertEquals(first.size(), later.size());
        for (int i = 0; i < first.size(); i++) {
            if (made.equals(first.get(i))) {
                assertTrue(String.valueOf(later.get(i)).startsWith("1005 "), later.get(i));
            } else {
                assertEquals(first.get(i), later.get(i));
            }
        }
        assertNull(capture.later(settings("f", made), 5));
        assertNull(capture.later(settings("t", null), 5));
    }

    /** A front end before a server, and what is told of it. */
    private interface Sessions {
        void with(BackendConnection admin, PostgresEngine engine, InetSocketAddress address, EventLoopGroup loops)
                throws Exception;
    }

    /** With role {@code alice}, who may make tables. */
    private static void serve(ScriptedNode node, Sessions sessions) throws Exception {
        EventLoopGroup loops = Transport.eventLoops(2, "engine-capture-test");
        try (TestServer server = TestServer.start("max_replication_slots=10")) {
            BackendConnection admin = BackendConnection.connect(loops.next(), server.settings()).get(20,
                    TimeUnit.SECONDS);
            admin.execute("CREATE ROLE alice LOGIN PASSWORD 'wonderland'; GRANT ALL ON SCHEMA public TO PUBLIC;"
                    + "CREATE TABLE account (id int PRIMARY KEY, balance int); GRANT ALL ON account TO PUBLIC;"
                    + "COMMENT ON COLUMN account.id IS 'tutti.class account/8';"
                    + "CREATE FUNCTION pay(ids int[]) RETURNS void LANGUAGE sql AS"
                    + " 'UPDATE account SET balance = 0 WHERE id = ANY (ids)';"
                    + "ALTER FUNCTION pay SET tutti.classes = 'account($1)'", PATIENCE);
            try (PostgresEngine engine = PostgresEngine.open(loops, server.settings(),
                    new CaptureInstaller.Settings(0, 16, "cluster secret", 1 << 20));
                    PostgresFrontEnd frontEnd = new PostgresFrontEnd(
                            FrontEndSettings.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                                    server.settings()),
                            node,
                            new EngineCapture(engine::catalog, engine::references, engine::inBandTables,
                                    engine::refreshCatalog,
                                    engine.promises()::of, engine::leavesOut,
                                    engine.functions(),
                                    "cluster secret".getBytes(java.nio.charset.StandardCharsets.UTF_8)),
                            (_, _) -> () -> {}, loops)) {
                sessions.with(admin, engine, frontEnd.start(), loops);
            }
            admin.close();
        } finally {
            loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).awaitUninterruptibly();
        }
    }

    @Test
    void theArrayOfADriverSaysWhichRowsAFunctionTouches() throws Exception {
        try (ScriptedNode node = new ScriptedNode()) {
            node.undertakes = true;
            node.atOnce = false;
            node.runs = true;
            node.answer = new byte[]{'C', 0, 0, 0, 13, 'S', 'E', 'L', 'E', 'C', 'T', ' ', '1', 0};
            serve(node, (_, _, address, _) -> {
                try (Connection connection = DriverManager.getConnection("jdbc:postgresql://" + address.getHostString()
                        + ":" + address.getPort() + "/postgres", "alice", "wonderland");
                        PreparedStatement pay = connection.prepareStatement("select pay(?)")) {
                    for (Object[] ids : List.of(new Object[]{1, 3}, new Integer[]{1, 3})) {
                        pay.setArray(1, connection.createArrayOf("int4", ids));
                        pay.execute();
                        assertEquals(2, ScriptedNode.take(node.undertaken).size());
                    }
                }
            });
        }
    }

    @Test
    void sessionsCommitThroughTheEnginesCapture() throws Exception {
        try (ScriptedNode node = new ScriptedNode()) {
            serve(node, (admin, _, address, loops) -> {
                BackendConnection client = BackendConnection
                        .connect(loops.next(),
                                tutti.pgwire.BackendSettings.of(address, "alice", "postgres",
                                        new Credentials.Password("wonderland")))
                        .get(20, TimeUnit.SECONDS);
                client.execute("insert into account values (1, 1)", PATIENCE);
                client.execute("begin; update account set balance = 2; commit", PATIENCE);
                client.execute("begin", PATIENCE);
                client.execute("create table inside (id int primary key, word text)", PATIENCE);
                client.execute("insert into inside values (1, 'x')", PATIENCE);
                client.execute("commit", PATIENCE);
                client.execute("create temporary table passing (id int)", PATIENCE);
                client.execute("create index passing_id on passing (id)", PATIENCE);
                client.execute("drop index passing_id", PATIENCE);
                client.execute("drop table passing", PATIENCE);
                assertEquals(3, node.drainCommitted().size());
                assertEquals(Long.toString(node.position()),
                        admin.execute("SELECT tutti.position()", PATIENCE).value());
                node.abort = new AbortReason.LostCertification(1, 7);
                PostgresException lost = assertThrows(PostgresException.class,
                        () -> client.execute("update account set balance = 3", PATIENCE));
                assertEquals("40001", lost.sqlState());
                assertTrue(String.valueOf(lost.fields().get('D')).contains("account"), lost.toString());
                client.close();
            });
        }
    }
}
