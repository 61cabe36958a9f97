package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.EventLoopGroup;
import java.io.StringReader;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.TestServer;
import tutti.pgwire.Transport;

/** Statements that name tables which some nodes lack: node 0, whose front end this is, keeps one of two. */
@Timeout(90)
class PlacedTablesTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final EventLoopGroup LOOPS = Transport.eventLoops(2, "placed-tables-test");
    private static final ScriptedNode NODE = new ScriptedNode();
    private static TestServer server;
    private static PostgresEngine engine;
    private static PostgresFrontEnd frontEnd;
    private static BackendConnection admin;
    private static InetSocketAddress address;

    @BeforeAll
    static void start() throws Exception {
        server = TestServer.start("max_replication_slots=10");
        admin = BackendConnection.connect(LOOPS.next(), server.settings()).get(20, TimeUnit.SECONDS);
        admin.execute("""
                CREATE TABLE kept (id int PRIMARY KEY, v text);
                CREATE TABLE "Away" (id int PRIMARY KEY, v text);
                CREATE TABLE "Ärger""s" (id int PRIMARY KEY);
                CREATE TABLE common (id int PRIMARY KEY, kept int, away int);
                INSERT INTO common VALUES (1, 1, 1)""", PATIENCE);
        engine = PostgresEngine.open(LOOPS, server.settings(),
                new CaptureInstaller.Settings(0, 16, "cluster secret", 1 << 20));
        admin.execute("SELECT tutti.place('cluster secret', '{public,kept}', '0, 2'),"
                + " tutti.place('cluster secret', '{public,Away}', '1, 2'),"
                + " tutti.place('cluster secret', '{public,\"Ärger\\\"s\"}', '1, 2')", PATIENCE);
        NODE.admin = admin;
        engine.refreshCatalog().get(20, TimeUnit.SECONDS);
        EngineCapture capture = new EngineCapture(engine::catalog, engine::references, engine::inBandTables,
                engine::refreshCatalog, engine.promises()::of, engine::leavesOut, engine.functions(),
                "cluster secret".getBytes(StandardCharsets.UTF_8));
        capture.placed(() -> engine.schema().placed());
        frontEnd = new PostgresFrontEnd(
                FrontEndSettings.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), server.settings()),
                NODE, capture, (_, _) -> () -> {}, LOOPS);
        address = frontEnd.start();
    }

    @AfterAll
    static void stop() throws Exception {
        frontEnd.close();
        engine.close();
        admin.close();
        NODE.close();
        server.close();
        LOOPS.shutdownGracefully(0, 5, TimeUnit.SECONDS).awaitUninterruptibly();
    }

    @BeforeEach
    void reset() {
        NODE.reset();
        NODE.forget();
    }

    private static Connection connect(String mode) throws SQLException {
        return DriverManager.getConnection("jdbc:postgresql://127.0.0.1:" + address.getPort()
                + "/postgres?preferQueryMode=" + mode, TestServer.SUPERUSER, TestServer.PASSWORD);
    }

    private static SQLException refused(Connection connection, String sql) {
        return assertThrows(SQLException.class, () -> {
            try (Statement statement = connection.createStatement()) {
                statement.execute(sql);
            }
        }, sql);
    }

    @Test
    void whatReadsATableThatIsElsewhereIsRefused() throws Exception {
        for (String mode : List.of("simple", "extended")) {
            try (Connection connection = connect(mode)) {
                for (String sql : List.of("COPY \"Away\" TO STDOUT", "COPY public.\"Away\" (id) TO STDOUT WITH BINARY",
                        "COPY (SELECT * FROM \"Away\") TO STDOUT",
                        "SELECT * FROM \"Away\"", "INSERT INTO \"Away\" VALUES (1)", "TRUNCATE \"Away\"",
                        "ALTER TABLE \"Away\" ADD COLUMN w int", "CREATE INDEX ON public.\"Away\" (v)",
                        "ALTER TABLE \"Away\" ADD COLUMN x int; ALTER TABLE common ADD COLUMN x int")) {
                    assertElsewhere(refused(connection, sql));
                }
                assertEquals(List.of(), List.copyOf(NODE.barriers));
            }
        }
    }

    /** COPY plans nothing: what it names is told by its text. */
    @Test
    void aTableIsNotCopiedByAnotherWayOfWritingItsName() throws Exception {
        String own = "COPY \"Ärger\"\"s\" TO STDOUT";
        for (String mode : List.of("simple", "extended")) {
            try (Connection connection = connect(mode + "&allowEncodingChanges=true");
                    Statement statement = connection.createStatement()) {
                for (String sql : List.of("COPY U&\"Aw\\0061y\" TO STDOUT",
                        "COPY public.u&\"Aw!0061y\" UESCAPE '!' TO STDOUT", "SELECT 1; COPY/**/\"Away\"TO STDOUT",
                        "COPY " + "long".repeat(20) + " TO STDOUT", own)) {
                    assertElsewhere(refused(connection, sql));
                }
                statement.execute("SET client_encoding = 'LATIN1'");
                assertElsewhere(refused(connection, own));
            }
        }
    }

    private static void assertElsewhere(SQLException refused) {
        assertEquals("0A000", refused.getSQLState(), refused.getMessage());
        assertTrue(String.valueOf(refused.getMessage()).contains("is not kept on this node, only on nodes 1, 2"),
                refused.getMessage());
    }

    @Test
    void onlyWhatIsHereIsCopied() throws Exception {
        try (Connection connection = connect("simple")) {
            CopyManager copies = connection.unwrap(PGConnection.class).getCopyAPI();
            for (String sql : List.of("COPY common (kept, away) TO STDOUT", "COPY kept TO STDOUT",
                    "COPY kept (v) TO STDOUT")) {
                copies.copyOut(sql, new StringWriter());
            }
            assertEquals("0A000", assertThrows(SQLException.class,
                    () -> copies.copyIn("COPY \"Away\" FROM STDIN", new StringReader("1\tx\n"))).getSQLState());
        }
    }

    @Test
    void aTableThatIsKeptHereIsChangedHereFirst() throws Exception {
        try (Connection connection = connect("simple"); Statement statement = connection.createStatement()) {
            statement.execute("ALTER TABLE kept ADD COLUMN w int DEFAULT 5");
            statement.execute("CREATE INDEX ON kept (w)");
            assertEquals(List.of(), List.copyOf(NODE.barriers));
            assertEquals(2, NODE.committed.size());
            // every node makes it, which the node of this test does not know how to
            assertEquals("42601", refused(connection, "CREATE TABLE more (id int PRIMARY KEY)").getSQLState());
            assertEquals(1, NODE.barriers.size());
        }
        NODE.forget();
        try (Connection connection = connect("extended");
                PreparedStatement change = connection.prepareStatement("ALTER TABLE kept ADD UNIQUE (w)")) {
            change.execute();
            assertEquals(List.of(), List.copyOf(NODE.barriers));
            assertEquals(1, NODE.committed.size());
        }
    }
}
