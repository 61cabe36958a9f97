package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract.Result;
import tutti.engine.postgres.LocalSession;
import tutti.engine.postgres.OwnSessions;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.capture.Statement;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.PostgresException;

/**
 * A role without rights has code of its own run where its rows and statements are applied. The code tries what only others may do,
 * notes what worked, and leaves the session as unpleasant as it can.
 */
@Timeout(120)
class LeastRightsTest {
    private static final String[] SCHEMA = {
            """
                    DO $$ BEGIN
                        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'mallory') THEN
                            CREATE ROLE mallory; CREATE ROLE alice; ALTER ROLE alice SET search_path = alice;
                        END IF;
                    END $$;
                    CREATE SCHEMA evil AUTHORIZATION mallory; CREATE SCHEMA alice AUTHORIZATION alice;
                    SET ROLE alice;
                    CREATE TABLE secrets (id int PRIMARY KEY, word text);
                    INSERT INTO secrets VALUES (1, 'secret');
                    CREATE FUNCTION known() RETURNS text LANGUAGE sql AS $$ SELECT 'alice knows'::text $$;
                    CREATE FUNCTION checked() RETURNS boolean LANGUAGE plpgsql AS
                        $$ BEGIN RETURN known() = 'alice knows'; END $$;
                    CREATE TABLE rows (id int PRIMARY KEY, words text[], span interval, word text,
                        CHECK (alice.checked()));
                    GRANT USAGE ON SCHEMA alice TO mallory;
                    GRANT INSERT ON rows TO mallory;
                    RESET ROLE""",
            """
                    SET ROLE mallory;
                    CREATE TABLE evil.noted (who text, got text, PRIMARY KEY (who, got));
                    CREATE TABLE evil.target (id int PRIMARY KEY);
                    INSERT INTO evil.target VALUES (1);
                    GRANT USAGE, CREATE ON SCHEMA evil TO PUBLIC;
                    GRANT INSERT, SELECT ON evil.noted TO PUBLIC;
                    CREATE FUNCTION evil.works(asked text) RETURNS boolean LANGUAGE plpgsql AS $$
                        BEGIN
                            EXECUTE asked;
                            RETURN true;
                        EXCEPTION WHEN OTHERS THEN
                            RETURN false;
                        END $$;
                    CREATE FUNCTION evil.known() RETURNS text LANGUAGE plpgsql AS $$
                        BEGIN
                            INSERT INTO evil.noted VALUES ('instead of alice''s', current_user);
                            RETURN 'alice knows';
                        END $$;
                    CREATE FUNCTION evil.code() RETURNS int LANGUAGE plpgsql IMMUTABLE AS
                        $$ BEGIN RETURN evil.tries(); END $$;
                    CREATE FUNCTION evil.tries() RETURNS int LANGUAGE plpgsql AS $$
                        DECLARE
                            asked text;
                            name text;
                            got text := '';
                        BEGIN
                            IF current_setting('application_name') <> 'tutti applier' THEN
                                RETURN 1;
                            END IF;
                            FOREACH asked IN ARRAY ARRAY['RESET ROLE', 'RESET SESSION AUTHORIZATION', 'SET ROLE postgres',
                                    'SET ROLE alice', 'SET SESSION AUTHORIZATION postgres', 'ALTER ROLE mallory SUPERUSER',
                                    'SELECT * FROM alice.secrets', 'INSERT INTO alice.secrets VALUES (666, ''forged'')',
                                    'SELECT * FROM pg_authid', 'SELECT * FROM tutti.node', 'SET session_replication_role = origin',
                                    'SELECT pg_read_file(''PG_VERSION'')', 'SHOW session_preload_libraries',
                                    'INSERT INTO tutti.applied VALUES (1000000)'] LOOP
                                IF evil.works(asked) THEN
                                    got := concat(got, asked, ' as ', current_user, '; ');
                                END IF;
                            END LOOP;
                            FOR name IN SELECT p.name FROM pg_prepared_statements p LOOP
                                PERFORM evil.works(format('DEALLOCATE %I', name));
                                PERFORM evil.works(format('PREPARE %I AS SELECT evil.known()', name));
                            END LOOP;
                            FOR name IN SELECT p.proname FROM pg_proc p WHERE p.proname LIKE 'apply\\_%'
                                    AND p.proowner <> 'mallory'::regrole LOOP
                                PERFORM evil.works(format('SELECT tutti.%I(''\\x00'', ''{"(7,forged)"}'')', name));
                            END LOOP;
                            IF current_setting('session_replication_role') = 'replica' THEN -- it may change no rows
                                PERFORM pg_notify('noted', format('[%s %s, %s]', session_user, current_user, got));
                            ELSE
                                INSERT INTO evil.noted VALUES (concat(session_user, ' ', current_user), got) ON CONFLICT DO NOTHING;
                            END IF;
                            PERFORM set_config('search_path', 'evil, public', false), set_config('array_nulls', 'off', false),
                                set_config('intervalstyle', 'sql_standard', false), set_config('client_encoding', 'LATIN1', false),
                                set_config('default_transaction_read_only', 'on', false),
                                set_config('default_transaction_isolation', 'serializable', false),
                                set_config('enable_indexscan', 'off', false);
                            RETURN 1;
                        END $$;
                    CREATE FUNCTION evil.fire() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN PERFORM evil.code(); RETURN NEW; END $$;
                    CREATE DOMAIN evil.word AS text CHECK (evil.code() = 1);
                    RESET ROLE"""};
    /** Lets the next statement make what only a superuser behind the node's back can make. */
    private static final String ADOPTING = " RESET ROLE; SELECT set_config('session_preload_libraries', 'tutti adopting', true);"
            + " SET LOCAL ROLE mallory;";
    private static final String ALICES = "INSERT INTO alice.rows VALUES (1, '{NULL,b}', '-1 year 2 mons', 'ünïcödé')";

    private String one = "";
    private String other = "";
    private PostgresEngine engine;
    private Applier applier;
    private LocalSession session;
    private LocalSession listener;
    private long position;

    @BeforeEach
    void open() throws Exception {
        one = TestServer.database(SCHEMA);
        other = TestServer.database(SCHEMA);
        TestServer.install(one, 0);
        engine = PostgresEngine.open(TestServer.loops(), TestServer.reach(other), TestServer.settings(1));
        applier = engine.openApplier();
        listener = new LocalSession(other);
        listener.execute("LISTEN noted");
        listener.connection().commit();
        session = new LocalSession(one);
        session.execute("SET search_path = alice");
        session.connection().commit();
    }

    @AfterEach
    void close() throws Exception {
        session.close();
        listener.close();
        applier.close();
        engine.close();
    }

    /** Makes a table at both, as mallory. */
    private void table(String sql) throws Exception {
        table(sql, one, other);
    }

    private void table(String sql, String... databases) throws Exception {
        for (String database : databases) {
            BackendConnection admin = TestServer.connect(database);
            TestServer.execute(admin, "BEGIN; SELECT tutti.allow_statement('" + engine.secret() + "', NULL);"
                    + "SET LOCAL ROLE mallory; " + sql + "; COMMIT");
            admin.close();
        }
        execute("CREATE TABLE public.another (id int PRIMARY KEY)", TestServer.USER);
        execute("DROP TABLE public.another", TestServer.USER);
    }

    private ExecuteResult execute(String sql, String role) throws Exception {
        return execute(new Statement(sql, role, Map.of("search_path", "evil, public")));
    }

    private ExecuteResult execute(Statement statement) throws Exception {
        Result<ExecuteResult> executed = new Result<>();
        applier.execute(++position, statement.toBytes(), executed);
        return executed.success();
    }

    private void apply(List<WriteSet> writes) throws Exception {
        Result<Void> applied = new Result<>();
        position += writes.size();
        applier.apply(position, writes, applied);
        applied.success();
        Result<Void> committed = new Result<>();
        applier.commit(position, committed);
        committed.success();
    }

    private List<?> rows(String database, String query) throws Exception {
        BackendConnection connection = TestServer.connect(database);
        List<?> rows = TestServer.execute(connection, query).rows();
        connection.close();
        return rows;
    }

    /** What the code has noted where it was applied. */
    private void assertPowerless() throws Exception {
        List<Object> noted = new ArrayList<>(rows(other, "SELECT who, got FROM evil.noted"));
        listener.execute("SELECT 1");
        for (PGNotification told : listener.connection().unwrap(PGConnection.class).getNotifications()) {
            noted.add(told.getParameter());
        }
        assertFalse(noted.isEmpty(), "the code has run");
        for (Object note : noted) {
            assertTrue(note.toString().matches("\\[tutti_\\w+ (mallory, |tutti_\\w+, RESET ROLE as tutti_\\w+; "
                    + "RESET SESSION AUTHORIZATION as tutti_\\w+; )\\]"), note.toString());
        }
        assertEquals(rows(one, "SELECT * FROM alice.secrets"), rows(other, "SELECT * FROM alice.secrets"));
    }

    /** Rows of a table of mallory's are applied, some of alice's with them, and again some of alice's. */
    private void assertPowerlessInRows(String table) throws Exception {
        table(table);
        apply(List.of(session.commit("INSERT INTO evil.mine VALUES (1, 'a'), (2, 'b')"), session.commit(ALICES)));
        apply(List
                .of(session.commit("UPDATE evil.mine SET word = 'c' WHERE id = 1", "DELETE FROM evil.mine WHERE id = 2",
                        "UPDATE alice.rows SET words = words || 'ä'::text", ALICES.replace("(1,", "(2,"))));
        apply(List.of(session.commit("UPDATE alice.rows SET word = word || 'ö' WHERE id = 2")));
        assertPowerless();
        for (String same : List.of("evil.mine", "alice.rows")) {
            assertEquals(rows(one, "SELECT t::text FROM " + same + " t ORDER BY 1"),
                    rows(other, "SELECT t::text FROM " + same + " t ORDER BY 1"));
        }
    }

    @Test
    void constraints() throws Exception {
        assertPowerlessInRows("CREATE TABLE evil.mine (id int PRIMARY KEY, word text, CHECK (evil.code() = 1))");
    }

    @Tag("long")
    @Test
    void domains() throws Exception {
        assertPowerlessInRows("CREATE TABLE evil.mine (id int PRIMARY KEY, word evil.word)");
    }

    /** Rows of a table that its owner cannot write are written by the node itself, unless code of his runs there: also where the server plans that. */
    @Test
    void statistics() throws Exception {
        assertPowerlessInRows("CREATE TABLE evil.mine (id int PRIMARY KEY, word text);"
                + " SELECT tutti.allow_statement('" + engine.secret() + "', NULL);"
                + " CREATE STATISTICS evil.computed ON (id * evil.code()) FROM evil.mine");
        assertEquals("0A000", assertThrows(PostgresException.class,
                () -> table("ALTER TABLE evil.mine FORCE ROW LEVEL SECURITY; COMMIT; BEGIN")).sqlState());
    }

    /** Rows come as texts. The node itself may write them, and would call the cast's function. */
    @Test
    void casts() throws Exception {
        String allow = " SELECT tutti.allow_statement('" + engine.secret() + "', NULL);";
        table("CREATE TABLE evil.mine (id int PRIMARY KEY, word text);" + allow
                + " ALTER TABLE evil.mine FORCE ROW LEVEL SECURITY");
        for (String type : List.of("evil.mine", "evil.mine[]")) {
            assertEquals("0A000", assertThrows(PostgresException.class, () -> table("CREATE FUNCTION evil.reads(text)"
                    + " RETURNS " + type + " LANGUAGE plpgsql AS $$ BEGIN PERFORM evil.tries(); RETURN NULL; END $$;"
                    + allow + " CREATE CAST (text AS " + type + ") WITH FUNCTION evil.reads(text)"), type).sqlState());
        }
    }

    /** The index by which a node refuses a table that it does not keep is no code of a client's; one of its name is. */
    @Test
    void indexesThatLookLikeTheNodes() throws Exception {
        table("CREATE TABLE evil.mine (id int PRIMARY KEY, word text); SELECT tutti.allow_statement('" + engine.secret()
                + "', NULL); ALTER TABLE evil.mine FORCE ROW LEVEL SECURITY");
        Object oid = ((List<?>) rows(other, "SELECT 'evil.mine'::regclass::oid").getFirst()).getFirst();
        assertEquals("0A000", assertThrows(PostgresException.class, () -> table("CREATE INDEX tutti_elsewhere_" + oid
                + " ON evil.mine ((id * evil.code()))", other)).sqlState());
    }

    /** Code that runs for some rows leaves settings, by which the functions that write others do not go. */
    @Test
    void operatorsThatShadowTheServersOwn() throws Exception {
        table("CREATE FUNCTION evil.equal(a int, b int) RETURNS boolean LANGUAGE plpgsql AS"
                + " $$ BEGIN PERFORM evil.tries(); RETURN a OPERATOR(pg_catalog.=) b; END $$;"
                + " SELECT tutti.allow_statement('" + engine.secret() + "', NULL);"
                + " CREATE OPERATOR evil.= (LEFTARG = int, RIGHTARG = int, FUNCTION = evil.equal);"
                + " SELECT tutti.allow_statement('" + engine.secret() + "', NULL);"
                + " CREATE FUNCTION evil.leaves() RETURNS boolean LANGUAGE plpgsql AS"
                + " $$ BEGIN PERFORM set_config('search_path', 'evil, pg_catalog', false); RETURN true; END $$;"
                + " SELECT tutti.allow_statement('" + engine.secret() + "', NULL);"
                + " CREATE TABLE evil.first (id int PRIMARY KEY, n int, CHECK (evil.leaves()));"
                + " SELECT tutti.allow_statement('" + engine.secret() + "', NULL);"
                + " CREATE TABLE evil.mine (id int PRIMARY KEY, word text, n int);"
                + " SELECT tutti.allow_statement('" + engine.secret() + "', NULL);"
                + " ALTER TABLE evil.mine FORCE ROW LEVEL SECURITY");
        apply(List.of(session.commit("INSERT INTO evil.first VALUES (1)",
                "INSERT INTO evil.mine SELECT 1, string_agg(md5(g::text), ''), 1 FROM generate_series(1, 3000) g")));
        apply(List.of(session.commit("UPDATE evil.first SET n = 2", "UPDATE evil.mine SET n = 2")));
        assertEquals(List.of(List.of("2")), rows(other, "SELECT n FROM evil.mine"));
        assertEquals(List.of(), rows(other, "SELECT * FROM evil.noted"));
        listener.execute("SELECT 1");
        assertEquals(0, listener.connection().unwrap(PGConnection.class).getNotifications().length);
    }

    /** Of functions in all schemas of a search path one is taken that fits exactly, before one of the server's that takes any array. */
    @Test
    void functionsThatFitBetterThanTheServersOwn() throws Exception {
        String allow = " SELECT tutti.allow_statement('" + engine.secret() + "', NULL);";
        table("RESET ROLE; GRANT CREATE ON SCHEMA public TO mallory;" + allow + " SET LOCAL ROLE mallory;"
                + " CREATE FUNCTION public.unnest(int2[]) RETURNS SETOF int2 LANGUAGE plpgsql AS"
                + " $$ BEGIN RAISE EXCEPTION 'called as %', current_user; END $$;" + allow
                + " CREATE FUNCTION public.array_to_string(int2[], text) RETURNS text LANGUAGE plpgsql AS"
                + " $$ BEGIN RAISE EXCEPTION 'called as %', current_user; END $$", other);
        applier.close();
        engine.close();
        engine = PostgresEngine.open(TestServer.loops(), TestServer.reach(other), TestServer.settings(1));
        applier = engine.openApplier();
        apply(List.of(session.commit(ALICES)));
    }

    /** What a statement leaves in the session, where all that applies goes through, is gone before the next one. */
    @Test
    void temporaryObjects() throws Exception {
        table("CREATE FUNCTION evil.leaves() RETURNS int LANGUAGE plpgsql AS $$ BEGIN"
                + " CREATE DOMAIN pg_temp.text AS pg_catalog.int4 CHECK (value IS NULL);"
                + " CREATE TEMPORARY TABLE pg_class (oid int); LISTEN left_over; PERFORM pg_advisory_lock(5);"
                + " EXECUTE 'DECLARE left_over CURSOR WITH HOLD FOR SELECT 1'; RETURN 1; END $$");
        assertTrue(execute("DO $$ BEGIN PERFORM evil.leaves(); END $$", "mallory").tookEffect());
        for (String sql : List.of("CREATE TABLE evil.made (id int PRIMARY KEY)",
                "ALTER TABLE evil.made ADD COLUMN word pg_catalog.text", "DROP TABLE evil.made")) {
            ExecuteResult result = execute(sql, "mallory");
            assertTrue(result.tookEffect(), () -> sql + new String(result.response(), StandardCharsets.UTF_8));
        }
        apply(List.of(session.commit(ALICES)));
        assertEquals(List.of(List.of("0")),
                rows(other, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 5"));
    }

    @Test
    void generatedColumnsAndIndexes() throws Exception {
        assertPowerlessInRows("CREATE TABLE evil.mine (id int PRIMARY KEY, word text,"
                + " made int GENERATED ALWAYS AS (id * evil.code()) STORED)");
    }

    @Tag("long")
    @Test
    void indexes() throws Exception {
        assertPowerlessInRows("CREATE TABLE evil.mine (id int PRIMARY KEY, word text);"
                + " SELECT tutti.allow_statement('" + engine.secret() + "', NULL);"
                + " CREATE INDEX ON evil.mine ((id * evil.code()))");
    }

    @Test
    void triggersOfReplicas() throws Exception {
        assertPowerlessInRows("CREATE TABLE evil.mine (id int PRIMARY KEY, word text);"
                + " SELECT tutti.allow_statement('" + engine.secret() + "', NULL);"
                + " CREATE TRIGGER fire BEFORE INSERT OR UPDATE ON evil.mine FOR EACH ROW EXECUTE FUNCTION evil.fire();"
                + ADOPTING + " ALTER TABLE evil.mine ENABLE REPLICA TRIGGER fire");
    }

    @Test
    void deferredTriggers() throws Exception {
        assertPowerlessInRows("CREATE TABLE evil.mine (id int PRIMARY KEY, word text);"
                + " SELECT tutti.allow_statement('" + engine.secret() + "', NULL);"
                + " CREATE CONSTRAINT TRIGGER fire AFTER INSERT ON evil.mine DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
                + " EXECUTE FUNCTION evil.fire();"
                + ADOPTING + " ALTER TABLE evil.mine ENABLE ALWAYS TRIGGER fire");
    }

    @Test
    void everybodyMayAskWhatTheNodeKnows() throws Exception {
        try (java.sql.Statement statement = session.connection().createStatement()) {
            statement.execute("SET LOCAL ROLE mallory");
            statement.execute("SELECT tutti_position(), tutti_submitted()");
            statement.execute("SET LOCAL tutti.answer = 'outcome 1:2.3=committed'");
            try (ResultSet answer = statement.executeQuery("SELECT tutti_outcome('1:2.3')")) {
                assertTrue(answer.next());
                assertEquals("committed", answer.getString(1));
            }
            statement.execute("SELECT tutti_wait(0) + 1");
            assertEquals("0A000", assertThrows(SQLException.class, () -> statement.execute("SELECT tutti_wait()"))
                    .getSQLState());
        } finally {
            session.connection().rollback();
        }
    }

    @Test
    void schemaChanges() throws Exception {
        for (String sql : List.of("CREATE INDEX ON evil.target ((id + evil.code()))",
                "CREATE VIEW evil.seen AS SELECT evil.code()", "DO $$ BEGIN PERFORM evil.code(); END $$")) {
            ExecuteResult result = execute(sql, "mallory");
            assertTrue(result.tookEffect(), () -> sql + new String(result.response(), StandardCharsets.UTF_8));
        }
        ExecuteResult result = execute("CREATE TABLE evil.made AS SELECT evil.code()", "mallory");
        assertTrue(new String(result.response(), StandardCharsets.UTF_8).contains("has reset its role"));
        assertFalse(result.tookEffect());
        // it has been called for the rows that are there when it is found to be other than declared
        result = execute("ALTER TABLE evil.target ADD COLUMN filled int DEFAULT evil.code()", "mallory");
        assertTrue(new String(result.response(), StandardCharsets.UTF_8).contains("with this default"));
        assertFalse(result.tookEffect());
        assertPowerless();
        apply(List.of(session.commit(ALICES)));
        assertEquals(rows(one, "SELECT * FROM alice.rows"), rows(other, "SELECT * FROM alice.rows"));
        // Those that execute requests, or build indexes, are of one role for good, whose object id their name has.
        assertEquals(List.of(), rows(other, "SELECT roleid::regrole FROM pg_auth_members"
                + " WHERE member::regrole::text ~ '^\"?tutti' AND member::regrole::text !~ concat('_', roleid, '(_index)?\"?$')"));
    }

    /** An event trigger on login keeps nobody out who applies, and others fire as ever. */
    @Test
    void whoeverMayNotLogInApplies() throws Exception {
        BackendConnection admin = TestServer.connect(other);
        TestServer.execute(admin,
                "SET event_triggers = off; CREATE FUNCTION public.keep_out() RETURNS event_trigger LANGUAGE plpgsql AS"
                        + " $$ BEGIN RAISE EXCEPTION 'no'; END $$; CREATE EVENT TRIGGER keep_out ON login EXECUTE FUNCTION public.keep_out();"
                        + " ALTER EVENT TRIGGER keep_out ENABLE ALWAYS");
        admin.close();
        apply(List.of(session.commit(ALICES)));
        assertTrue(execute("CREATE TABLE evil.made (id int PRIMARY KEY)", "mallory").tookEffect());
        assertTrue(execute(Statement.request(List.of(Statement.Call.plain("SELECT 1")), "mallory", Map.of()))
                .tookEffect());
        BackendConnection node = BackendConnection
                .connect(TestServer.loops().next(), OwnSessions.superuser(TestServer.reach(other), "test"))
                .get(20, TimeUnit.SECONDS);
        assertEquals("4",
                TestServer.execute(node,
                        "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'evil.made'::regclass AND tgname LIKE 'tutti%'")
                        .value());
        TestServer.execute(node, "DROP EVENT TRIGGER keep_out");
        node.close();
        assertEquals(rows(one, "SELECT * FROM alice.rows"), rows(other, "SELECT * FROM alice.rows"));
    }

    @Test
    void requests() throws Exception {
        ExecuteResult result = execute(Statement.request(List.of(Statement.Call.plain("SELECT evil.code()"),
                Statement.Call.plain("SELECT evil.works('SET ROLE mallory')"),
                Statement.Call.plain("SELECT evil.code()")), "mallory", Map.of()));
        assertTrue(result.tookEffect(), () -> new String(result.response(), StandardCharsets.UTF_8));
        assertPowerless();
    }
}
