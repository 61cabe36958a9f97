package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.Engine.PlacementPlan;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract.Result;
import tutti.engine.StateView;
import tutti.engine.postgres.LocalSession;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.PostgresView;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.engine.postgres.capture.CaptureReader;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.catalog.CatalogQuery;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.PostgresException;

/** A table that node 0 keeps and node 1 does not. */
class PlacedTablesTest {
    private static final String[] SCHEMA = {"CREATE TABLE part (id int PRIMARY KEY, v text)",
            "CREATE TABLE other (id int PRIMARY KEY, v text)", "CREATE VIEW seen AS SELECT * FROM part",
            "INSERT INTO part VALUES (1, 'one'), (2, 'two')", "INSERT INTO other VALUES (1, 'one')"};
    private static final String LACKED = "0A000";

    private Node keeper;
    private Node lacking;
    private long position;

    /** One of the two. */
    private static final class Node implements AutoCloseable {
        private final String database;
        private PostgresEngine engine;
        private Applier applier;

        Node(int number, String... schema) throws Exception {
            database = TestServer.database(schema);
            open(number);
        }

        private void open(int number) throws Exception {
            engine = PostgresEngine.open(TestServer.loops(), TestServer.reach(database), TestServer.settings(number));
            applier = engine.openApplier();
        }

        void reopen(int number) throws Exception {
            close();
            open(number);
        }

        @Nullable
        EngineFailure refused(long at, byte[] statement) throws Exception {
            Result<ExecuteResult> executed = new Result<>();
            applier.execute(at, statement, executed);
            return executed.success().refusal();
        }

        /** The SQLSTATE of the refusal, or nothing if it has taken effect. */
        String execute(long at, byte[] statement) throws Exception {
            EngineFailure refusal = refused(at, statement);
            return refusal == null ? "" : refusal.sqlState();
        }

        void apply(long at, WriteSet writes) throws Exception {
            Result<Void> applied = new Result<>();
            applier.applyAndCommit(at, List.of(writes), at, applied);
            applied.success();
        }

        PlacementPlan prepare(String table, Set<Integer> keepers) throws Exception {
            Result<PlacementPlan> prepared = new Result<>();
            engine.preparePlacement(List.of(table), keepers, prepared);
            return prepared.success();
        }

        EngineFailure refusal(String table, Set<Integer> keepers) throws Exception {
            Result<PlacementPlan> prepared = new Result<>();
            engine.preparePlacement(List.of(table), keepers, prepared);
            return prepared.failure();
        }

        /** As a superuser who is no applier, with one connection for each. */
        String ask(String sql) throws Exception {
            BackendConnection connection = TestServer.connect(database);
            try {
                return String.valueOf(TestServer.execute(connection, sql).value());
            } catch (PostgresException refused) {
                return refused.sqlState();
            } finally {
                connection.close();
            }
        }

        @Override
        public void close() {
            applier.close();
            engine.close();
        }
    }

    @BeforeEach
    void open() throws Exception {
        keeper = new Node(0, SCHEMA);
        lacking = new Node(1, SCHEMA);
    }

    @AfterEach
    void close() {
        keeper.close();
        lacking.close();
    }

    /** What both nodes say, which must be the same. */
    private String both(byte[] statement) throws Exception {
        position++;
        String said = keeper.execute(position, statement);
        assertEquals(said, lacking.execute(position, statement));
        return said;
    }

    private String ordered(String sql) throws Exception {
        return both(new Statement(sql, TestServer.USER, Map.of("search_path", "public")).toBytes());
    }

    private void place() throws Exception {
        assertEquals("", both(keeper.prepare("part", Set.of(0)).statement()));
    }

    /** Has node 0 execute statements, of which those that begin with an exclamation mark change the schema, and node 1 apply what comes of it. */
    private WriteSet transaction(String... statements) throws Exception {
        try (LocalSession session = new LocalSession(keeper.database)) {
            TableCatalog before = catalog(session);
            List<TableCatalog> inside = new ArrayList<>();
            for (String each : statements) {
                if (each.startsWith("!")) {
                    inside.add(catalog(session));
                }
                run(session, each, Math.max(0, inside.size() - 1));
            }
            byte[] gathered = Objects.requireNonNull(session.gather());
            if (!inside.isEmpty()) {
                inside.add(catalog(session));
            }
            WriteSet writes = inside.isEmpty()
                    ? CaptureReader.read(before, gathered).writes()
                    : CaptureReader.read(before, inside, gathered).writes();
            session.connection().commit();
            lacking.apply(++position, writes);
            return writes;
        }
    }

    /** The tables as the session sees them. */
    private static TableCatalog catalog(LocalSession session) throws SQLException {
        try (java.sql.Statement asked = session.connection().createStatement();
                ResultSet told = asked.executeQuery("SELECT tutti.catalog_text()")) {
            assertTrue(told.next());
            return CatalogQuery.read(told.getString(1).getBytes(StandardCharsets.UTF_8));
        }
    }

    private static void run(LocalSession session, String statement, int place) throws SQLException {
        boolean fills = statement.startsWith("!=");
        String sql = statement.substring(fills ? 2 : statement.startsWith("!") ? 1 : 0);
        if (!sql.equals(statement)) {
            String text = new Statement(place, fills ? "" : sql, TestServer.USER, Map.of("search_path", "public"))
                    .toText();
            session.execute("SELECT tutti.allow_statement('" + TestServer.CLUSTER_SECRET + "', $t$" + text + "$t$)");
        }
        session.execute(sql);
    }

    private static String refused(LocalSession session, String statement) {
        return assertThrows(SQLException.class, () -> run(session, statement, 0), statement).getSQLState();
    }

    @Test
    void rowsAreWhereTheyAreKept() throws Exception {
        place();
        assertEquals("2", keeper.ask("SELECT count(*) FROM part"));
        WriteSet both = transaction("INSERT INTO part VALUES (3, 'three')", "INSERT INTO other VALUES (3, 'three')",
                "UPDATE part SET v = 'uno' WHERE id = 1", "DELETE FROM part WHERE id = 2");
        assertEquals("2", lacking.ask("SELECT count(*) FROM other"));
        assertEquals("0", lacking.ask("SELECT pg_relation_size('part')"));
        assertEquals(Set.of(TableCatalog.tableKey("public", "part"), TableCatalog.tableKey("public", "other")),
                lacking.engine.changedTables(both));
        transaction("TRUNCATE part");
        assertEquals(LACKED, lacking.ask("SELECT * FROM part"));
    }

    @Test
    void nothingThatUsesItFindsItEmpty() throws Exception {
        try (LocalSession before = new LocalSession(lacking.database)) {
            Connection session = before.connection();
            try (PreparedStatement prepared = session.prepareStatement("SELECT v FROM part WHERE id = ?")) {
                for (int i = 0; i < 10; i++) {
                    prepared.setInt(1, 1);
                    prepared.executeQuery().close();
                }
                session.commit();
                place();
                assertEquals(LACKED, assertThrows(SQLException.class, prepared::executeQuery).getSQLState());
            }
        }
        for (String sql : List.of("SELECT * FROM part", "SELECT * FROM seen", "INSERT INTO part VALUES (9)",
                "UPDATE part SET v = ''", "DELETE FROM part", "TRUNCATE part", "EXPLAIN SELECT * FROM part",
                "SELECT (SELECT count(*) FROM part)", "DO $$BEGIN PERFORM * FROM part; END$$",
                "CREATE TEMP TABLE c AS SELECT * FROM part", "COPY (SELECT * FROM part) TO STDOUT",
                "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM part",
                "MERGE INTO part p USING other o ON p.id = o.id WHEN MATCHED THEN DELETE",
                "WITH w AS (SELECT * FROM part) SELECT * FROM other, w", "REINDEX TABLE part",
                "REINDEX (CONCURRENTLY) TABLE part", "VACUUM FULL part", "VACUUM FULL", "CLUSTER part USING part_pkey",
                "REINDEX DATABASE CONCURRENTLY",
                "SELECT * FROM part")) {
            assertEquals(LACKED, lacking.ask(sql), sql);
        }
        for (String sql : List.of("ANALYZE", "VACUUM", "VACUUM ANALYZE part", "LOCK part")) {
            assertEquals(sql.equals("LOCK part") ? "25P01" : "null", lacking.ask(sql), sql);
        }
    }

    @Test
    void theReasonNamesTheKeepers() throws Exception {
        place();
        try (LocalSession session = new LocalSession(lacking.database)) {
            SQLException refused = assertThrows(SQLException.class, () -> session.execute("SELECT * FROM part"));
            assertTrue(String.valueOf(refused.getMessage())
                    .startsWith(
                            "ERROR: table public.part is not kept on this node, only on node 0\n  Hint: Connect to "),
                    refused.getMessage());
        }
    }

    @Test
    void itsSchemaIsChangedFromANodeThatKeepsIt() throws Exception {
        place();
        transaction("!ALTER TABLE part ADD COLUMN n int NOT NULL DEFAULT 7");
        transaction("INSERT INTO part VALUES (5, 'x', 8)", "!CREATE UNIQUE INDEX by_n ON part (n, v)",
                "!DROP VIEW seen", "!ALTER TABLE part ALTER COLUMN n TYPE bigint",
                "!ALTER TABLE part ADD CHECK (n > 0)");
        transaction("INSERT INTO part VALUES (6, 'y', 9)");
        assertEquals(keeper.ask(
                "SELECT string_agg(indexrelid::regclass::text, ' ' ORDER BY 1) FROM pg_index WHERE indrelid = 'part'::regclass"
                        + " AND indisready"),
                lacking.ask(
                        "SELECT string_agg(indexrelid::regclass::text, ' ' ORDER BY 1) FROM pg_index WHERE indrelid = 'part'::regclass"
                                + " AND indisready"));
        assertEquals(LACKED, lacking.ask("SELECT * FROM part"));
        transaction("UPDATE part SET n = 10 WHERE id = 5");
        assertEquals(digest(keeper), digest(lacking));
        try (LocalSession session = new LocalSession(lacking.database)) {
            assertEquals(LACKED, refused(session, "!ALTER TABLE part ADD COLUMN w int"));
            session.connection().rollback();
            assertEquals(LACKED, refused(session, "!CREATE INDEX ON part (v)"));
        }
    }

    private static String digest(Node node) throws Exception {
        BackendConnection connection = TestServer.connect(node.database);
        String digest = CaptureInstaller.schemaDigest(connection);
        connection.close();
        return digest;
    }

    @Test
    void whatEveryNodeExecutesDoesNotReadIt() throws Exception {
        place();
        for (String sql : List.of("CREATE TABLE made AS SELECT * FROM part",
                "CREATE MATERIALIZED VIEW kept AS SELECT * FROM part",
                "ALTER TABLE part ADD UNIQUE (v)", "CREATE INDEX ON part (v)", "ALTER TABLE part RENAME TO renamed",
                "CREATE TABLE child (p int REFERENCES part)", "CREATE TABLE child () INHERITS (part)")) {
            assertEquals(LACKED, ordered(sql), sql);
        }
        for (String sql : List.of("CREATE VIEW again AS SELECT * FROM part", "DROP VIEW again",
                "CREATE FUNCTION counted() RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RETURN count(*) FROM public.part; END$$",
                "COMMENT ON TABLE part IS 'a part'", "ALTER TABLE other ADD COLUMN w int",
                "CREATE TRIGGER t BEFORE INSERT ON part FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
                "DROP TRIGGER t ON part")) {
            assertEquals("", ordered(sql), sql);
        }
        assertEquals(LACKED, ordered("ALTER TABLE other ADD COLUMN many bigint DEFAULT counted()"));
        assertEquals(LACKED, ordered("CREATE INDEX ON other ((id + counted()))"));
        assertEquals(LACKED,
                both(Statement.request(List.of(Statement.Call.plain("INSERT INTO other SELECT id + 5, v FROM part")),
                        TestServer.USER, Map.of("search_path", "public")).toBytes()));
        assertEquals("", both(Statement.request(List.of(Statement.Call.plain("INSERT INTO other VALUES (8, 'eight')")),
                TestServer.USER, Map.of("search_path", "public")).toBytes()));
        try (LocalSession session = new LocalSession(keeper.database)) {
            assertEquals(LACKED, refused(session, "!CREATE MATERIALIZED VIEW kept AS SELECT * FROM part"));
            session.connection().rollback();
            assertEquals(LACKED, refused(session, "!CREATE TABLE made AS SELECT * FROM part"));
            session.connection().rollback();
            session.execute("SELECT * FROM part");
            assertEquals(LACKED, refused(session, "!ALTER TABLE other ADD COLUMN many bigint DEFAULT counted()"));
        }
        // as front ends have it made: at this node only, and others get the table and its rows
        transaction("!=CREATE TABLE made AS SELECT * FROM part");
        assertEquals("2", lacking.ask("SELECT count(*) FROM made"));
    }

    @Test
    void aTableMadeAgainIsPlacedAsBefore() throws Exception {
        place();
        assertEquals("", ordered("DROP TABLE part CASCADE"));
        assertEquals("", ordered("CREATE TABLE part (id int PRIMARY KEY)"));
        assertEquals(LACKED, lacking.ask("SELECT * FROM part"));
        transaction("INSERT INTO part VALUES (1)");
        assertEquals("0", lacking.ask("SELECT pg_relation_size('part')"));
        assertEquals(LACKED, keeper.refusal("part", Set.of()).sqlState());
        assertEquals("", ordered("DROP TABLE part"));
        assertEquals("", both(keeper.prepare("part", Set.of()).statement()));
        assertEquals("", ordered("CREATE TABLE part (id int PRIMARY KEY)"));
        assertEquals("0", lacking.ask("SELECT count(*) FROM part"));
    }

    /** Who lacks the rows refuses to keep the table, and begins anew with a copy of the other's database. */
    @Test
    void aNodeThatIsToKeepMoreNeedsACopy() throws Exception {
        place();
        byte[] more = lacking.prepare("part", Set.of(0, 1)).statement();
        position++;
        assertEquals("", keeper.execute(position, more));
        assertTrue(Objects.requireNonNull(lacking.refused(position, more)).needsCopy());
        assertEquals(LACKED, lacking.ask("SELECT * FROM part"));
        transaction("INSERT INTO other VALUES (3, 'three')");
        keeper.reopen(1);
        assertEquals("2", keeper.ask("SELECT count(*) FROM part"));
        assertEquals("", keeper.execute(++position, more), "it has them now");
        // What was dropped meanwhile needs nothing, and stays placed.
        assertEquals("", keeper.execute(++position,
                new Statement("DROP TABLE part CASCADE", TestServer.USER, Map.of("search_path", "public")).toBytes()));
        assertEquals("", keeper.execute(++position, keeper.prepare("part", Set.of(0, 1)).statement()));
    }

    /** It would end every node. */
    @Test
    void noStatementOfAClientSaysThatANodeNeedsACopy() throws Exception {
        byte[] raises = new Statement(
                "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '" + Statement.NEEDS_COPY + "'; END $$",
                TestServer.USER, Map.of("search_path", "public")).toBytes();
        EngineFailure refusal = Objects.requireNonNull(keeper.refused(++position, raises));
        assertEquals(Statement.NEEDS_COPY, refusal.sqlState());
        assertEquals(EngineFailure.Kind.LASTING, refusal.kind());
    }

    @Test
    void placementsAreRefusedAlike() throws Exception {
        assertEquals("42P01", keeper.refusal("missing", Set.of(0)).sqlState());
        assertEquals("42601", keeper.refusal("one.two.three", Set.of(0)).sqlState());
        SortedMap<String, Long> tables = keeper.prepare("PUBLIC.Part", Set.of(0)).tables();
        assertEquals(Map.of("public.part", TableCatalog.tableKey("public", "part")), tables);
        byte[] early = keeper.prepare("other", Set.of(0)).statement();
        assertEquals("", ordered("CREATE TABLE child (id int PRIMARY KEY, o int REFERENCES other)"));
        assertEquals(LACKED, both(early));
        Result<PlacementPlan> together = new Result<>();
        keeper.engine.preparePlacement(List.of("other", "child"), Set.of(0, 2), together);
        assertEquals("", both(together.success().statement()));
        assertEquals("", both(together.success().statement()));
        assertEquals(LACKED, keeper.refusal("child", Set.of(0, 1)).sqlState());
        assertEquals(LACKED, keeper.refusal("child", Set.of(0)).sqlState());
        transaction("INSERT INTO child VALUES (1, 1)", "INSERT INTO other VALUES (4, '')");
        assertEquals(LACKED, lacking.ask("SELECT * FROM child"));
    }

    @Test
    void aPlacementOutlivesTheNodeAndTravelsWithACopy() throws Exception {
        place();
        lacking.reopen(1);
        keeper.reopen(0);
        assertEquals(LACKED, lacking.ask("SELECT * FROM part"));
        assertEquals("2", keeper.ask("SELECT count(*) FROM part"));
        transaction("INSERT INTO part VALUES (3, 'three')");
        keeper.reopen(1);
        assertEquals(LACKED, keeper.ask("SELECT * FROM part"));
        assertEquals("0", keeper.ask("SELECT pg_relation_size('part')"));
        PostgresException refused = assertThrows(PostgresException.class, () -> lacking.reopen(0));
        assertEquals(Statement.NEEDS_COPY, refused.sqlState());
        lacking.open(1);
    }

    @Test
    void dumpsAndComparisonsPassOverWhatIsNotHere() throws Exception {
        place();
        assertEquals("part_pkey", lacking.ask("SELECT string_agg(indexrelid::regclass::text, ' ') FROM pg_index"
                + " WHERE indrelid = 'part'::regclass AND indisvalid AND indisready"));
        try (StateView view = PostgresView.open(TestServer.loops(), TestServer.reach(lacking.database))) {
            assertEquals(List.of("public.other"), view.tables().stream().map(StateView.Relation::name).toList());
        }
        try (LocalSession session = new LocalSession(lacking.database)) {
            String guard = lacking.ask("SELECT 'tutti_elsewhere_' || 'part'::regclass::oid");
            assertEquals("42501", refused(session, "!DROP INDEX " + guard));
            session.connection().rollback();
            assertEquals("42501", refused(session, "!ALTER INDEX " + guard + " RENAME TO mine"));
        }
        assertEquals("42501", ordered("CREATE INDEX mine ON other ((tutti.elsewhere('x', 'y')))"));
    }

    @Test
    void whatIsNoRowIsMadeByEveryNode() throws Exception {
        place();
        Engine engine = lacking.engine;
        WriteSet notified = transaction("SELECT pg_notify('c', 'x')", "INSERT INTO part VALUES (4, 'four')");
        assertEquals(Set.of(TableCatalog.SCHEMA_KEY, TableCatalog.tableKey("public", "part")),
                engine.changedTables(notified));
    }
}
