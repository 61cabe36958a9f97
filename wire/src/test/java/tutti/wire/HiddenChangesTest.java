package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.BackendSettings.Credentials;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.pgwire.PostgresException;
import tutti.pgwire.ResponseHandler;

/** A function changes roles where no statement names it, so that it would be at one node only. */
@Timeout(120)
class HiddenChangesTest {
    private static final Duration PATIENCE = EngineFixture.PATIENCE;
    private static final Credentials MALLORY = new Credentials.Password("sesame");
    private static EngineFixture fixture;
    private static InetSocketAddress address;
    private static BackendConnection admin;
    private static BackendConnection mallory;

    @BeforeAll
    static void start() throws Exception {
        fixture = new EngineFixture(false, """
                CREATE ROLE mallory LOGIN PASSWORD 'sesame';
                CREATE ROLE other;
                CREATE SCHEMA evil AUTHORIZATION mallory;
                GRANT CREATE ON DATABASE postgres TO mallory;
                SET ROLE mallory;
                CREATE TABLE evil.mine (id int PRIMARY KEY, word text);
                INSERT INTO evil.mine VALUES (1, 'one');
                CREATE TABLE evil.plain (id int PRIMARY KEY, word text);
                CREATE FUNCTION evil.shift() RETURNS int LANGUAGE plpgsql AS $$
                    BEGIN EXECUTE 'ALTER ROLE mallory SET work_mem = ' || (64 + random() * 1000)::int; RETURN 1; END $$;
                CREATE FUNCTION evil.quiet() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
                    BEGIN PERFORM evil.shift(); RETURN true; END $$;
                CREATE FUNCTION evil.fixed(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
                    BEGIN PERFORM evil.shift(); RETURN 1; END $$;
                CREATE FUNCTION evil.harmless() RETURNS int LANGUAGE sql AS 'SELECT 1';
                CREATE VIEW evil.simple AS SELECT evil.harmless() AS one;
                CREATE VIEW evil.direct AS SELECT evil.shift() AS shifted;
                CREATE VIEW evil."ändert" AS SELECT evil.shift() AS shifted;
                CREATE VIEW evil."Indirect" AS SELECT * FROM evil.direct;
                CREATE VIEW evil.stable AS SELECT * FROM evil.mine WHERE evil.quiet();
                CREATE TABLE evil.guarded (id int PRIMARY KEY);
                INSERT INTO evil.guarded VALUES (1);
                CREATE POLICY guard ON evil.guarded USING (evil.quiet());
                ALTER TABLE evil.guarded ENABLE ROW LEVEL SECURITY;
                ALTER TABLE evil.guarded FORCE ROW LEVEL SECURITY;
                CREATE FUNCTION evil.attribute(evil.mine) RETURNS int LANGUAGE sql AS 'SELECT evil.shift()';
                CREATE FUNCTION evil.pg_like() RETURNS int LANGUAGE sql AS 'SELECT evil.shift()';
                CREATE FUNCTION evil.lower(int) RETURNS int LANGUAGE sql AS 'SELECT evil.shift()';
                RESET ROLE""");
        admin = fixture.admin;
        address = fixture.frontEnd();
    }

    @AfterAll
    static void stop() throws Exception {
        fixture.close();
    }

    @BeforeEach
    void reset() throws Exception {
        admin.execute("ROLLBACK; ALTER ROLE mallory RESET ALL", PATIENCE);
        if (mallory != null) {
            mallory.close();
        }
        fixture.node.reset();
        fixture.node.forget();
        mallory = fixture.connect(BackendSettings.of(address, "mallory", "postgres", MALLORY)
                .withParameters(Map.of("search_path", "evil, pg_catalog")));
    }

    private static String shifted() throws Exception {
        return String
                .valueOf(admin.execute("SELECT count(*) FROM pg_db_role_setting WHERE setrole = 'mallory'::regrole",
                        PATIENCE).value());
    }

    private static @Nullable String state(String sql) throws Exception {
        try {
            mallory.execute(sql, PATIENCE);
            return null;
        } catch (PostgresException refused) {
            return refused.sqlState();
        }
    }

    /** The state of what fails when a statement is sent in the extended protocol, or null. */
    private static @Nullable String extended(String sql) throws Exception {
        ByteBuf batch = mallory.buffer();
        Frontend.parse(batch, "", sql);
        Frontend.bind(batch, "", "");
        Frontend.execute(batch, "", 0);
        Frontend.sync(batch);
        return sent(batch);
    }

    /** Likewise of a simple query in some encoding. */
    private static @Nullable String simple(String sql, Charset encoding) throws Exception {
        byte[] text = sql.getBytes(encoding);
        return sent(mallory.buffer().writeByte('Q').writeInt(4 + text.length + 1).writeBytes(text).writeByte(0));
    }

    private static @Nullable String sent(ByteBuf batch) throws Exception {
        CompletableFuture<String> state = new CompletableFuture<>();
        mallory.send(batch, new ResponseHandler() {
            @Override
            public void message(byte type, ByteBuf body) {
                if (type == Backend.ERROR_RESPONSE) {
                    state.complete(ErrorFields.read(body).sqlState());
                }
            }

            @Override
            public void ready(byte status) {
                state.complete("");
            }

            @Override
            public void lost(Throwable cause) {
                state.completeExceptionally(cause);
            }
        });
        String told = state.get(20, TimeUnit.SECONDS);
        return told.isEmpty() ? null : told;
    }

    /** Changes the schema, in a block: the scripted node executes nothing everywhere. */
    private static void makes(String sql) throws Exception {
        mallory.execute("BEGIN; " + sql + "; COMMIT", PATIENCE);
        fixture.engine.refreshCatalog().get(20, TimeUnit.SECONDS);
    }

    private static void refused(String sql) throws Exception {
        assertNotNull(state(sql), sql);
        assertEquals("0", shifted(), sql);
        if (!sql.contains(";")) {
            assertNotNull(extended(sql), sql);
            assertEquals("0", shifted(), sql);
        }
        for (String each : List.of("ROLLBACK", "BEGIN")) {
            state(each);
        }
        assertNotNull(state(sql + "; COMMIT"), sql);
        assertEquals("0", shifted(), sql);
        state("ROLLBACK");
    }

    @Test
    void changesThatNoStatementNamesAreRefused() throws Exception {
        for (String sql : List.of("SELECT evil.shift()", "SELECT * FROM direct", "TABLE \"Indirect\"",
                "SELECT * FROM evil.\"Indirect\"", "SELECT 1 FROM U&\"\\0064irect\"", "SELECT * FROM stable",
                "SELECT id FROM guarded",
                "COPY guarded TO STDOUT", "SELECT mine.attribute FROM mine", "SELECT pg_like()", "SELECT lower(1)",
                "EXPLAIN ANALYSE SELECT shift()", "EXPLAIN (\"analyze\") SELECT shift()", "EXPLAIN SELECT fixed(1)",
                "COPY (SELECT * FROM direct) TO STDOUT", "DO $$ BEGIN PERFORM * FROM direct; END $$",
                "PREPARE p AS SELECT * FROM direct; EXECUTE p", "SELECT query_to_xml('TABLE direct', true, true, '')",
                "SELECT 1; SELECT * FROM direct", "WITH d AS (SELECT * FROM direct) SELECT 1 FROM d",
                "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM direct", "DECLARE c CURSOR WITH HOLD FOR SELECT shift()",
                "DO $$ BEGIN EXECUTE 'DECLARE c CURSOR WITH HOLD FOR SELECT shift()'; END $$",
                "DO $$ BEGIN EXECUTE 'CREATE TEMP VIEW t AS SELECT shift()'; END $$; SELECT * FROM t",
                "CREATE TEMP VIEW t AS SELECT shift(); SELECT * FROM t")) {
            refused(sql);
        }
        assertEquals(List.of(), fixture.node.drainCommitted());
    }

    /** Names in other encodings than UTF-8 cannot be told. */
    @Test
    void changesAreRefusedInEveryEncoding() throws Exception {
        refused("TABLE ändert");
        state("SET client_encoding = 'LATIN1'");
        for (String sql : List.of("TABLE ändert", "SELECT * FROM evil.\"ändert\"")) {
            assertNotNull(simple(sql, StandardCharsets.ISO_8859_1), sql);
            assertEquals("0", shifted(), sql);
            ByteBuf batch = mallory.buffer();
            byte[] text = sql.getBytes(StandardCharsets.ISO_8859_1);
            batch.writeByte('P').writeInt(4 + 1 + text.length + 1 + 2).writeByte(0);
            batch.writeBytes(text).writeByte(0).writeShort(0);
            Frontend.bind(batch, "", "");
            Frontend.execute(batch, "", 0);
            Frontend.sync(batch);
            assertNotNull(sent(batch), sql);
            assertEquals("0", shifted(), sql);
        }
        assertEquals(List.of(), fixture.node.drainCommitted());
    }

    @Test
    void operatorsCastsAndDomainsCountEverywhere() throws Exception {
        for (String[] made : List.of(
                new String[]{"CREATE OPERATOR evil.### (LEFTARG = int, FUNCTION = evil.lower, RIGHTARG = int)",
                        "CREATE FUNCTION evil.two(int, int) RETURNS int LANGUAGE sql AS 'SELECT evil.shift()';"
                                + " CREATE OPERATOR evil.### (LEFTARG = int, RIGHTARG = int, FUNCTION = evil.two)",
                        "SELECT 1 ### 2", "DROP OPERATOR evil.### (int, int)"},
                new String[]{"", "CREATE DOMAIN evil.checked AS int CHECK (evil.fixed(value) = 1)", "SELECT 1::checked",
                        "DROP DOMAIN evil.checked"},
                new String[]{"", "CREATE TYPE evil.pair AS (a int); CREATE FUNCTION evil.pair(int) RETURNS evil.pair"
                        + " LANGUAGE sql AS 'SELECT ROW(evil.shift())::evil.pair';"
                        + " CREATE CAST (int AS evil.pair) WITH FUNCTION evil.pair(int)", "SELECT CAST(1 AS pair)",
                        "DROP TYPE evil.pair CASCADE"})) {
            makes(made[1]);
            fixture.node.drainCommitted();
            refused(made[2]);
            makes(made[3]);
            fixture.node.drainCommitted();
        }
    }

    @Test
    void whatWasHarmlessWhenItWasPreparedIsJudgedAgain() throws Exception {
        ByteBuf parse = mallory.buffer();
        Frontend.parse(parse, "kept", "SELECT * FROM simple");
        Frontend.sync(parse);
        sent(parse);
        makes("CREATE OR REPLACE FUNCTION evil.harmless() RETURNS int LANGUAGE sql AS 'SELECT evil.shift()'");
        try {
            ByteBuf execute = mallory.buffer();
            Frontend.bind(execute, "", "kept");
            Frontend.execute(execute, "", 0);
            Frontend.sync(execute);
            assertNotNull(sent(execute));
            assertEquals("0", shifted());
        } finally {
            makes("CREATE OR REPLACE FUNCTION evil.harmless() RETURNS int LANGUAGE sql AS 'SELECT 1'");
            fixture.node.drainCommitted();
        }
    }

    @Test
    void aBlockThatChangesRolesItselfMayNotHideOthers() throws Exception {
        String own = "ALTER ROLE mallory SET statement_timeout = 0; ";
        for (String sql : List.of(own + "SELECT shift()", "SELECT shift(); " + own, own + "TABLE direct; " + own,
                own + "SAVEPOINT s; " + own + "ROLLBACK TO s; SELECT shift()",
                own + "DO $$ BEGIN PERFORM evil.shift(); CREATE TABLE evil.made (); END $$",
                "DO $$ BEGIN PERFORM evil.shift(); ALTER ROLE mallory SET statement_timeout = 0; END $$",
                own + "SELECT shift(); SELECT tutti.execute_shared('')",
                "SELECT 1; GRANT ALL ON DATABASE postgres TO mallory; SELECT shift()")) {
            assertNotNull(state("BEGIN; " + sql + "; COMMIT"), sql);
            state("ROLLBACK");
            assertEquals("0", shifted(), sql);
        }
        assertEquals(List.of(), fixture.node.drainCommitted());
    }

    @Test
    void blocksThatChangeRolesByStatementsOfTheirOwnCommit() throws Exception {
        String own = "ALTER ROLE mallory SET statement_timeout = 0; ";
        for (String sql : List.of(own, own + own, own + "SAVEPOINT s; " + own + "ROLLBACK TO s; " + own,
                "DO $$ BEGIN ALTER ROLE mallory SET statement_timeout = 0; END $$; " + own,
                own + "INSERT INTO plain VALUES (1); DELETE FROM plain", own + "CREATE TABLE made (); DROP TABLE made",
                "CREATE TABLE made (); DROP TABLE made; " + own + "SELECT harmless()",
                "COMMENT ON ROLE mallory IS 'x'; SELECT harmless()")) {
            if (sql.startsWith("COMMENT")) {
                continue; // needs a right that mallory lacks
            }
            for (String each : ("BEGIN; " + sql + "; COMMIT").split(";(?! END)", -1)) {
                assertEquals(null, state(each), sql + " at " + each);
            }
            assertEquals("1", shifted(), sql);
            assertTrue(fixture.node.drainCommitted().toString().contains("ALTER ROLE"), sql);
        }
        mallory.execute("INSERT INTO plain VALUES (1)", PATIENCE);
        mallory.execute("DELETE FROM plain", PATIENCE);
    }

    @Test
    void rightsOwnersAndTablespacesAreTheServersToo() throws Exception {
        BackendConnection root = mallory;
        mallory = fixture.connect(address);
        root.close();
        for (String sql : List.of("GRANT TEMP ON DATABASE postgres TO other",
                "ALTER DATABASE postgres SET work_mem = 64",
                "GRANT SET ON PARAMETER work_mem TO other", "COMMENT ON ROLE other IS ''seen''",
                "REASSIGN OWNED BY mallory TO other", "GRANT other TO mallory", "CREATE ROLE third", "DROP ROLE other",
                "GRANT CREATE ON TABLESPACE pg_default TO other",
                "ALTER TABLESPACE pg_default SET (seq_page_cost = 2)")) {
            String call = "DO $$ BEGIN EXECUTE '" + sql + "'; END $$";
            assertEquals("0A000", state(call), sql);
            assertEquals("0A000", both(call), sql);
            state("ROLLBACK");
        }
        assertEquals(List.of(), fixture.node.drainCommitted());
    }

    /** What it comes to in a block that changes roles itself. */
    private static @Nullable String both(String call) throws Exception {
        for (String each : List.of("BEGIN", "CREATE ROLE fourth", call)) {
            String failed = state(each);
            if (failed != null) {
                return failed;
            }
        }
        return state("COMMIT");
    }

    @Test
    void queriesThatHideNothingArePassedOnAsReads() throws Exception {
        for (String sql : List.of("SELECT * FROM plain", "SELECT lower(word) FROM plain", "EXPLAIN SELECT 1",
                "SELECT evil.harmless()",
                "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM plain", "FETCH ALL FROM c", "CLOSE c",
                "BEGIN", "DECLARE c CURSOR WITH HOLD FOR SELECT harmless()", "INSERT INTO plain VALUES (2)", "COMMIT",
                "FETCH c", "CLOSE c", "DELETE FROM plain", "BEGIN", "DECLARE c CURSOR WITH HOLD FOR SELECT harmless()",
                "COMMIT AND CHAIN", "INSERT INTO plain VALUES (3)", "COMMIT", "FETCH c", "DELETE FROM plain",
                "CREATE TEMP VIEW v AS SELECT * FROM plain", "TABLE v", "TABLE simple")) {
            assertEquals(null, state(sql), sql);
        }
    }
}
