package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract.Result;
import tutti.engine.postgres.LocalSession;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.capture.CaptureReader;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.pgwire.BackendConnection;

/** What each node computes for a row has to be what the node has computed where the row was written; otherwise it is refused. */
@Timeout(60)
class ComputedColumnsTest {
    private static final String DIFFERS = "which is computed, has another value";
    /** Tells of the node from 10 on, and of the session below 0. */
    private static final String FUNCTIONS = """
            CREATE FUNCTION told(asked int) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
                RETURN CASE WHEN asked >= 10 THEN current_database() WHEN asked < 0 THEN current_setting('TimeZone') ELSE 'alike' END;
            END $$;
            CREATE FUNCTION shifted(int, int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT length(told($1)) + $2';
            CREATE OPERATOR +!! (FUNCTION = shifted, LEFTARG = int, RIGHTARG = int);
            CREATE TYPE mood AS ENUM ('fine', 'so so')""";
    private static final String KEYED = "id int PRIMARY KEY, word text, made text GENERATED ALWAYS AS (told(id)) STORED, also int GENERATED ALWAYS AS (id + 1) STORED";

    private static void assertRefused(Pair pair, String sql) {
        SQLException refused = assertThrows(SQLException.class, () -> pair.session.execute(sql), sql);
        assertEquals("0A000", refused.getSQLState(), refused.toString());
        assertTrue(refused.getMessage().contains("column made of table public.t, " + DIFFERS), refused.getMessage());
    }

    private static void assertNotApplied(Pair pair, WriteSet... writes) throws Exception {
        Result<Void> applied = new Result<>();
        pair.applier.apply(pair.position + 1, List.of(writes), applied);
        EngineFailure failure = applied.failure();
        assertEquals("0A000", failure.sqlState(), failure.toString());
        assertTrue(failure.toString().contains(DIFFERS), failure.toString());
        assertFalse(failure.transientFailure(), failure.toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"INSERT INTO t VALUES (10, 'x')", "INSERT INTO t VALUES (3, 'x'), (10, 'x'), (4, 'x')",
            "UPDATE t SET id = 10 WHERE id = 1", "UPDATE t SET id = id + 9"})
    void aFunctionThatTellsOfTheNodeIsNotApplied(String sql) throws Exception {
        try (Pair pair = new Pair(FUNCTIONS, "CREATE TABLE t (" + KEYED + ")")) {
            pair.transaction("INSERT INTO t VALUES (1, 'x')", "INSERT INTO t VALUES (2, NULL), (5, 'y')",
                    "UPDATE t SET word = 'z' WHERE id < 3").assertEqual("t");
            pair.transaction("UPDATE t SET word = 'new'").assertEqual("t");
            assertNotApplied(pair, pair.session.commit(sql));
        }
    }

    /** It looks where it is asked, so that only what is not in the key tells. */
    @ParameterizedTest
    @ValueSource(strings = {"asked", "large, asked"})
    void whatIsUpdatedIsLookedAt(String assigned) throws Exception {
        try (Pair pair = new Pair(FUNCTIONS, "CREATE TABLE t (id int PRIMARY KEY, asked int, large text,"
                + " made text GENERATED ALWAYS AS (told(asked)) STORED)",
                "ALTER TABLE t ALTER large SET STORAGE EXTERNAL")) {
            pair.transaction("INSERT INTO t SELECT i, 1, repeat('x', 10000) FROM generate_series(1, 3) i")
                    .assertEqual("t");
            pair.transaction("UPDATE t SET asked = 2").transaction("UPDATE t SET asked = 3 WHERE id = 2")
                    .assertEqual("t");
            String set = assigned.startsWith("large") ? "large = repeat('y', 9000), asked = 10" : "asked = 10";
            WriteSet one = pair.session.commit("UPDATE t SET " + set + " WHERE id = 2");
            assertNotApplied(pair, one);
            assertNotApplied(pair, pair.session.commit("UPDATE t SET " + set + " WHERE id <> 2"));
        }
    }

    @Test
    void rowsWithoutAKeyAreLookedAt() throws Exception {
        try (Pair pair = new Pair(FUNCTIONS,
                "CREATE TABLE t (id int, made text GENERATED ALWAYS AS (told(id)) STORED)")) {
            pair.transaction("INSERT INTO t VALUES (1), (1), (2)").transaction("UPDATE t SET id = id + 1")
                    .transaction("DELETE FROM t WHERE id = 3").assertEqual("t");
            assertNotApplied(pair, pair.session.commit("UPDATE t SET id = 10"));
        }
    }

    /** Object ids are each node's own, and so are hashes of values that are made of them. */
    @ParameterizedTest
    @ValueSource(strings = {"made oid GENERATED ALWAYS AS (tableoid) STORED",
            "made int GENERATED ALWAYS AS (hashenum(moody)) STORED",
            "made oid GENERATED ALWAYS AS (named::oid) STORED",
            "made oid GENERATED ALWAYS AS ('named'::regclass::oid) STORED"})
    void numbersOfTheNodesAreNotApplied(String column) throws Exception {
        // another order of the statements, or each database would give the same numbers
        String[] tables = {"CREATE TABLE named (id int)",
                "CREATE TABLE t (id int PRIMARY KEY, moody mood DEFAULT 'fine', named regclass DEFAULT 'named', "
                        + column + ")"};
        try (Pair pair = new Pair(FUNCTIONS, tables[0], "CREATE TABLE more (id int, made text)", tables[1])) {
            assertNotApplied(pair, pair.session.commit("INSERT INTO t VALUES (1)"));
        }
    }

    @Test
    void anOperatorIsNotBelievedEither() throws Exception {
        try (Pair pair = new Pair(FUNCTIONS,
                "CREATE TABLE t (id int PRIMARY KEY, made int GENERATED ALWAYS AS (id +!! 1) STORED)",
                "DO $$ BEGIN EXECUTE format('CREATE OR REPLACE FUNCTION told(asked int) RETURNS text IMMUTABLE LANGUAGE sql AS %L', CASE WHEN"
                        + " (substr(current_database(), 5))::int % 2 = 0 THEN 'SELECT ''xx''' ELSE 'SELECT ''x''' END); END $$")) {
            assertNotApplied(pair, pair.session.commit("INSERT INTO t VALUES (1)"));
        }
    }

    @Test
    void theNodeOfTheClientRefusesWhatDependsOnItsSession() throws Exception {
        try (Pair pair = new Pair(FUNCTIONS, "CREATE TABLE t (" + KEYED + ")")) {
            pair.session.execute("SET timezone = 'Europe/Berlin'");
            pair.session.connection().commit();
            pair.transaction("INSERT INTO t VALUES (1, 'x')").assertEqual("t");
            assertRefused(pair, "INSERT INTO t VALUES (-1, 'x')");
            pair.session.connection().rollback();
            assertRefused(pair, "UPDATE t SET id = -1");
            pair.session.connection().rollback();
            pair.session.execute("SET timezone = 'UTC'");
            pair.transaction("INSERT INTO t VALUES (-1, 'x')").assertEqual("t");
        }
    }

    /** An update leaves what is computed from other columns, and those who apply it compute it. */
    @Test
    void theNodeOfTheClientRefusesRowsThatWereComputedByAnotherFunction() throws Exception {
        try (Pair pair = new Pair(FUNCTIONS, "CREATE TABLE t (" + KEYED + ")")) {
            pair.transaction("INSERT INTO t VALUES (1, 'x')").assertEqual("t");
            for (String database : List.of(pair.one, pair.other)) {
                BackendConnection connection = TestServer.connect(database);
                TestServer.execute(connection,
                        "SET session_replication_role = replica; SET event_triggers = off;"
                                + "CREATE OR REPLACE FUNCTION told(asked int) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'new' $$");
                connection.close();
            }
            assertRefused(pair, "UPDATE t SET word = 'y'");
            pair.session.connection().rollback();
            pair.transaction("UPDATE t SET id = id, word = 'y'").assertEqual("t");
        }
    }

    private static WriteSet altered(Pair pair, String alter) throws Exception {
        TableCatalog before = LocalSession.catalog(pair.one);
        byte[] gathered = pair.session.execute(alter).gather();
        pair.session.connection().commit();
        return CaptureReader.read(before, new ArrayList<>(List.of(LocalSession.catalog(pair.one))), gathered).writes();
    }

    /** Rows that are there are told behind it, and compared. */
    @ParameterizedTest
    @ValueSource(strings = {"ADD COLUMN made text GENERATED ALWAYS AS (told(id)) STORED",
            "ALTER COLUMN plain SET EXPRESSION AS (told(id))"})
    void aColumnThatIsAddedIsComputedAlike(String change) throws Exception {
        String alter = "DO $$ BEGIN ALTER TABLE t " + change + "; END $$";
        String table = "CREATE TABLE t (id int PRIMARY KEY, plain text GENERATED ALWAYS AS (id + 1) STORED)".replace(
                "(id + 1)",
                "(CASE WHEN id > 0 THEN '1' END)");
        try (Pair pair = new Pair(FUNCTIONS, table)) {
            pair.transaction("INSERT INTO t VALUES (1), (2)").apply(List.of(altered(pair, alter))).assertEqual("t");
            pair.transaction("INSERT INTO t VALUES (3)").assertEqual("t");
        }
        try (Pair pair = new Pair(FUNCTIONS, table)) {
            pair.transaction("INSERT INTO t VALUES (1), (10)");
            assertNotApplied(pair, altered(pair, alter));
        }
    }

    /** Values whose texts, lengths or precisions are not those of what the expression gives. */
    @Test
    void whatIsAlikeIsApplied() throws Exception {
        try (Pair pair = new Pair(
                "CREATE FUNCTION plain(numeric) RETURNS numeric IMMUTABLE LANGUAGE sql AS 'SELECT $1 * 1.5'",
                "CREATE DOMAIN short AS varchar(3)", "CREATE SCHEMA \"S s\"",
                """
                        CREATE TABLE "S s"."T t" ("made" int PRIMARY KEY, "a b" numeric, counted timestamptz, f float8, r int[],
                            told numeric(9, 2) GENERATED ALWAYS AS (plain("a b")) STORED,
                            "q q" int GENERATED ALWAYS AS (plain("a b")) STORED,
                            w text GENERATED ALWAYS AS (plain("a b")::text || (f / 3)::text) STORED,
                            p char(9) GENERATED ALWAYS AS (plain("a b")::text::short) STORED,
                            j jsonb GENERATED ALWAYS AS (('{"b":' || coalesce(plain("a b")::text, 'null') || ', "a":1.0}')::jsonb) STORED,
                            g float8 GENERATED ALWAYS AS (plain("a b")::float8 / 3) STORED,
                            h int[] GENERATED ALWAYS AS (array_remove(r, plain(1.5)::int)) STORED,
                            n text GENERATED ALWAYS AS (nullif(plain("a b"), 3)::text) STORED)""")) {
            String table = "\"S s\".\"T t\"";
            pair.transaction("INSERT INTO " + table
                    + " VALUES (1, 1.333, now(), -0.0, '{1,2,3}'), (2, 2, 'infinity', 'NaN', '[2:3]={2,7}'), (3, NULL, NULL, NULL, NULL)")
                    .assertEqual(table);
            pair.transaction("UPDATE " + table + " SET \"a b\" = 7.125").assertEqual(table);
            pair.transaction("UPDATE " + table + " SET \"a b\" = 2 WHERE made = 2",
                    "DELETE FROM " + table + " WHERE made = 1")
                    .assertEqual(table);
        }
    }

    /** Of what only the server's own functions compute nobody asks anything. */
    @Test
    void whatTheServerComputesCostsNothing() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY, word text, made tsvector GENERATED ALWAYS AS"
                + " (to_tsvector('english', word || coalesce(nullif(id, 3)::text, ''))) STORED)")) {
            pair.transaction("INSERT INTO t VALUES (1, 'words and more')").assertEqual("t");
            assertEquals("[[0]]", Pair.rows(pair.one,
                    "SELECT count(*) FROM pg_proc WHERE pronamespace = 'tutti'::regnamespace AND proname ~ '^apply_.*_[0-9]+$'"
                            + " AND prosrc ~ 'refuse_computed'")
                    .toString());
            assertEquals("[[0]]",
                    Pair.rows(pair.one, "SELECT count(*) FROM pg_trigger WHERE tgname = 'tutti_check'").toString());
        }
    }
}
