package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tutti.core.spi.EngineFailure;
import tutti.engine.EngineContract.Result;

/** What is called when rows are written may change nothing: every node calls it. Its client's refuses it before others hear of it. */
@Timeout(60)
class ChangingChecksTest {
    private static final String RANDOM = "INSERT INTO noted VALUES (gen_random_uuid())";

    private static final String BY_F = "id int PRIMARY KEY, CHECK (f(id) > 0)";

    private static String[] schema(String change, String columns, String sessions) {
        return new String[]{"CREATE TABLE noted (id uuid)", """
                CREATE FUNCTION f(asked int) RETURNS int LANGUAGE plpgsql AS $$
                    BEGIN
                        IF asked < 10 AND session_user LIKE '%2$s' THEN %1$s; END IF;
                        RETURN asked;
                    END $$;
                CREATE FUNCTION g(asked int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN f(asked); END $$;
                CREATE DOMAIN d AS int CHECK (f(VALUE) > 0)""".formatted(change, sessions),
                "CREATE TABLE checked (" + columns + ")"};
    }

    private static String row(int id, String columns) {
        return "INSERT INTO checked VALUES (" + id + (columns.contains("word") ? ", " + value(id, columns) : "") + ")";
    }

    private static String value(int id, String columns) {
        return columns.contains("[]") ? "'{" + id + "}'" : String.valueOf(id);
    }

    private static void assertRefused(Pair pair, String sql) throws Exception {
        assertEquals("0A000", assertThrows(SQLException.class, () -> pair.session.execute(sql), sql).getSQLState());
        pair.session.connection().rollback();
    }

    @ParameterizedTest
    @CsvSource(quoteCharacter = '"', value = {
            RANDOM + ", \"" + BY_F + "\"",
            RANDOM + ", \"id int PRIMARY KEY, word d\"",
            RANDOM + ", \"id int PRIMARY KEY, word d[]\"",
            RANDOM + ", \"id int PRIMARY KEY, made int GENERATED ALWAYS AS (g(id)) STORED\"",
            RANDOM + ", \"id int PRIMARY KEY, EXCLUDE (g(id) WITH =)\"",
            RANDOM + ", \"id int PRIMARY KEY, others int DEFAULT 0, EXCLUDE (id WITH =) WHERE (g(id) > 0)\""})
    void theNodeOfTheClientRefusesWhatChangesMoreElsewhere(String change, String columns) throws Exception {
        try (Pair pair = new Pair(schema(change, columns, "%"))) {
            pair.transaction(row(10, columns)).assertEqual("checked");
            assertRefused(pair, row(1, columns));
            assertRefused(pair,
                    "UPDATE checked SET id = 1" + (columns.contains("word") ? ", word = " + value(1, columns) : ""));
        }
    }

    /** It is asked for the values that a column has for those who read it, which the row does not have. */
    @Test
    void whatLooksAtAVirtualColumnSeesItsValue() throws Exception {
        try (Pair pair = new Pair("""
                CREATE FUNCTION positive(int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
                    IF $1 IS NULL THEN RAISE 'null'; END IF;
                    RETURN $1 > 0;
                END $$""",
                "CREATE TABLE t (id int PRIMARY KEY, \"a b\" int, v int GENERATED ALWAYS AS (\"a b\" + 1) VIRTUAL,"
                        + " s int GENERATED ALWAYS AS (\"a b\" * 2) STORED, w text GENERATED ALWAYS AS (id || 'x') VIRTUAL,"
                        + " CHECK (positive(v) AND positive(s) AND w IS NOT NULL), CHECK (t.v > t.id))")) {
            pair.transaction("INSERT INTO t VALUES (1, 1), (2, 5)").transaction("UPDATE t SET \"a b\" = 7 WHERE id = 1")
                    .assertEqual("t");
            assertEquals("23514",
                    assertThrows(SQLException.class, () -> pair.session.execute("INSERT INTO t VALUES (3, -1)"))
                            .getSQLState());
        }
    }

    /** Nothing depends on the server's own function, and the function that its text names may be made later. */
    @Test
    void aTextThatTheServersOwnFunctionExecutesIsLookedAt() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE noted (id uuid)", "CREATE TABLE checked (id int PRIMARY KEY,"
                + " CHECK (query_to_xml('SELECT public.f()', true, true, '') IS NOT NULL))")) {
            pair.session.execute("DO $do$ BEGIN CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN " + RANDOM
                    + "; RETURN 1; END $$; END $do$");
            assertRefused(pair, row(1, BY_F));
        }
    }

    @Test
    void whoHasNoSuchFunctionAnyMoreIsNotAsked() throws Exception {
        try (Pair pair = new Pair(schema(RANDOM, BY_F, "%"))) {
            pair.session.execute("DO $$ BEGIN ALTER TABLE checked ADD COLUMN more int; END $$");
            assertRefused(pair, row(1, BY_F));
            pair.session
                    .execute("DO $$ BEGIN ALTER TABLE checked DROP CONSTRAINT checked_id_check; END $$", row(1, BY_F))
                    .gather();
            pair.session.connection().commit();
            assertEquals("[[0]]", Pair.rows(pair.one,
                    "SELECT count(*) FROM pg_trigger WHERE tgname = 'tutti_check'").toString());
        }
    }

    /** The function changes something in sessions of appliers alone. */
    @ParameterizedTest
    @CsvSource(quoteCharacter = '"', value = {
            RANDOM + ", \"id int PRIMARY KEY, CHECK (f(id) > 0)\"",
            RANDOM + ", \"id int PRIMARY KEY, word d DEFAULT 1\"",
            RANDOM + ", \"id int PRIMARY KEY, made int GENERATED ALWAYS AS (g(id)) STORED\"",
            RANDOM + ", \"id int PRIMARY KEY, EXCLUDE (g(id) WITH =)\"",
            "TRUNCATE noted, \"id int PRIMARY KEY, CHECK (f(id) > 0)\"",
            "CREATE TABLE IF NOT EXISTS made (id int), \"id int PRIMARY KEY, CHECK (f(id) > 0)\""})
    void whatIsCalledForARowMayChangeNothing(String change, String columns) throws Exception {
        try (Pair pair = new Pair(schema(change, columns, "tutti\\_%"))) {
            pair.transaction(row(10, columns)).assertEqual("checked");
            Result<Void> applied = new Result<>();
            pair.applier.apply(pair.position + 1, List.of(pair.session.commit(row(1, columns))),
                    applied);
            EngineFailure failure = applied.failure();
            assertEquals("0A000", failure.sqlState(), failure.toString());
            assertFalse(failure.transientFailure(), failure.toString());
            assertEquals("[[0]]", Pair.rows(pair.other, "SELECT count(*) FROM noted").toString());
        }
    }
}
