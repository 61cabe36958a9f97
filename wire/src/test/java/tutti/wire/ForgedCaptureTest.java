package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoopGroup;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.BackendSettings.Credentials;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.pgwire.PostgresException;
import tutti.pgwire.ResponseHandler;
import tutti.pgwire.TestServer;
import tutti.pgwire.Transport;

/**
 * A role with no rights but to a schema of its own tries to have something replicated that it did not do, or something not
 * replicated that it did.
 */
@Timeout(90)
class ForgedCaptureTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final EventLoopGroup LOOPS = Transport.eventLoops(2, "forged-capture-test");
    private static final ScriptedNode NODE = new ScriptedNode();
    private static TestServer server;
    private static PostgresEngine engine;
    private static PostgresFrontEnd frontEnd;
    private static InetSocketAddress address;
    private static BackendConnection admin;
    private static BackendConnection mallory;

    @BeforeAll
    static void start() throws Exception {
        server = TestServer.start("max_replication_slots=10");
        admin = connect(server.settings());
        NODE.admin = admin;
        admin.execute("""
                CREATE ROLE mallory LOGIN PASSWORD 'sesame';
                CREATE ROLE clerk LOGIN PASSWORD 'sesame' IN ROLE pg_read_all_data, pg_write_all_data;
                CREATE TABLE public.account (id int PRIMARY KEY, balance int);
                INSERT INTO account VALUES (1, 100);
                CREATE SCHEMA evil AUTHORIZATION mallory;
                SET ROLE mallory;
                CREATE TABLE evil.mine (id int PRIMARY KEY, word text UNIQUE);
                CREATE FUNCTION evil.call(asked text) RETURNS text LANGUAGE plpgsql AS $$
                    DECLARE answer text;
                    BEGIN EXECUTE asked INTO answer; RETURN answer; END $$;
                CREATE TABLE evil.orders (asked text PRIMARY KEY);
                CREATE SEQUENCE evil.count;
                CREATE TABLE evil.columns (pl int, pgsql int);
                CREATE FUNCTION evil.late() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN EXECUTE NEW.asked; RETURN NULL; END $$;
                CREATE CONSTRAINT TRIGGER late AFTER INSERT ON evil.orders DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW EXECUTE FUNCTION evil.late();
                CREATE TABLE evil.forced (id int PRIMARY KEY);
                CREATE FUNCTION evil.shout() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN RAISE EXCEPTION 'mallory is %', current_user; END $$;
                CREATE TRIGGER shouts BEFORE INSERT OR UPDATE OR DELETE ON evil.forced EXECUTE FUNCTION evil.shout();
                ALTER TABLE evil.forced FORCE ROW LEVEL SECURITY;
                CREATE FUNCTION evil.refuse(who text) RETURNS boolean LANGUAGE plpgsql AS $$
                    BEGIN
                        IF current_user <> 'mallory' THEN
                            RAISE EXCEPTION 'mallory is %', current_user;
                        END IF;
                        RETURN true;
                    END $$;
                CREATE FUNCTION evil.equal(a text, b text) RETURNS boolean LANGUAGE plpgsql AS $$
                    BEGIN PERFORM evil.refuse(''); RETURN true; END $$;
                CREATE FUNCTION evil.concat(VARIADIC parts text[]) RETURNS text LANGUAGE sql AS $$
                    SELECT 'forged' WHERE evil.refuse('') $$;
                CREATE FUNCTION evil.current_setting(name text) RETURNS text LANGUAGE sql AS $$
                    SELECT 'forged' WHERE evil.refuse('') $$;
                GRANT USAGE ON SCHEMA evil TO clerk;
                CREATE FUNCTION evil.forge() RETURNS void LANGUAGE plpgsql AS $$
                    DECLARE name text := current_setting('session_preload_libraries');
                    BEGIN
                        IF name <> '' THEN
                            PERFORM set_config('evil.seen', name, false);
                        END IF;
                        IF name LIKE 'tutti.%' THEN
                            PERFORM set_config(name, 'i16384(1,forged)', true);
                        END IF;
                        INSERT INTO evil.mine VALUES (2, 'two');
                        TRUNCATE evil.columns;
                        PERFORM pg_notify('told', 'three');
                        INSERT INTO evil.mine VALUES (4, repeat('four', 1200));
                        UPDATE evil.mine SET word = 'five' WHERE id = 1;
                    END $$;
                CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.equal);
                CREATE OPERATOR evil.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.equal);
                CREATE OPERATOR evil.> (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.equal);
                CREATE DOMAIN evil.text AS pg_catalog.text CHECK (evil.refuse(value));
                RESET ROLE""", PATIENCE);
        engine = PostgresEngine.open(LOOPS, server.settings(),
                new CaptureInstaller.Settings(0, 16, "cluster secret", 1 << 20));
        frontEnd = new PostgresFrontEnd(
                FrontEndSettings.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), server.settings()),
                NODE,
                new EngineCapture(engine::catalog, engine::references, engine::inBandTables, engine::refreshCatalog,
                        engine.promises()::of, engine::leavesOut,
                        engine.functions(),
                        "cluster secret".getBytes(StandardCharsets.UTF_8)),
                (_, _) -> () -> {}, LOOPS);
        address = frontEnd.start();
    }

    @AfterAll
    static void stop() throws Exception {
        frontEnd.close();
        engine.close();
        admin.close();
        NODE.close();
        LOOPS.shutdownGracefully(0, 5, TimeUnit.SECONDS).awaitUninterruptibly();
        server.close();
    }

    @BeforeEach
    void reset() throws Exception {
        admin.execute("ROLLBACK", PATIENCE);
        if (mallory != null) {
            mallory.close();
        }
        NODE.reset();
        NODE.forget();
        admin.execute(
                "SET session_replication_role = replica; TRUNCATE evil.mine, evil.orders; RESET session_replication_role",
                PATIENCE);
        mallory = connect(BackendSettings.of(address, "mallory", "postgres", new Credentials.Password("sesame")));
    }

    private static BackendConnection connect(BackendSettings settings) throws Exception {
        return BackendConnection.connect(LOOPS.next(), settings).get(20, TimeUnit.SECONDS);
    }

    private static String refused(String sql) {
        return assertThrows(PostgresException.class, () -> mallory.execute(sql, PATIENCE), sql).sqlState();
    }

    /** What the node is told of a transaction that inserts one row and does something else. */
    private static String committed(String... more) throws Exception {
        mallory.execute("BEGIN", PATIENCE);
        mallory.execute("INSERT INTO evil.mine VALUES (1, 'one')", PATIENCE);
        for (String sql : more) {
            mallory.execute(sql, PATIENCE);
        }
        mallory.execute("COMMIT", PATIENCE);
        List<String> committed = NODE.drainCommitted();
        assertEquals(1, committed.size(), committed.toString());
        admin.execute("SET session_replication_role = replica; TRUNCATE evil.mine; RESET session_replication_role",
                PATIENCE);
        return committed.getFirst();
    }

    @Test
    void variablesDecideNothing() throws Exception {
        String honest = committed();
        for (String name : List.of("g1", "g2", "text", "held", "bytes", "statement", "g00000000000000ab_1",
                "adopting")) {
            for (String value : List.of("tutti.g1", "allowed", "on", "i16384(1,forged)")) {
                assertEquals(honest, committed("SELECT set_config('tutti." + name + "', '" + value + "', true)"));
            }
        }
    }

    @Test
    void whatTheNodeBelievesCannotBeReadOrWritten() {
        for (String sql : List.of("SET session_preload_libraries = 'tutti allowed'", "SHOW session_preload_libraries",
                "SELECT set_config('session_preload_libraries', 'tutti allowed', true)",
                "SELECT evil.call('SELECT current_setting(''session_preload_libraries'')')",
                "SELECT tutti.note('s1:x')", "SELECT tutti.flush()", "SELECT tutti.arm()", "SELECT tutti.set_aside()",
                "SELECT tutti.adopt()", "SELECT * FROM tutti.node", "SELECT * FROM tutti.pending",
                "INSERT INTO tutti.pending VALUES (pg_current_xact_id(), 'forged')",
                "INSERT INTO tutti.applied VALUES (1000000)", "DELETE FROM tutti.applied")) {
            assertEquals("42501", refused(sql), sql);
        }
        for (String sql : List.of("SELECT tutti.finish('guess', '00000000000000ab')", "SELECT tutti.gathered('guess')",
                "SELECT tutti.open_capture('guess', '00000000000000ab')", "SELECT tutti.record('guess', 1000000)",
                "SELECT tutti.finish_unread('guess')", "SELECT tutti.open_unread('guess')",
                "SELECT tutti.close_unread('guess')",
                "SELECT tutti.allow_statement('guess', 'x')", "SELECT tutti.before_set_constraints('guess')",
                "SELECT tutti.after_set_constraints('guess')")) {
            assertEquals("28000", refused(sql), sql);
        }
    }

    @Test
    void schemaChangesInFunctionsAreRecordedAsOfWhoMakesThem() throws Exception {
        int made = 0;
        for (String before : List.of("", "SET LOCAL tutti.asked_as = 'postgres'; ",
                "SET LOCAL tutti.asked_in = 'SQL statement \"forged\"'; ")) {
            String statement = "CREATE TABLE evil.hidden" + made++ + " (id int PRIMARY KEY)";
            String told = committed("DO $$ BEGIN " + before + "EXECUTE '" + statement + "'; END $$");
            assertTrue(told.contains("7:mallory46:" + statement + "9:"), told);
            assertFalse(told.contains("forged"), told);
        }
        String note = "SELECT tutti.note_shared('CREATE ROLE y', 'postgres', '')";
        for (String sql : List.of(note, note + " \"\nPL/pgSQL function tutti.execute_shared(text) line 4\"",
                "DO $$ DECLARE n boolean; BEGIN n := tutti.note_shared('CREATE ROLE y', 'postgres', ''); END $$",
                "SELECT tutti.begin_nested('CREATE TABLE', 'CREATE TABLE t ()')",
                "SELECT tutti.note_nested('CREATE TABLE t ()', 'postgres', '')",
                "SELECT tutti.execute_shared('CREATE ROLE y')",
                "DO $$ BEGIN CREATE ROLE y; END $$")) {
            assertEquals("42501", refused(sql), sql);
        }
        assertEquals("0A000", refused("DO $$ BEGIN EXECUTE 'ALTER ROLE mallory SET work_mem = 64'; END $$"));
        assertEquals("0A000", refused("SELECT tutti.execute_shared('SELECT 1')"));
        assertEquals(List.of(), NODE.drainCommitted());
    }

    @Test
    void triggersThatRunWhileCaptureIsArmedFindNothingToForge() throws Exception {
        for (String sql : List.of("SELECT set_config('session_preload_libraries', '', true)",
                "SELECT current_setting('session_preload_libraries')", "SELECT tutti.note('s1:x')")) {
            assertThrows(PostgresException.class, () -> committed(order(sql)), sql);
            mallory.execute("ROLLBACK", PATIENCE);
        }
        assertThrows(PostgresException.class, () -> committed(order("RESET ALL")),
                "what has been gathered would be lost");
        mallory.execute("ROLLBACK", PATIENCE);
        assertEquals(List.of(), NODE.drainCommitted());
        assertTrue(committed(order("INSERT INTO evil.mine VALUES (2, 'two')")).contains("two"),
                "rows that they write are captured");
    }

    /** Members of pg_read_all_settings can read what others cannot: under which name rows are gathered. */
    @Test
    void whoReadsAllSettingsFindsNoNameToForgeUnder() throws Exception {
        admin.execute("GRANT pg_monitor TO clerk; GRANT clerk TO mallory; SELECT tutti.adopt()", PATIENCE);
        try {
            NODE.drainCommitted();
            for (String end : List.of("SELECT 1", "SET CONSTRAINTS ALL IMMEDIATE",
                    "SET CONSTRAINTS evil.late IMMEDIATE")) {
                String told = committed(order("SELECT evil.forge() -- " + end), end, order("SELECT 6 -- " + end));
                assertFalse(told.contains("forged"), told);
                for (String part : List.of("one", "two", "told", "fourfour", "five", "SELECT 6")) {
                    assertTrue(told.contains(part), part + " in " + told);
                }
                assertTrue(String.valueOf(mallory.execute("SELECT current_setting('evil.seen')", PATIENCE).value())
                        .startsWith("tutti aw"));
            }
            assertEquals("55000", assertThrows(PostgresException.class,
                    () -> committed(order("SET CONSTRAINTS evil.late DEFERRED; " + order("SELECT evil.forge()"))),
                    "what is deferred once more would change rows when all has been gathered").sqlState());
            mallory.execute("ROLLBACK", PATIENCE);
            assertTrue(committed(order("SELECT pg_notify('a', 'b')")).matches("(?s).*one.*a.*b.*"));
        } finally {
            admin.execute("REVOKE clerk FROM mallory; REVOKE pg_monitor FROM clerk; SELECT tutti.adopt()", PATIENCE);
        }
    }

    /** It decides whom a role is given to that somebody makes who is no superuser. */
    @Test
    void whatRolesAreGivenToIsTold() throws Exception {
        String told = committed("SET createrole_self_grant = 'set'",
                "DO $$ BEGIN CREATE TABLE evil.granted (id int PRIMARY KEY); END $$");
        assertTrue(told.contains("21:createrole_self_grant3:set"), told);
    }

    /** The node's triggers belong to the table, and so to its owner, who can drop them where no statement of his names them. */
    @Test
    void triggersOfTheNodeComeBack() throws Exception {
        for (String name : List.of("insert", "truncate")) {
            String told = committed(
                    "DO $$ BEGIN EXECUTE 'DROP TRIGGER tutti_" + name + " ON evil.mine'; END $$",
                    "TRUNCATE evil.mine", "INSERT INTO evil.mine VALUES (3, 'three')");
            assertTrue(told.matches("(?s).*DROP TRIGGER.*content.?t.*three.*"), told);
        }
    }

    private static String order(String sql) {
        return "INSERT INTO evil.orders VALUES ('" + sql.replace("'", "''") + "')";
    }

    @Test
    void whatIsGatheredBeforeTheEndSurvivesAReset() throws Exception {
        String changes = committed("TRUNCATE evil.orders", "DO $$ BEGIN EXECUTE 'RESET ALL'; END $$");
        assertTrue(changes.contains("one"), changes);
    }

    @Test
    void preparedStatementsCannotTakeThePlaceOfTheNodes() throws Exception {
        String honest = committed();
        for (String name : List.of("begin", "close", "before", "commit", "rollback", "settings", "allow", "once",
                "catalog")) {
            mallory.execute("PREPARE tutti_" + name + " AS SELECT evil.call('SELECT ''forged''')", PATIENCE);
        }
        assertEquals(honest, committed());
        mallory.execute("DEALLOCATE ALL", PATIENCE);
        String list = "SELECT (SELECT count(*) FROM pg_prepared_statements) + (SELECT count(*) FROM pg_cursors WHERE name <> '')";
        mallory.execute("INSERT INTO evil.mine VALUES (1, 'one')", PATIENCE);
        assertEquals("0", mallory.execute(list, PATIENCE).value(), "there is nothing to redefine");
    }

    @Test
    void namesThatShadowTheServersOwnAreNotUsed() throws Exception {
        String honest = committed("UPDATE evil.mine SET word = 'two'", "DELETE FROM evil.mine");
        mallory.execute("SET search_path = evil, pg_catalog", PATIENCE);
        assertEquals(honest, committed("UPDATE evil.mine SET word = 'two'", "DELETE FROM evil.mine"));
    }

    @Test
    void aSchemaChangeHasTheRoleThatMadeIt() throws Exception {
        mallory.execute("SET search_path = evil, pg_catalog", PATIENCE);
        mallory.execute("PREPARE tutti_settings AS SELECT 'postgres'", PATIENCE);
        String changes = committed("CREATE TABLE evil.made (id int PRIMARY KEY, word pg_catalog.text)",
                "INSERT INTO evil.made VALUES (1, 'x')");
        assertTrue(changes.contains("7:mallory"), changes);
        assertFalse(changes.contains("forged"), changes);
    }

    /** Each of these, said by a superuser, is refused at once, in both protocols. */
    @Test
    void replicationCannotBeSwitchedOff() throws Exception {
        BackendConnection root = connect(superuser(Map.of()));
        for (String sql : List.of("SET session_replication_role = replica",
                "SET \"Session_Replication_Role\" TO replica", "SET LOCAL \"session_replication_role\" = 'replica'",
                "SELECT set_config('session_replication_role', 'replica', false)",
                "SELECT pg_catalog.\"set_config\"('SESSION_replication_role', 'replica', true)",
                "ALTER ROLE postgres SET session_replication_role = replica",
                "CREATE FUNCTION public.f() RETURNS int LANGUAGE sql SET session_replication_role = replica AS 'SELECT 1'")) {
            for (boolean extended : List.of(false, true)) {
                assertEquals("0A000", refused(root, sql, extended), sql);
            }
        }
        root.execute("BEGIN; DO $$ BEGIN PERFORM set_config('session_replication_role', 'replica', true); END $$;"
                + " INSERT INTO evil.mine VALUES (5, 'five')", PATIENCE);
        assertEquals("55000", refused(root, "COMMIT", false));
        root.close();
        assertEquals(List.of(), NODE.drainCommitted());
        for (Map<String, String> parameters : List.of(Map.of("session_replication_role", "replica"),
                Map.of("options", "-c session_replication_role=replica"),
                Map.of("options", "--Session-Replication-Role=replica"))) {
            assertEquals("0A000", refusedStart(superuser(parameters)));
        }
    }

    @Test
    void serializableIsNotPromisedInAnyForm() throws Exception {
        for (String sql : List.of("BEGIN ISOLATION LEVEL SERIALIZABLE",
                "SET default_transaction_isolation = 'serializable'",
                "SET \"default_transaction_isolation\" TO SERIALIZABLE",
                "SET default_transaction_isolation TO \"serializable\"",
                "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE",
                "SELECT set_config('transaction_isolation', 'serializable', true)",
                "SELECT set_config('default_transaction_isolation', 'Serializable', false)",
                "ALTER ROLE mallory SET default_transaction_isolation = serializable")) {
            for (boolean extended : List.of(false, true)) {
                assertEquals("0A000", refused(mallory, sql, extended), sql);
            }
        }
        for (Map<String, String> parameters : List.of(Map.of("default_transaction_isolation", "serializable"),
                Map.of("transaction_isolation", "serializable"),
                Map.of("options", "-c default_transaction_isolation=serializable"))) {
            assertEquals("0A000", refusedStart(superuser(parameters)));
        }
        mallory.execute(
                "DO $$ BEGIN PERFORM set_config('default_transaction_isolation', 'serializable', false); END $$",
                PATIENCE);
        mallory.execute("BEGIN", PATIENCE);
        mallory.execute("INSERT INTO evil.mine VALUES (1, 'one')", PATIENCE);
        assertEquals("0A000", refused(mallory, "COMMIT", false));
        assertEquals(List.of(), NODE.drainCommitted());
    }

    @Test
    void theNodesRolesAreReserved() throws Exception {
        BackendConnection root = connect(superuser(Map.of()));
        String applier = engine.functions().name(CaptureInstaller.Role.APPLIER);
        for (String sql : List.of("ALTER ROLE tutti_node PASSWORD 'x'", "ALTER USER \"tutti_node\" NOLOGIN",
                "DROP ROLE " + applier, "ALTER ROLE " + applier + " SUPERUSER", "GRANT " + applier + " TO mallory",
                "GRANT mallory TO " + applier, "CREATE ROLE tutti_node_2", "ALTER ROLE Tutti_Node RENAME TO other",
                "REASSIGN OWNED BY tutti_node TO mallory", "SET ROLE tutti_node",
                "SET SESSION AUTHORIZATION 'x', tutti_node",
                "ALTER TABLE evil.mine OWNER TO " + applier, "DROP SCHEMA IF EXISTS evil, tutti CASCADE",
                "DROP FUNCTION tutti.after_drop() CASCADE", "ALTER SCHEMA \"tutti\" RENAME TO x")) {
            assertEquals("42939", refused(root, sql, false), sql);
        }
        for (String sql : List.of("ALTER FUNCTION tutti.record(bytea, bigint) SECURITY INVOKER",
                "DROP TABLE tutti.applied", "DROP TABLE tutti.applied CASCADE", "CREATE TABLE tutti.mine (id int)",
                "ALTER TABLE tutti.applied DISABLE TRIGGER ALL",
                "ALTER EXTENSION tutti DROP FUNCTION tutti.check_pending()",
                "ALTER EXTENSION tutti ADD TABLE evil.mine")) {
            PostgresException refused = assertThrows(PostgresException.class,
                    () -> admin.execute(
                            "BEGIN; SELECT set_config('session_preload_libraries', 'tutti allowed', true); " + sql,
                            PATIENCE));
            // the server itself drops nothing that is part of an extension
            assertEquals(sql.startsWith("DROP") ? "2BP01" : "42501", refused.sqlState(), sql);
            admin.execute("ROLLBACK", PATIENCE);
        }
        root.close();
        assertEquals("28000", refusedStart(BackendSettings.of(address, applier, "postgres",
                new Credentials.Password(CaptureInstaller.password("cluster secret")))));
    }

    /** The functions that apply a role's rows belong to it, and yet are not its own to change. */
    @Test
    void functionsThatApplyAreOutOfReach() throws Exception {
        String functions = "SELECT string_agg(oid::regprocedure::text, ', ') FROM pg_proc WHERE pronamespace = 'tutti'::regnamespace"
                + " AND proowner = 'mallory'::regrole AND proname LIKE 'apply%'";
        List<String> names = List.of(String.valueOf(admin.execute(functions, PATIENCE).value()).split(", tutti", -1));
        assertTrue(names.size() >= 5, names.toString());
        String name = names.getFirst();
        for (String sql : List.of("ALTER FUNCTION " + name + " SECURITY INVOKER", "DROP FUNCTION " + name,
                "ALTER FUNCTION " + name + " SET role = postgres", "ALTER FUNCTION " + name + " RESET ALL",
                "CREATE OR REPLACE FUNCTION tutti.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'")) {
            PostgresException refused = assertThrows(PostgresException.class,
                    () -> admin.execute("BEGIN; SELECT set_config('session_preload_libraries', 'tutti allowed', true);"
                            + " SET LOCAL ROLE mallory; " + sql, PATIENCE),
                    sql);
            // the server itself drops no part of a table
            assertEquals(sql.startsWith("DROP") ? "2BP01" : "42501", refused.sqlState(), sql);
            admin.execute("ROLLBACK", PATIENCE);
        }
        for (String each : names) {
            String function = each.startsWith("tutti") ? each : "tutti" + each;
            boolean single = function.contains("_one_");
            String call = function.replace("bytea,bytea",
                    "'guess', '" + (single ? "(7,seven)" : "[1:1]={\"(7,seven)\"}") + "'")
                    .replace(",bytea", ", '\\x03'");
            PostgresException refused = assertThrows(PostgresException.class,
                    () -> mallory.execute("SELECT " + call, PATIENCE), call);
            assertTrue(refused.getMessage().contains("should have met 1 rows, the engine says 0"),
                    call + ": " + refused);
        }
    }

    /**
     * Without the secret they write no row, but fire triggers of statements, with the rights of the table's owner, or of the node where its owner may not write
     * all rows.
     */
    @Test
    void functionsThatApplyAreNobodyElsesToCall() throws Exception {
        List<List<String>> functions = List.copyOf(admin.execute(
                "SELECT proname, pronargs, proowner::regrole FROM pg_proc"
                        + " WHERE pronamespace = 'tutti'::regnamespace AND proname LIKE 'apply\\_%' AND prorettype = 'int8'::regtype",
                PATIENCE).rows());
        assertTrue(functions.size() >= 20, functions.toString());
        boolean forced = false;
        for (List<String> function : functions) {
            if (function.get(2).equals("mallory")) {
                continue;
            }
            forced |= function.getFirst()
                    .endsWith("_" + admin.execute("SELECT 'evil.forced'::regclass::oid", PATIENCE).value());
            String call = "SELECT tutti." + function.getFirst() + "('guess', '[1:0]={}'"
                    + (function.get(1).equals("3") ? ", 'x'" : "") + ")";
            assertEquals("42501", refused(call), call);
        }
        assertTrue(forced, "a table of mallory's that the node writes");
        String mine = "tutti.apply_insert_" + admin.execute("SELECT 'evil.mine'::regclass::oid", PATIENCE).value();
        mallory.execute("DO $$ BEGIN EXECUTE 'GRANT EXECUTE ON FUNCTION " + mine + " TO clerk'; END $$", PATIENCE);
        assertEquals("f",
                admin.execute("SELECT has_function_privilege('clerk', '" + mine + "(bytea, bytea)', 'EXECUTE')",
                        PATIENCE).value(),
                "not even by who owns one");
    }

    /** Who may read and write the tables of all is bound by row level security, which the node's tables have. */
    @Test
    void theNodesTablesAreNobodyElsesToReadOrWrite() throws Exception {
        BackendConnection clerk = connect(
                BackendSettings.of(address, "clerk", "postgres", new Credentials.Password("sesame")));
        List<List<String>> tables = List
                .copyOf(admin.execute("SELECT relname FROM pg_class WHERE relnamespace = 'tutti'::regnamespace"
                        + " AND relkind = 'r'", PATIENCE).rows());
        for (List<String> table : tables) {
            String name = "tutti." + table.getFirst();
            if (!name.equals("tutti.placed")) {
                assertEquals("0",
                        clerk.execute("SELECT evil.call('SELECT count(*) FROM " + name + "')", PATIENCE).value(), name);
            }
            assertEquals("0",
                    clerk.execute("WITH gone AS (DELETE FROM " + name + " RETURNING 1) SELECT count(*) FROM gone",
                            PATIENCE).value(),
                    name);
        }
        for (String sql : List.of("INSERT INTO tutti.pending VALUES (pg_current_xact_id(), ''s1:x'')",
                "INSERT INTO tutti.applied VALUES (1000000)",
                "INSERT INTO tutti.placed VALUES (''evil'', ''mine'', ''7'')")) {
            assertEquals("42501", assertThrows(PostgresException.class,
                    () -> clerk.execute("SELECT evil.call('" + sql + "')", PATIENCE), sql).sqlState(), sql);
        }
        clerk.execute("SET row_security = off", PATIENCE);
        assertEquals("7", clerk.execute("SELECT setval('evil.count', 7)", PATIENCE).value(),
                "as in what pg_dump writes");
        clerk.close();
    }

    /** Under their other names nobody would hear of what they do. */
    @Test
    void theServersOwnFunctionsAreOutOfReach() throws Exception {
        for (String sql : List.of("SELECT setval_here('evil.count', 5)", "SELECT setval_here('evil.count', 5, false)",
                "SELECT pg_notify_here('told', 'here')",
                "SELECT evil.call('SELECT pg_catalog.pg_notify_here(''told'', ''here'')')",
                "SELECT lo_create_here(7)")) {
            assertEquals("42501", refused(sql), sql);
        }
        mallory.execute("CREATE TEMPORARY SEQUENCE own", PATIENCE);
        assertEquals("41", mallory.execute("SELECT setval('own', 41)", PATIENCE).value());
        assertEquals("42", mallory.execute("SELECT nextval('own')", PATIENCE).value());
        assertEquals("42", mallory.execute("SELECT setval('own', 42, false)", PATIENCE).value());
        assertEquals("42", mallory.execute("SELECT nextval('own')", PATIENCE).value());
        assertEquals("42809", refused("SELECT setval('evil.mine', 1)"));
        String before = admin.execute("SELECT last_value FROM evil.count", PATIENCE).value();
        mallory.execute("SELECT tutti.setval(9, true) WITHIN GROUP (ORDER BY 'evil.count'::regclass)", PATIENCE);
        assertEquals(before, admin.execute("SELECT last_value FROM evil.count", PATIENCE).value());
    }

    /** debug_print_plan, which every role may set, shows it the plans of our own statements, with values of variables in them. */
    @Test
    void plansTellNothing() throws Exception {
        mallory.execute("SET debug_print_plan = on; SET debug_print_parse = on; SET debug_pretty_print = off;"
                + " SET client_min_messages = debug5", PATIENCE);
        String told = told("BEGIN",
                "INSERT INTO evil.mine SELECT g, repeat('x', 400) || g FROM generate_series(1, 40) g",
                "TRUNCATE evil.orders",
                "INSERT INTO evil.orders VALUES ('SELECT 1'), ('SELECT setval(''evil.count'', 5)')",
                "CREATE SEQUENCE evil.planned",
                "DO $$ BEGIN CREATE TABLE evil.planned_too (id int PRIMARY KEY); END $$",
                "SET CONSTRAINTS ALL IMMEDIATE", "SELECT lo_create(0), pg_notify('a', 'b')", "COMMIT",
                "INSERT INTO evil.mine VALUES (41, 'in band')");
        assertTrue(told.contains("in band"), "plans are told, and read here");
        assertFalse(told.matches("(?s).*tutti\\.[gw][0-9a-z]{8}.*"), "a name of the variables that rows go to");
        assertFalse(told.contains("cluster secret"), "the secret");
    }

    /** Nor where rows are set aside while code of clients' runs, which may switch it on. */
    @Test
    void plansTellNothingBehindCodeThatSwitchesThemOn() throws Exception {
        admin.execute("GRANT pg_monitor TO clerk; SELECT tutti.adopt()", PATIENCE);
        try {
            mallory.execute("SET debug_pretty_print = off; SET client_min_messages = log", PATIENCE);
            String told = told("BEGIN",
                    "INSERT INTO evil.orders VALUES ('SELECT set_config(''debug_print_plan'', ''on'', true)'),"
                            + " ('SELECT setval(''evil.count'', length(''afterwards'') + 5)')",
                    "COMMIT");
            assertTrue(told.contains("plan"), "plans are told, and read here");
            assertFalse(told.matches("(?s).*tutti\\.[gw][0-9a-z]{8}.*"), "a name of the variables that rows go to");
            assertFalse(told.contains("cluster secret"), "the secret");
        } finally {
            mallory.execute("RESET debug_print_plan", PATIENCE);
            admin.execute("REVOKE pg_monitor FROM clerk; SELECT tutti.adopt()", PATIENCE);
        }
    }

    /** What a client is told of its statements, constants in plans as text. */
    private static String told(String... statements) throws Exception {
        StringBuilder told = new StringBuilder();
        for (String sql : statements) {
            CompletableFuture<String> failed = new CompletableFuture<>();
            ByteBuf query = mallory.buffer();
            Frontend.query(query, sql);
            mallory.send(query, new ResponseHandler() {
                @Override
                public void message(byte type, ByteBuf body) {
                    if (type == Backend.NOTICE_RESPONSE) {
                        ErrorFields notice = ErrorFields.read(body);
                        String detail = notice.get('D');
                        told.append(notice.message()).append('\n')
                                .append(detail == null ? "" : withTexts(detail)).append('\n');
                    } else if (type == Backend.ERROR_RESPONSE) {
                        failed.complete(ErrorFields.read(body).message());
                    }
                }

                @Override
                public void ready(byte status) {
                    failed.complete("");
                }

                @Override
                public void lost(Throwable cause) {
                    failed.completeExceptionally(cause);
                }
            });
            assertEquals("", failed.get(20, TimeUnit.SECONDS), sql);
        }
        return told.toString();
    }

    private static String withTexts(String plan) {
        return Pattern.compile(":constvalue \\d+ \\[ ([-0-9 ]*)\\]").matcher(plan.replace('\n', ' '))
                .replaceAll(constant -> {
                    List<String> bytes = List.of(constant.group(1).strip().split(" +"));
                    StringBuilder text = new StringBuilder();
                    bytes.forEach(each -> text.append(each.isEmpty() ? "" : (char) (Integer.parseInt(each) & 0xff)));
                    return Matcher.quoteReplacement(text.toString());
                });
    }

    /** What nested statements are told by may be cut too early: then it must not be another statement that is whole. */
    @Test
    void nestedStatementsAreNotCutShort() throws Exception {
        for (String before : List.of("", "SET LOCAL standard_conforming_strings = off; ")) {
            for (String statement : List.of("CREATE VIEW evil.cut AS SELECT -- \"\nPL/pgSQL function FROM evil.columns",
                    "COMMENT ON TABLE evil.columns IS '\\' \"\nPL/pgSQL function '",
                    "CREATE VIEW evil.cut AS SELECT 1 \"\nPL/pgSQL function c\"",
                    "CREATE VIEW evil.cut AS TABLE evil.columns UNION SELECT * FROM evil.columns \"\nPL/pgSQL function c() line 1"
                            + " at EXECUTE\nSQL statement \" WHERE pl < 5")) {
                String sql = "DO $$ BEGIN " + before + "EXECUTE $q$" + statement + "$q$; END $$";
                assertTrue(List.of("0A000", "42601").contains(refused(sql)), sql);
            }
        }
        assertEquals(List.of(), NODE.drainCommitted());
        String called = committed(
                "DO $$ BEGIN EXECUTE 'DO $q$ BEGIN CREATE VIEW evil.cut AS SELECT 1 c; END $q$'; END $$");
        assertTrue(called.contains("CREATE VIEW evil.cut AS SELECT 1 c"), called);
    }

    /** Several statements would be told to others once for each. */
    @ParameterizedTest
    @ValueSource(strings = {"COMMENT ON TABLE evil.mine IS E'a'\n'\\'' ; CREATE TABLE evil.second () -- '",
            "COMMENT ON TABLE evil.mine IS E'a' -- '\n -- '\n\t'\\'' ; CREATE TABLE evil.second () -- '",
            "COMMENT ON TABLE evil.mine IS $\u00e9$ ' $\u00e9$; CREATE TABLE evil.second () -- '",
            "COMMENT ON COLUMN evil.columns.\u3000$$ IS 'x'; CREATE TABLE evil.second () -- $$",
            "COMMENT ON COLUMN evil.columns.\u00e9$$ IS 'x'; CREATE TABLE evil.second () -- $$"})
    void nestedStatementsAreTakenOneByOne(String statement) throws Exception {
        mallory.execute("BEGIN", PATIENCE);
        mallory.execute(
                "ALTER TABLE evil.columns ADD IF NOT EXISTS \"\u00e9$$\" int, ADD IF NOT EXISTS \"\u3000$$\" int",
                PATIENCE);
        assertEquals("0A000", refused("DO $q$ BEGIN EXECUTE $r$" + statement + "$r$; END $q$"));
        mallory.execute("ROLLBACK", PATIENCE);
    }

    @Test
    void reservedNamesAreKnownInFunctionsHoweverTheyAreWritten() {
        for (String sql : List.of("CREATE POLICY p ON evil.mine TO U&\"tutti\\005fapplier_5\"",
                "GRANT SELECT ON evil.mine TO u&\"tutti!005fnode\" UESCAPE ''!''")) {
            assertEquals("0A000", refused("DO $$ BEGIN EXECUTE '" + sql + "'; END $$"), sql);
        }
    }

    /** Names are then told in quotation marks. */
    @Test
    void schemaChangesDoNotDependOnHowNamesAreTold() throws Exception {
        mallory.execute("SET quote_all_identifiers = on", PATIENCE);
        for (String sql : List.of("CREATE TABLE evil.quoted (id int PRIMARY KEY, word text)",
                "INSERT INTO evil.quoted VALUES (1, 'a')", "ALTER TABLE evil.quoted ADD second int",
                "DO $$ BEGIN ALTER TABLE evil.quoted ADD third int; END $$", "TRUNCATE evil.quoted",
                "DROP TABLE evil.quoted")) {
            assertFalse(committed(sql).isEmpty(), sql);
        }
    }

    /** Literals of our functions mean the same under this setting. */
    @Test
    void schemaChangesDoNotDependOnHowStringsAreRead() throws Exception {
        mallory.execute("SET standard_conforming_strings = off", PATIENCE);
        for (String sql : List.of("CREATE TABLE evil.read (id int PRIMARY KEY)", "ALTER TABLE evil.read ADD word text",
                "DO $$ BEGIN ALTER TABLE evil.read ADD second text; END $$", "DROP TABLE evil.read")) {
            assertFalse(committed(sql).isEmpty(), sql);
        }
    }

    @Test
    void triggersAndCatalogsAreOutOfASuperusersReach() throws Exception {
        BackendConnection root = connect(superuser(Map.of()));
        for (String sql : List.of("DROP EVENT TRIGGER tutti_asked", "ALTER EVENT TRIGGER tutti_after_drop DISABLE",
                "ALTER EVENT TRIGGER \"tutti_before_rewrite\" OWNER TO mallory",
                "CREATE EVENT TRIGGER tutti_b ON ddl_command_start EXECUTE FUNCTION evil.late()",
                "ALTER TRIGGER tutti_insert ON evil.mine RENAME TO mine",
                "DROP TRIGGER IF EXISTS tutti_update ON evil.mine",
                "ALTER TABLE evil.mine DISABLE TRIGGER tutti_delete",
                "ALTER TABLE evil.mine RENAME CONSTRAINT tutti_insert TO mine",
                "GRANT ALL ON SCHEMA tutti TO PUBLIC", "GRANT SELECT ON tutti.node TO mallory",
                "REVOKE USAGE ON SCHEMA public, tutti FROM PUBLIC",
                "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA tutti FROM PUBLIC")) {
            assertEquals("42939", refused(root, sql, false), sql);
        }
        for (String sql : List.of("UPDATE pg_attribute SET atttypmod = 10", "DELETE FROM pg_catalog.pg_proc",
                "INSERT INTO pg_authid VALUES (1)",
                "UPDATE pg_authid SET rolpassword = NULL WHERE rolname = 'tut'\n'ti_node'",
                "UPDATE pg_authid SET rolpassword = NULL WHERE rolname = 'mallory' OR true",
                "UPDATE pg_authid SET rolsuper = true WHERE rolname = 'mallory'",
                "MERGE INTO ONLY pg_enum USING pg_class ON true WHEN MATCHED THEN DELETE",
                "UPDATE \"pg_index\" SET indisvalid = false", "COPY pg_largeobject FROM STDIN",
                "DELETE FROM tutti.applied", "TRUNCATE TABLE tutti.sequences")) {
            for (boolean extended : List.of(false, true)) {
                assertEquals("42501", refused(root, sql, extended), sql);
            }
        }
        root.execute("BEGIN", PATIENCE);
        root.execute(
                "CREATE ROLE tutti; GRANT USAGE ON SCHEMA public TO tutti; REVOKE USAGE ON SCHEMA public FROM tutti;"
                        + " CREATE SCHEMA theirs; ALTER SCHEMA theirs OWNER TO tutti; CREATE TABLE theirs.tutti (pg_class int PRIMARY KEY)",
                PATIENCE);
        root.execute("UPDATE theirs.tutti SET pg_class = 1", PATIENCE);
        root.execute("ROLLBACK", PATIENCE);
        root.close();
        for (String sql : List.of(
                "CREATE TRIGGER again AFTER INSERT ON evil.mine FOR EACH ROW EXECUTE FUNCTION tutti.capture_insert()",
                "ALTER TRIGGER tutti_insert ON evil.mine RENAME TO again",
                "ALTER TABLE evil.mine RENAME CONSTRAINT tutti_insert TO again")) {
            PostgresException refused = assertThrows(PostgresException.class, () -> admin.execute(
                    "BEGIN; SELECT set_config('session_preload_libraries', 'tutti allowed', true); " + sql, PATIENCE),
                    sql);
            assertEquals("42939", refused.sqlState(), sql);
            admin.execute("ROLLBACK", PATIENCE);
        }
    }

    private static BackendSettings superuser(Map<String, String> parameters) {
        return BackendSettings
                .of(address, TestServer.SUPERUSER, "postgres", new Credentials.Password(TestServer.PASSWORD))
                .withParameters(parameters);
    }

    private static String refused(BackendConnection connection, String sql, boolean extended) throws Exception {
        if (!extended) {
            return assertThrows(PostgresException.class, () -> connection.execute(sql, PATIENCE), sql).sqlState();
        }
        CompletableFuture<String> state = new CompletableFuture<>();
        ByteBuf batch = connection.buffer();
        Frontend.statement(batch, sql);
        Frontend.sync(batch);
        connection.send(batch, new ResponseHandler() {
            @Override
            public void message(byte type, ByteBuf body) {
                if (type == Backend.ERROR_RESPONSE) {
                    state.complete(ErrorFields.read(body).sqlState());
                }
            }

            @Override
            public void ready(byte status) {
                state.complete("done");
            }

            @Override
            public void lost(Throwable cause) {
                state.completeExceptionally(cause);
            }
        });
        return state.get(20, TimeUnit.SECONDS);
    }

    private static String refusedStart(BackendSettings settings) {
        ExecutionException failed = assertThrows(ExecutionException.class,
                () -> BackendConnection.connect(LOOPS.next(), settings).get(20, TimeUnit.SECONDS));
        return ((PostgresException) failed.getCause()).sqlState();
    }
}
