package tutti.engine.postgres;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.Engine.PlacementPlan;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract;
import tutti.engine.EngineContract.Result;
import tutti.engine.StateView;
import tutti.engine.postgres.capture.Changes;
import tutti.engine.postgres.capture.Changes.Change;
import tutti.engine.postgres.capture.Changes.TableName;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.capture.Statement.DatabaseChange;
import tutti.engine.postgres.databases.DatabaseTag;
import tutti.engine.postgres.databases.DatabasesView;
import tutti.engine.postgres.databases.ServerEngine;
import tutti.pgwire.BackendConnection;

/** The databases of one server as one engine: each position is in one of them, and each is made and dropped at its position. */
class ServerEngineTest {
    private static final long SHOP = PostgresEngineContractTest.MADE_AT;
    private static final String TABLE = "CREATE TABLE t (id int PRIMARY KEY)";
    private String configured;
    private String shop;
    private ServerEngine engine;
    private Applier applier;
    private BackendConnection admin;

    @BeforeEach
    void open() throws Exception {
        configured = TestServer.database(TABLE);
        shop = TestServer.database(TABLE);
        engine = PostgresEngineContractTest.server(configured, shop);
        applier = engine.openApplier();
        admin = TestServer.connect(configured);
    }

    @AfterEach
    void close() {
        applier.close();
        engine.close();
        admin.close();
    }

    /** The node begins anew. */
    private void again() throws Exception {
        applier.close();
        engine.close();
        engine = PostgresEngineContractTest.server(configured);
        applier = engine.openApplier();
    }

    private static WriteSet insert(long database, long id) {
        byte[] row = ("(" + id + ")").getBytes(java.nio.charset.StandardCharsets.US_ASCII);
        return DatabaseTag.tag(database, new WriteSet(KeySet.EMPTY,
                new Changes.Writer(64).add(new Change.Insert(new TableName("public", "t"), row)).toBytes()));
    }

    private void commit(long position, long database) throws Exception {
        Result<Void> committed = new Result<>();
        applier.applyAndCommit(position, List.of(insert(database, position)), position, committed);
        committed.success();
    }

    private ExecuteResult execute(long position, byte[] statement) throws Exception {
        Result<ExecuteResult> result = new Result<>();
        applier.execute(position, statement, result);
        return result.success();
    }

    private ExecuteResult change(long position, boolean creates, String name) throws Exception {
        return execute(position,
                Statement.database(
                        new DatabaseChange(creates ? DatabaseChange.Kind.CREATE : DatabaseChange.Kind.DROP, name, false,
                                "CREATE DATABASE " + name + " TEMPLATE template0"),
                        TestServer.USER).toBytes());
    }

    private static String rows(String database) throws Exception {
        BackendConnection connection = TestServer.connect(database);
        try {
            return String.valueOf(
                    TestServer.execute(connection, "SELECT string_agg(id::text, ' ' ORDER BY id) FROM t").value());
        } finally {
            connection.close();
        }
    }

    private boolean exists(String database) throws Exception {
        return TestServer.execute(admin, "SELECT 1 FROM pg_database WHERE datname = '" + database + "'")
                .value() != null;
    }

    @Test
    void theHighestPositionOfAnyDatabaseIsTheEngines() throws Exception {
        commit(1, DatabaseTag.CONFIGURED);
        commit(2, SHOP);
        assertEquals(2, EngineContract.position(engine));
        commit(3, DatabaseTag.CONFIGURED);
        assertEquals(3, EngineContract.position(engine));
        again();
        assertEquals(3, EngineContract.position(engine));
        assertEquals("1 3", rows(configured));
        assertEquals("2", rows(shop));
        Result<Long> durable = new Result<>();
        engine.durablePosition(durable);
        assertEquals(3, durable.success());
    }

    @Test
    void aViewShowsAllDatabases() throws Exception {
        commit(1, SHOP);
        try (StateView view = DatabasesView.open(TestServer.loops(), TestServer.reach(configured), engine.made())) {
            List<StateView.Relation> tables = view.tables();
            assertEquals(List.of("pg_catalog.pg_database", "public.t", "\"" + shop + "\".public.t"),
                    tables.stream().map(StateView.Relation::name).toList());
            String database = tables.getFirst().definition().getFirst();
            assertTrue(database.startsWith("database " + shop + " owner " + TestServer.USER + " encoding UTF8"),
                    database);
            assertEquals(0, view.digests(tables.getFirst(), 1, (_, _) -> {}).getFirst().rows());
            assertEquals(0, view.digests(tables.get(1), 1, (_, _) -> {}).getFirst().rows());
            assertEquals(1, view.digests(tables.getLast(), 1, (_, _) -> {}).getFirst().rows());
        }
    }

    @Test
    void aViewShowsWhatIsSetForADatabase() throws Exception {
        TestServer.execute(admin, "ALTER DATABASE " + shop + " SET work_mem = '5MB'");
        try (StateView view = DatabasesView.open(TestServer.loops(), TestServer.reach(configured), engine.made())) {
            List<String> lines = view.tables().getFirst().definition();
            assertEquals(2, lines.size(), lines::toString);
            assertTrue(lines.contains("database " + shop + " setting work_mem=5MB"), lines::toString);
        }
        try (StateView view = DatabasesView.open(TestServer.loops(), TestServer.reach(configured), List.of())) {
            assertEquals(List.of("public.t"), view.tables().stream().map(StateView.Relation::name).toList(),
                    "where there are no others there is nothing to show of them");
        }
    }

    @Test
    void oneTransactionIsOfOneDatabase() {
        assertFalse(engine.together(insert(DatabaseTag.CONFIGURED, 1), insert(SHOP, 2)));
        assertTrue(engine.together(insert(SHOP, 1), insert(SHOP, 2)));
    }

    @Test
    void aDatabaseIsMadeWrittenAndDropped() throws Exception {
        String name = shop + "_new";
        assertTrue(change(10, true, name).tookEffect());
        assertNotNull(engine.member(name));
        execute(11,
                DatabaseTag.tag(10, new Statement(TABLE, TestServer.USER, Map.of("search_path", "public")).toBytes()));
        commit(12, 10);
        assertEquals("12", rows(name));
        assertEquals("42P04", String.valueOf(change(13, true, name).refusal()).replaceAll(".*(42P04).*", "$1"));
        again();
        assertEquals(12, EngineContract.position(engine));
        assertTrue(change(14, false, name).tookEffect());
        assertFalse(exists(name));
        assertNull(engine.member(name));
        assertEquals(14, EngineContract.position(engine));
        assertEquals("3D000", String.valueOf(change(15, false, name).refusal()).replaceAll(".*(3D000).*", "$1"));
        commit(16, 10);
        assertEquals(16, EngineContract.position(engine),
                "what is of a dropped database changes nothing, at its position");
        assertTrue(change(17, true, name).tookEffect());
        commit(18, 10);
        assertEquals(18, EngineContract.position(engine), "nor does it in one that is called the same");
    }

    /** pg_dump --create tells of both. */
    @Test
    void aDatabaseHasNoRightsOrSettingsOfTheNodesRoles() throws Exception {
        String told = "SELECT concat((SELECT datacl FROM pg_database WHERE oid = %1$s), (SELECT string_agg(setconfig::text, '')"
                + " FROM pg_db_role_setting WHERE setdatabase = %1$s))";
        String id = "(SELECT oid FROM pg_database WHERE datname = '" + shop + "')";
        assertEquals("", TestServer.execute(admin, told.formatted(id)).value());
        commit(8, SHOP);
        TestServer.execute(admin, "REVOKE CONNECT ON DATABASE " + shop + " FROM PUBLIC");
        again();
        commit(9, SHOP);
        TestServer.execute(admin, "GRANT CONNECT ON DATABASE " + shop + " TO PUBLIC");
        again();
        commit(10, SHOP);
        assertEquals("8 9 10", rows(shop));
        assertEquals("{=Tc/" + TestServer.USER + "," + TestServer.USER + "=CTc/" + TestServer.USER + "}",
                TestServer.execute(admin, told.formatted(id)).value());
    }

    private ExecuteResult change(long position, DatabaseChange.Kind kind, String sql, String role) throws Exception {
        return execute(position,
                Statement.database(new DatabaseChange(kind, shop, false, sql), role).toBytes());
    }

    @Test
    void aDatabaseIsRenamedWithWhatIsInIt() throws Exception {
        String name = shop + " \"renamed\"";
        commit(8, SHOP);
        BackendConnection client = TestServer.connect(shop);
        assertTrue(change(9, DatabaseChange.Kind.RENAME, name, TestServer.USER).tookEffect());
        client.closed().get(20, java.util.concurrent.TimeUnit.SECONDS);
        assertNull(engine.member(shop));
        assertNotNull(engine.member(name));
        assertEquals(9, EngineContract.position(engine));
        commit(10, SHOP);
        assertEquals("8 10", rows(name));
        again();
        assertEquals(10, EngineContract.position(engine));
        commit(11, SHOP);
        assertEquals("8 10 11", rows(name));
        assertEquals("3D000", sqlState(change(12, DatabaseChange.Kind.RENAME, "other", TestServer.USER)));
    }

    /** Rows of a database that this node could not open again are not passed over. */
    @Test
    void aDatabaseThatIsNotOpenAfterItsRenamingIsNotTakenForDropped() throws Exception {
        applier.close();
        engine.close();
        PostgresEngine first = PostgresEngine.open(TestServer.loops(), TestServer.reach(configured),
                TestServer.settings(0));
        AtomicBoolean fails = new AtomicBoolean();
        engine = new ServerEngine(TestServer.loops(), TestServer.reach(configured), first, (settings, beside) -> {
            if (fails.get()) {
                throw new IOException("no connection is left");
            }
            return PostgresEngine.open(TestServer.loops(), settings, TestServer.settings(0), beside);
        });
        AtomicBoolean lost = new AtomicBoolean();
        engine.onLost(() -> lost.set(true));
        applier = engine.openApplier();
        commit(8, SHOP);
        fails.set(true);
        Result<ExecuteResult> renamed = new Result<>();
        applier.execute(9,
                Statement.database(new DatabaseChange(DatabaseChange.Kind.RENAME, shop, false, shop + "_renamed"),
                        TestServer.USER).toBytes(),
                renamed);
        renamed.failure();
        assertTrue(lost.get(), "the node begins anew");
        Result<Void> passedOver = new Result<>();
        applier.applyAndCommit(10, List.of(insert(SHOP, 10)), 10, passedOver);
        assertTrue(passedOver.failure().isTrouble());
        again();
        assertEquals(9, EngineContract.position(engine));
        commit(10, SHOP);
        assertEquals("8 10", rows(shop + "_renamed"));
    }

    /** The node's server had gone down in the middle, and the others could not execute it. */
    @Test
    void whatWasBegunAndLeftOutKeepsNoNameFromOthers() throws Exception {
        String name = "begun_" + shop;
        TestServer.execute(admin, "INSERT INTO tutti.databases VALUES (8, '" + name + "', 'making')");
        TestServer.execute(admin, "CREATE DATABASE " + name);
        again();
        Result<ExecuteResult> skipped = new Result<>();
        applier.skip(8, new EngineFailure("42501", "the others could not execute it", false), skipped);
        skipped.success();
        assertNull(change(9, true, name).refusal());
        assertNotNull(engine.member(name));
        assertTrue(change(10, false, name).tookEffect());
    }

    private static String sqlState(ExecuteResult result) {
        return java.util.Objects.requireNonNull(result.refusal()).sqlState();
    }

    @Test
    void whoMayNotOrANameThatIsTakenLeavesADatabaseAsItIs() throws Exception {
        String role = "r" + shop;
        TestServer.execute(admin, "CREATE ROLE " + role);
        assertEquals("42P04", sqlState(change(9, DatabaseChange.Kind.RENAME, configured, TestServer.USER)));
        assertEquals("42501", sqlState(change(9, DatabaseChange.Kind.RENAME, "other", role)));
        assertEquals("42501",
                sqlState(change(9, DatabaseChange.Kind.ALTER, "ALTER DATABASE " + shop + " SET work_mem = 64", role)));
        assertTrue(change(10, DatabaseChange.Kind.ALTER, "ALTER DATABASE " + shop + " OWNER TO " + role + " -- now\n",
                TestServer.USER).tookEffect());
        assertEquals("42501", sqlState(change(11, DatabaseChange.Kind.RENAME, "other", role)), "who may make none");
        assertTrue(change(11, DatabaseChange.Kind.ALTER, "ALTER DATABASE " + shop + " SET work_mem = 64", role)
                .tookEffect());
        assertEquals(11, EngineContract.position(engine));
        commit(12, SHOP);
        assertEquals("12", rows(shop));
    }

    @Test
    void aDatabaseWithPreparedTransactionsIsNotDropped() throws Exception {
        BackendConnection there = TestServer.connect(shop);
        try {
            TestServer.execute(there, "INSERT INTO tutti.prepared (identifier, owner, since, token, keys, changes)"
                    + " VALUES ('transfer', 'ann', now(), 'token', '', '')");
            assertEquals("55006", String.valueOf(change(10, false, shop).refusal()).replaceAll(".*(55006).*", "$1"));
            assertTrue(exists(shop));
            TestServer.execute(there, "DELETE FROM tutti.prepared");
        } finally {
            there.close();
        }
        assertTrue(change(11, false, shop).tookEffect());
    }

    private EngineFailure notPlaced(String... tables) throws Exception {
        Result<PlacementPlan> prepared = new Result<>();
        engine.preparePlacement(List.of(tables), Set.of(1, 2), prepared);
        return prepared.failure();
    }

    private PlacementPlan placed(String table, Set<Integer> keepers) throws Exception {
        Result<PlacementPlan> prepared = new Result<>();
        engine.preparePlacement(List.of(table), keepers, prepared);
        return prepared.success();
    }

    @Test
    void tablesOfAnyDatabaseArePlacedThere() throws Exception {
        commit(9, SHOP);
        commit(10, DatabaseTag.CONFIGURED);
        PlacementPlan plan = placed(shop + ".public.t", Set.of(1, 2));
        assertEquals(Set.of('"' + shop + "\".public.t"), plan.tables().keySet());
        assertEquals(engine.changedTables(insert(SHOP, 1)), Set.copyOf(plan.tables().values()));
        assertEquals(plan.tables(), placed(plan.tables().firstKey(), Set.of(1, 2)).tables());
        assertEquals("public.t", placed(configured + ".public.t", Set.of(1, 2)).tables().firstKey());
        assertEquals(engine.changedTables(insert(DatabaseTag.CONFIGURED, 1)),
                Set.copyOf(placed("t", Set.of(1, 2)).tables().values()));
        assertEquals("0A000", notPlaced("t", shop + ".public.t").sqlState());
        assertEquals("3D000", notPlaced("nowhere.public.t").sqlState());
        assertEquals("42601", notPlaced("one.of.four.parts").sqlState());

        assertTrue(execute(11, plan.statement()).tookEffect());
        commit(12, SHOP);
        commit(13, DatabaseTag.CONFIGURED);
        assertEquals("10 13", rows(configured));
        BackendConnection there = TestServer.connect(shop);
        try {
            assertEquals("0", TestServer.execute(there, "SELECT pg_relation_size('t')").value());
        } finally {
            there.close();
        }
        assertEquals("55006", sqlState(change(14, false, shop)));
        assertEquals("55006", sqlState(change(14, DatabaseChange.Kind.RENAME, "other", TestServer.USER)));
        assertTrue(execute(14, DatabaseTag.tag(SHOP, new Statement("DROP TABLE t", TestServer.USER,
                Map.of("search_path", "public")).toBytes())).tookEffect());
        byte[] forgets = placed(shop + ".public.t", Set.of()).statement();
        assertTrue(execute(15, forgets).tookEffect());
        assertTrue(change(16, false, shop).tookEffect());
        assertEquals("3D000", sqlState(execute(17, plan.statement())), "its request came before, and it after");
    }

    /** They are told at the start of a session, before what the owner has set for all roles there. */
    @Test
    void settingsOfADatabaseDoNotKeepTheNodeOut() throws Exception {
        TestServer.execute(admin, "ALTER ROLE ALL IN DATABASE " + shop
                + " SET restrict_nonsystem_relation_kind = 'view, foreign-table'");
        TestServer.execute(admin, "ALTER ROLE ALL IN DATABASE " + shop + " SET exit_on_error = on");
        TestServer.execute(admin, "ALTER ROLE ALL IN DATABASE " + shop + " SET plpgsql.extra_errors = 'all'");
        TestServer.execute(admin,
                "DO $$ BEGIN IF to_regrole('nobody') IS NULL THEN CREATE ROLE nobody; END IF; END $$");
        TestServer.execute(admin, "ALTER DATABASE " + shop + " SET session_authorization = 'nobody'");
        TestServer.execute(admin, "ALTER DATABASE " + shop + " SET role = 'nobody'");
        again();
        assertNotNull(engine.member(shop));
        byte[] made = DatabaseTag.tag(SHOP,
                new Statement(TABLE, TestServer.USER, Map.of("search_path", "public")).toBytes());
        assertFalse(execute(10, made).tookEffect(), "the table is there: the statement's error ends no session");
        commit(11, SHOP);
        TestServer.execute(admin, "ALTER DATABASE " + shop + " RESET ALL");
        assertEquals("11", rows(shop));
    }

    @Test
    void whatWasBegunIsBegunAgainAfterACrash() throws Exception {
        String name = shop + "_half";
        TestServer.execute(admin, "INSERT INTO tutti.databases VALUES (20, '" + name + "', 'making')");
        TestServer.execute(admin, "CREATE DATABASE " + name);
        commit(19, SHOP);
        TestServer.execute(admin, "UPDATE tutti.databases SET state = 'dropping' WHERE name = '" + shop + "';"
                + " INSERT INTO tutti.applied VALUES (19)");
        again();
        assertEquals(19, EngineContract.position(engine), "recorded before the database goes");
        assertNull(engine.member(name));
        assertNull(engine.member(shop));
        assertTrue(change(20, true, name).tookEffect());
        assertNotNull(engine.member(name));
        TestServer.execute(admin, "DROP DATABASE " + shop + " WITH (FORCE)");
        assertTrue(change(21, false, shop).tookEffect());
        assertEquals(21, EngineContract.position(engine));
        assertEquals("0",
                TestServer.execute(admin, "SELECT count(*) FROM tutti.databases WHERE name = '" + shop + "'").value());
    }
}
