package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.engine.EngineContract.Result;
import tutti.engine.postgres.IndexBuilder;
import tutti.engine.postgres.IndexBuilder.Definition;
import tutti.engine.postgres.IndexReports.State;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.engine.postgres.capture.Statement;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.ErrorFields;

/** An index that a node builds beside the order is a cache: what comes of statements and rows is the same with and without it. */
@Timeout(90)
class IndexBuildsTest {
    private static final String HIDDEN = "SELECT name::text FROM tutti.built";
    private static final String INDEXES = "SELECT indexrelid::regclass::text, indisvalid FROM pg_index WHERE indrelid = 'item'::regclass ORDER BY 1";
    private static final String NONE = "[]";
    private static final String PRIMARY = "[[item_pkey, t]]";

    private final BlockingQueue<byte[]> ordered = new LinkedBlockingQueue<>();
    private final BlockingQueue<State> told = new LinkedBlockingQueue<>();
    private final Set<String> heard = new HashSet<>();
    private Pair pair;
    private IndexBuilder builder;

    @BeforeEach
    void begin() throws Exception {
        pair = new Pair("CREATE TABLE item (id int PRIMARY KEY, n int, word text)",
                "INSERT INTO item SELECT i, i, i FROM generate_series(1, 100) i");
        builder = pair.engine.builds();
        builder.reports().sendBy(1, ordered::add);
    }

    @AfterEach
    void end() throws SQLException {
        pair.close();
    }

    private static Statement create(Definition definition) {
        return new Statement("CREATE " + (definition.unique() ? "UNIQUE " : "") + "INDEX " + definition.name() + " ON "
                + definition.table() + definition.rest(), TestServer.USER, Map.of("search_path", "public"));
    }

    private static Definition plain(String rest) {
        return new Definition(false, "by_it", "item", " " + rest);
    }

    private static Definition unique(String rest) {
        return new Definition(true, "by_it", "item", " " + rest);
    }

    private void reach(byte[] statement) throws Exception {
        Result<ExecuteResult> executed = new Result<>();
        pair.applier.execute(++pair.position, statement, executed);
        assertTrue(executed.success().tookEffect());
    }

    private void ask(Definition definition) throws Exception {
        byte[] statement = create(definition).toBytes();
        if (heard.add(builder.build(statement))) {
            builder.reports().listen(builder.build(statement), (node, state) -> {
                assertEquals(1, node);
                told.add(state);
            });
        }
        reach(builder.asking(statement, definition));
        assertEquals(State.BUILDING, hear());
    }

    private State hear() throws Exception {
        while (told.isEmpty()) {
            byte[] report = ordered.poll(60, TimeUnit.SECONDS);
            assertNotNull(report, "nothing is told");
            reach(report);
        }
        return told.remove();
    }

    private void build(Definition definition) throws Exception {
        ask(definition);
        assertEquals(State.BUILT, hear(),
                () -> String.valueOf(builder.failure(builder.build(create(definition).toBytes()))));
    }

    private ErrorFields fail(Definition definition) throws Exception {
        ask(definition);
        assertEquals(State.FAILED, hear());
        return builder.failure(builder.build(create(definition).toBytes()));
    }

    private String rows(String sql) throws Exception {
        return Pair.rows(pair.other, sql).toString();
    }

    @ParameterizedTest
    @ValueSource(strings = {"(n)", "USING btree (n DESC NULLS LAST) INCLUDE (word) WITH (fillfactor = 70)",
            "(lower(word)) WHERE n > 10", "USING hash (word)"})
    void itIsNamedAtItsPosition(String rest) throws Exception {
        build(plain(rest));
        String hidden = rows("SELECT indexrelid FROM tutti.built");
        assertEquals("[[f]]",
                rows("SELECT indisvalid FROM pg_index WHERE indexrelid = (SELECT indexrelid FROM tutti.built)"));
        assertEquals("CREATE INDEX", pair.execute(create(plain(rest))));
        assertEquals(hidden, rows("SELECT 'by_it'::regclass::oid"), "it is the same");
        assertEquals("[[by_it, t], [item_pkey, t]]", rows(INDEXES));
        assertEquals(NONE, rows(HIDDEN));
        String bare = TestServer.database("CREATE TABLE item (id int PRIMARY KEY, n int, word text)",
                "CREATE INDEX by_it ON item " + rest);
        String definition = "SELECT pg_get_indexdef('by_it'::regclass)";
        assertEquals(Pair.rows(bare, definition), Pair.rows(pair.other, definition));
        assertEquals("[[0]]", rows("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tutti index'"
                + " AND datname = current_database()"), "no session is left");
    }

    private String name(String table, String rest) {
        Definition definition = new Definition(false, "", table, " " + rest);
        return builder.name(create(definition).toBytes(), definition).orTimeout(60, TimeUnit.SECONDS).join();
    }

    @ParameterizedTest
    @ValueSource(strings = {"(n)", "(n, word)", "(lower(word), (n + 1), (n + 2)) INCLUDE (n) WHERE n > 1",
            "USING hash (word)", "((word || n))"})
    void oneWithoutANameIsCalledAsTheServerWouldCallIt(String rest) throws Exception {
        String longest = "\"Ein Täbellenname " + "ä".repeat(20) + "\"";
        for (String table : List.of("item", longest, "other.item")) {
            String make = "CREATE TABLE " + table + " (id int PRIMARY KEY, n int, word text)";
            for (String sql : table.equals("item")
                    ? List.<String>of()
                    : List.of("CREATE SCHEMA IF NOT EXISTS other", make)) {
                pair.execute(new Statement(sql, TestServer.USER, Map.of("search_path", "public")));
            }
            for (int taken = 0; taken < 3; taken++) {
                String called = name(table, rest);
                pair.execute(new Statement("CREATE INDEX ON " + table + " " + rest, TestServer.USER,
                        Map.of("search_path", "public")));
                assertEquals("[[" + called + "]]",
                        rows("SELECT relname FROM pg_class WHERE relkind = 'i' AND oid >= 16384"
                                + " ORDER BY oid::bigint DESC LIMIT 1"));
            }
        }
        assertEquals("", name("item", "(nothing)"), "the server is to say what is wrong");
        assertEquals("", name("nothing", rest));
        assertEquals(NONE, rows(HIDDEN));
        assertEquals("[[0]]", rows("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tutti index'"
                + " AND datname = current_database()"), "no session is left");
    }

    @Test
    void aNameThatOneIsToHaveIsTaken() throws Exception {
        for (String sql : List.of("CREATE SCHEMA other", "CREATE TABLE other.item (n int)")) {
            pair.execute(new Statement(sql, TestServer.USER, Map.of("search_path", "public")));
        }
        build(new Definition(false, "item_n_idx", "item", " (n)"));
        assertEquals("item_n_idx1", name("item", "(n)"));
        assertEquals("item_n_idx", name("other.item", "(n)"), "in its schema only");
    }

    @Test
    void aUniqueOneIsAKeyFromItsPositionOnAndNotBefore() throws Exception {
        pair.execute(new Statement("ALTER TABLE item ALTER n SET NOT NULL", TestServer.USER,
                Map.of("search_path", "public")));
        build(unique("(n)"));
        assertEquals(1, pair.engine.catalog().table("public", "item").uniqueKeys().size());
        pair.execute(create(unique("(n)")));
        assertEquals(2, pair.engine.catalog().table("public", "item").uniqueKeys().size());
    }

    @Test
    void itIsNoPartOfWhatNodesCompare() throws Exception {
        BackendConnection connection = TestServer.connect(pair.other);
        String before = CaptureInstaller.schemaDigest(connection);
        build(plain("(n)"));
        assertEquals(before, CaptureInstaller.schemaDigest(connection));
        connection.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"(n)", "((1 / (n - 5000)), id)", "((word::int))"})
    void rowsThatOnlyItRefusesAreWritten(String rest) throws Exception {
        pair.transaction("DELETE FROM item WHERE id = 100");
        build(unique(rest));
        pair.transaction("INSERT INTO item VALUES (200, 1, 'one'), (201, 5000, '1')");
        assertEquals("[[1], [5000]]", rows("SELECT n FROM item WHERE id >= 200 ORDER BY id"));
        assertEquals(State.FAILED, hear());
        assertEquals(PRIMARY, rows(INDEXES));
        assertTrue(List.of("23505", "22012", "22P02").contains(pair.execute(create(unique(rest)))),
                "then it is refused as at a node that has built nothing");
    }

    @Test
    void whatIsNotToBeMadeOfItIsMadeWithoutIt() throws Exception {
        build(plain("(n)"));
        assertEquals("CREATE TABLE", pair.execute(new Statement("CREATE TABLE copied (LIKE item INCLUDING ALL)",
                TestServer.USER, Map.of("search_path", "public"))));
        assertEquals("[[copied_pkey]]",
                rows("SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = 'copied'::regclass"));
        assertEquals(State.FAILED, hear());
        assertEquals("CREATE INDEX", pair.execute(create(plain("(n)"))));
        assertEquals("[[by_it, t], [item_pkey, t]]", rows(INDEXES));
    }

    @Test
    void aSchemaChangeDoesNotWaitForIt() throws Exception {
        try (Connection old = TestServer.jdbc(pair.other)) {
            old.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            old.setAutoCommit(false);
            old.createStatement().execute("SELECT count(*) FROM pg_class");
            ask(plain("(n)"));
            assertEquals("ALTER TABLE", pair.execute(new Statement("ALTER TABLE item ADD COLUMN more int",
                    TestServer.USER, Map.of("search_path", "public"))));
            assertEquals(State.FAILED, hear());
        }
        // and is built anew when somebody asks again
        reach(builder.forgetting(create(plain("(n)")).toBytes()));
        build(plain("(n)"));
        assertEquals("CREATE INDEX", pair.execute(create(plain("(n)"))));
    }

    @Test
    void theLastOfAClientWhoGivesUpIsDropped() throws Exception {
        build(plain("(n)"));
        reach(builder.forgetting(create(plain("(n)")).toBytes()));
        ask(plain("(n)"));
        assertEquals(State.BUILT, hear(), "one of the same name was dropped before");
        pair.execute(create(plain("(n)")));
        assertEquals(NONE, rows(HIDDEN));
    }

    @Test
    void anErrorIsWhatTheServerSaysAndLeavesNothing() throws Exception {
        pair.transaction("UPDATE item SET n = 1 WHERE id = 2");
        ErrorFields error = fail(unique("(n)"));
        assertEquals("23505 could not create unique index \"by_it\" Key (n)=(1) is duplicated.",
                error.sqlState() + " " + error.message() + " " + error.get('D'));
        assertEquals("22012", fail(new Definition(false, "other", "item", " ((1 / (n - 1)))")).sqlState());
        assertEquals(PRIMARY, rows(INDEXES));
        assertNull(builder.built(create(unique("(n)")).toBytes()));
    }

    @Test
    void noneIsBuiltInWhichCodeOfUsersRuns() throws Exception {
        execute("CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END'",
                "CREATE DOMAIN d AS int CHECK (f(VALUE) > 0)");
        for (String rest : List.of("(f(n))", "((n::d))", "(n) WHERE f(n) = 1")) {
            Definition definition = new Definition(false, "by_it", "item", " " + rest);
            assertEquals("55000", fail(definition).sqlState(), rest);
            assertEquals("CREATE INDEX", pair.execute(create(definition)), rest);
            pair.execute(new Statement("DROP INDEX by_it", TestServer.USER, Map.of("search_path", "public")));
        }
    }

    private void execute(String... statements) throws Exception {
        for (String sql : statements) {
            pair.execute(new Statement(sql, TestServer.USER, Map.of("search_path", "public")));
        }
    }

    @Test
    void codeOfUsersThatReadingItCallsHasNoRightsOfTheNode() throws Exception {
        String role = "reader_" + ProcessHandle.current().pid();
        pair.execute(new Statement("CREATE ROLE " + role, TestServer.USER, Map.of()));
        try {
            execute("GRANT CREATE ON SCHEMA public TO " + role, "ALTER TABLE item OWNER TO " + role,
                    "CREATE FUNCTION told(int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN"
                            + " PERFORM set_config('role', 'none', false);"
                            + " RAISE EXCEPTION USING ERRCODE = '22000', MESSAGE = concat('superuser ', current_setting('is_superuser'),"
                            + " ', event triggers ', current_setting('event_triggers')); END $$",
                    "CREATE DOMAIN d AS int CHECK (told(VALUE))");
            Definition definition = plain("(n) WHERE '{1}'::d[] IS NOT NULL");
            byte[] statement = new Statement("CREATE INDEX by_it ON item" + definition.rest(), role,
                    Map.of("search_path", "public")).toBytes();
            builder.reports().listen(builder.build(statement), (_, state) -> told.add(state));
            reach(builder.asking(statement, definition));
            assertEquals(State.BUILDING, hear());
            assertEquals(State.REFUSED, hear());
            String why = builder.failure(builder.build(statement)).message();
            assertTrue(why.contains("superuser off, event triggers off"), why);
            assertEquals(PRIMARY, rows(INDEXES));
        } finally {
            for (String sql : List.of("REASSIGN OWNED BY " + role + " TO CURRENT_USER", "DROP OWNED BY " + role,
                    "DROP ROLE " + role)) {
                pair.execute(new Statement(sql, TestServer.USER, Map.of()));
            }
            assertEquals("[[0]]", rows("SELECT count(*) FROM pg_roles WHERE rolname = '" + role + "'"));
        }
    }

    @Test
    void codeOfUsersCannotHaveAnotherIndexPassForIt() throws Exception {
        execute(
                "CREATE FUNCTION spare(int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN"
                        + " IF to_regclass('pg_temp.tutti_probe') IS NOT NULL THEN"
                        + " CREATE TEMPORARY TABLE mine (n int); CREATE INDEX spare ON pg_temp.mine (n); END IF;"
                        + " RETURN true; END $$",
                "CREATE DOMAIN d AS int CHECK (spare(VALUE))",
                "CREATE FUNCTION rename() RETURNS void LANGUAGE plpgsql AS $$ BEGIN"
                        + " IF to_regclass('pg_temp.tutti_probe_i') IS NOT NULL THEN"
                        + " ALTER INDEX pg_temp.tutti_probe_i RENAME TO other;"
                        + " ALTER INDEX pg_temp.spare RENAME TO tutti_probe_i; END IF; END $$",
                "CREATE FUNCTION one() RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM public.rename(); RETURN 1; END'");
        Definition definition = plain("(n) WHERE n > one() AND '{1}'::d[] IS NOT NULL");
        assertEquals("code of a user's is called in it", fail(definition).message());
        assertEquals(PRIMARY, rows(INDEXES));
    }

    @Test
    void itHasTheRightsOfItsClient() throws Exception {
        String role = "builder_" + ProcessHandle.current().pid();
        Statement made = new Statement("CREATE ROLE " + role, TestServer.USER, Map.of());
        pair.execute(made);
        try {
            Statement statement = new Statement("CREATE INDEX by_it ON item (n)", role,
                    Map.of("search_path", "public"));
            byte[] bytes = statement.toBytes();
            builder.reports().listen(builder.build(bytes), (_, state) -> told.add(state));
            reach(builder.asking(bytes, plain("(n)")));
            assertEquals(State.BUILDING, hear());
            assertEquals(State.FAILED, hear());
            assertEquals("42501", pair.execute(statement));
        } finally {
            pair.execute(new Statement("DROP ROLE " + role, TestServer.USER, Map.of()));
        }
    }

    @Test
    void itMayBeThereUntilItIsDropped() throws Exception {
        build(unique("(n)"));
        try (Connection old = TestServer.jdbc(pair.other)) {
            old.setAutoCommit(false);
            old.createStatement().execute("SELECT count(*) FROM item");
            reach(builder.forgetting(create(unique("(n)")).toBytes()));
            while (rows(
                    "SELECT pid FROM pg_stat_activity WHERE query ~ '^DROP INDEX CONCURRENTLY' AND wait_event_type = 'Lock'"
                            + " AND datname = current_database()")
                    .equals(NONE)) {
                Thread.onSpinWait();
            }
            assertTrue(builder.any(), "it refuses rows");
            old.rollback();
        }
        while (builder.any()) {
            Thread.onSpinWait();
        }
        assertEquals(NONE, rows(HIDDEN));
    }

    @Test
    void aUniqueOneIsNoKeyForClientsOfItsNode() throws Exception {
        pair.execute(new Statement("ALTER TABLE item ALTER n SET NOT NULL", TestServer.USER,
                Map.of("search_path", "public")));
        build(unique("(n)"));
        String hidden = rows(HIDDEN).replaceAll("[\\[\\]]", "");
        refuse(List.of(
                "ALTER TABLE item REPLICA IDENTITY USING INDEX " + hidden,
                "ALTER TABLE item ADD UNIQUE USING INDEX " + hidden, "REINDEX INDEX " + hidden, "REINDEX TABLE item",
                "ALTER TABLE item ALTER word TYPE varchar(9); ALTER TABLE item CLUSTER ON " + hidden,
                "ALTER TABLE item ALTER word TYPE varchar(9); ALTER TABLE item ADD UNIQUE USING INDEX " + hidden));
    }

    @Test
    void anErrorOfItNamesItAsItWillBeCalled() throws Exception {
        build(unique("(n)"));
        String hidden = rows(HIDDEN).replaceAll("[\\[\\]]", "");
        String said = duplicate();
        assertTrue(said.contains(hidden), said);
        assertEquals(said.replace(hidden, "by_it"), builder.named(duplicates(said, hidden)).message());
        assertEquals("by_it", builder.named(duplicates(said, hidden)).get('n'));
        // one that was heard of late
        pair.execute(create(unique("(n)")));
        assertEquals(duplicate(), builder.named(duplicates(said, hidden)).message());
    }

    private String duplicate() throws SQLException {
        try (Connection client = TestServer.jdbc(pair.other)) {
            return assertThrows(SQLException.class,
                    () -> client.createStatement().execute("INSERT INTO item VALUES (300, 1, 'one')")).getMessage();
        }
    }

    private static ErrorFields duplicates(String message, String constraint) {
        return ErrorFields.of("ERROR", "23505", message).with('n', constraint);
    }

    @Test
    void clientsOfItsNodeHaveNothingToDoWithIt() throws Exception {
        build(plain("(n)"));
        String hidden = rows(HIDDEN).replaceAll("[\\[\\]]", "");
        refuse(List.of("ALTER INDEX " + hidden + " RENAME TO mine", "DROP INDEX " + hidden,
                "CREATE TABLE copied (LIKE item INCLUDING INDEXES)",
                "CREATE INDEX tutti_building_0123456789abcdef ON item (word)",
                "CREATE TABLE whole (id int, n int, word text) PARTITION BY RANGE (n);"
                        + " ALTER TABLE item DROP CONSTRAINT item_pkey, ALTER id DROP NOT NULL;"
                        + " ALTER TABLE whole ATTACH PARTITION item DEFAULT; CREATE INDEX ON whole (n)"));
    }

    private void refuse(List<String> statements) throws SQLException {
        try (Connection client = TestServer.jdbc(pair.other)) {
            client.setAutoCommit(false);
            for (String sql : statements) {
                assertEquals("55006", assertThrows(SQLException.class,
                        () -> client.createStatement().execute("DO $do$ BEGIN " + sql + "; END $do$"), sql)
                        .getSQLState(), sql);
                client.rollback();
            }
        }
    }

    @Test
    void oneThatIsLeftIsDroppedWhenTheNodeStarts() throws Exception {
        build(plain("(n)"));
        pair.engine.close();
        try (PostgresEngine again = PostgresEngine.open(TestServer.loops(), TestServer.reach(pair.other),
                TestServer.settings(1))) {
            assertEquals(NONE, rows(HIDDEN));
            assertEquals(PRIMARY, rows(INDEXES));
            assertNotNull(again.builds());
        }
    }
}
