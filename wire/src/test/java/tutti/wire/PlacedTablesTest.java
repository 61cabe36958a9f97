package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.StringReader;
import java.io.StringWriter;
import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;

/** Statements that name tables which some nodes lack: node 0, whose front end this is, keeps one of two. */
@Timeout(90)
class PlacedTablesTest {
    private static EngineFixture fixture;
    private static InetSocketAddress address;

    @BeforeAll
    static void start() throws Exception {
        fixture = new EngineFixture(false, """
                CREATE TABLE kept (id int PRIMARY KEY, v text);
                CREATE TABLE "Away" (id int PRIMARY KEY, v text);
                CREATE TABLE "Ärger""s" (id int PRIMARY KEY);
                CREATE TABLE common (id int PRIMARY KEY, kept int, away int);
                INSERT INTO common VALUES (1, 1, 1)""");
        fixture.admin.execute("SELECT tutti.place('cluster secret', '{public,kept}', '0, 2'),"
                + " tutti.place('cluster secret', '{public,Away}', '1, 2'),"
                + " tutti.place('cluster secret', '{public,\"Ärger\\\"s\"}', '1, 2')", EngineFixture.PATIENCE);
        fixture.engine.refreshCatalog().get(20, TimeUnit.SECONDS);
        EngineCapture capture = fixture.capture();
        capture.placed(() -> fixture.engine.schema().placed());
        address = fixture.frontEnd(capture, usual -> usual);
    }

    @AfterAll
    static void stop() throws Exception {
        fixture.close();
    }

    @BeforeEach
    void reset() {
        fixture.node.reset();
        fixture.node.forget();
    }

    private static Connection connect(String mode) throws SQLException {
        return EngineFixture.jdbc(address, mode);
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
                assertEquals(List.of(), List.copyOf(fixture.node.barriers));
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
            assertEquals(List.of(), List.copyOf(fixture.node.barriers));
            assertEquals(2, fixture.node.committed.size());
            // every node makes it, which the node of this test does not know how to
            assertEquals("42601", refused(connection, "CREATE TABLE more (id int PRIMARY KEY)").getSQLState());
            assertEquals(1, fixture.node.barriers.size());
        }
        fixture.node.forget();
        try (Connection connection = connect("extended");
                PreparedStatement change = connection.prepareStatement("ALTER TABLE kept ADD UNIQUE (w)")) {
            change.execute();
            assertEquals(List.of(), List.copyOf(fixture.node.barriers));
            assertEquals(1, fixture.node.committed.size());
        }
    }
}
