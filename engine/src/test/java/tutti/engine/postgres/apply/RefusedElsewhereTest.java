package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rows that the client's node accepts and others would refuse are refused by it, before they are committed. */
@Timeout(60)
class RefusedElsewhereTest {
    private static final String ROLE = "DO $$ BEGIN CREATE ROLE writer; EXCEPTION WHEN duplicate_object THEN NULL; END $$";

    private static void assertRefused(Pair pair, String sqlState, String sql) throws SQLException {
        SQLException refused = assertThrows(SQLException.class, () -> pair.session.execute(sql), sql);
        assertEquals(sqlState, refused.getSQLState(), sql + ": " + refused);
        pair.session.connection().rollback();
    }

    private static void assertRefusedInCode(Pair pair, String sql) throws SQLException {
        assertRefused(pair, "0A000", "DO $do$ BEGIN EXECUTE $f$" + sql + "$f$; END $do$");
    }

    @ParameterizedTest
    @ValueSource(strings = {"CREATE TABLE t (day date CHECK (day <= CURRENT_DATE))",
            "ALTER TABLE perm ADD CHECK (at <= now())",
            "CREATE TABLE t (until timestamptz CHECK (until > clock_timestamp()))",
            "CREATE TABLE t (born date CHECK (age(born) > '18 years'))",
            "CREATE TABLE t (by text CHECK (by = SESSION_USER))",
            "CREATE TABLE t (of int CHECK (of = current_setting('app.tenant')::int))",
            "CREATE TABLE t (a int CHECK (a > random()))", "CREATE DOMAIN past AS date CHECK (VALUE < LOCALTIMESTAMP)",
            "CREATE TABLE t (LIKE perm, CHECK (pg_backend_pid() > id))"})
    void aCheckOfTheMomentIsNotMade(String sql) throws Exception {
        try (Pair pair = new Pair("CREATE TABLE perm (id int PRIMARY KEY, at timestamptz)")) {
            assertRefusedInCode(pair, sql);
            pair.session.execute("CREATE TEMP TABLE own (day date CHECK (day <= CURRENT_DATE))");
        }
    }

    @Test
    void aCheckOfTheUserIsMadeAsOthersMakeIt() throws Exception {
        try (Pair pair = new Pair(ROLE, "CREATE TABLE t (id int PRIMARY KEY, by text CHECK (by = current_user))",
                "GRANT ALL ON t TO writer")) {
            pair.transaction("INSERT INTO t VALUES (1, current_user)").assertEqual("t");
            assertRefused(pair, "23514", "SET LOCAL ROLE writer; INSERT INTO t VALUES (2, 'writer')");
            assertRefused(pair, "23514", "SET LOCAL ROLE writer; UPDATE t SET by = 'writer'");
            pair.transaction("INSERT INTO t VALUES (2, NULL)").transaction("DELETE FROM t WHERE id = 1")
                    .assertEqual("t");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"CHECK (at::date < '2030-01-01')", "CHECK (to_char(at, 'YYYY') < '2030')",
            "CHECK (at::text < '2030')"})
    void aCheckOfSettingsIsMadeAsOthersMakeIt(String check) throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY, at timestamptz " + check + ")",
                "CREATE DOMAIN early AS timestamptz " + check.replace("at", "VALUE").replace("dVALUEe", "date"),
                "CREATE TABLE of_domain (id int PRIMARY KEY, at early)")) {
            pair.session.execute("SET timezone = 'Etc/GMT+5'").connection().commit();
            for (String table : List.of("t", "of_domain")) {
                pair.transaction("INSERT INTO " + table + " VALUES (1, '2029-12-31 20:00+00')").assertEqual(table);
                assertRefused(pair, "23514", "INSERT INTO " + table + " VALUES (2, '2030-01-01 01:00+00')");
            }
        }
    }

    /** What such a clean-up does instead is told by rows that all can read. */
    @Test
    void aDomainWhoseConditionCameLater() throws Exception {
        try (Pair pair = new Pair("CREATE DOMAIN positive AS int",
                "CREATE TABLE stock (id int PRIMARY KEY, n positive, v text)",
                "CREATE TABLE keyless (n positive)", "INSERT INTO stock VALUES (1, -1), (2, 2), (3, -3)",
                "INSERT INTO keyless VALUES (-1)",
                "ALTER DOMAIN positive ADD CONSTRAINT above CHECK (VALUE > 0) NOT VALID")) {
            assertRefused(pair, "23514", "DELETE FROM stock WHERE n <= 0");
            assertRefused(pair, "23514", "UPDATE stock SET v = 'x' WHERE id = 1");
            assertRefused(pair, "23514", "UPDATE stock SET id = 9, n = 9 WHERE id = 1");
            assertRefused(pair, "23514", "UPDATE keyless SET n = 1");
            pair.transaction("UPDATE stock SET n = 1 WHERE n <= 0").transaction("DELETE FROM stock WHERE id = 1")
                    .transaction("UPDATE stock SET id = 4 WHERE id = 3", "INSERT INTO stock VALUES (5, 5)")
                    .assertEqual("stock");
            assertRefusedInCode(pair, "CREATE TABLE made AS SELECT * FROM keyless");
        }
    }

    @Test
    void aDomainThatTakesNoNull() throws Exception {
        try (Pair pair = new Pair("CREATE DOMAIN mail AS text NOT NULL CHECK (VALUE <> '')",
                "CREATE TABLE u (id int PRIMARY KEY, mail mail)",
                "CREATE TABLE report (id int PRIMARY KEY, mail mail)",
                "CREATE TABLE lists (id int PRIMARY KEY, mails mail[])",
                "CREATE TABLE sure (id int PRIMARY KEY, mail mail NOT NULL)")) {
            pair.transaction("INSERT INTO u VALUES (1, 'a')", "INSERT INTO lists VALUES (1, '{a,b}')",
                    "INSERT INTO report SELECT i, u.mail FROM generate_series(1, 1) i LEFT JOIN u ON u.id = i")
                    .assertEqual("report", "lists");
            assertRefused(pair, "23502",
                    "INSERT INTO report SELECT i, u.mail FROM generate_series(2, 2) i LEFT JOIN u ON u.id = i");
            assertRefused(pair, "23502", "UPDATE report SET mail = (SELECT mail FROM u WHERE id = 7)");
            assertRefusedInCode(pair,
                    "CREATE TABLE made AS SELECT i, u.mail FROM generate_series(1, 2) i LEFT JOIN u ON u.id = i");
            assertEquals("[[lists, f], [report, t], [u, t]]", Pair.rows(pair.one,
                    "SELECT tgrelid::regclass::text, tgqual IS NOT NULL FROM pg_trigger WHERE tgname = 'tutti_check' ORDER BY 1")
                    .toString());
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', value = {"temporary | 'own'::regclass | 0A000",
            "stored | (SELECT reltoastrelid FROM pg_class WHERE oid = 't'::regclass)::regclass | 0A000",
            "twofold | 'f(int)'::regprocedure::regproc | 42725"})
    void aNameThatOthersDoNotHave(String name, String value, String sqlState) throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY, r regclass, p regproc, w text)",
                "CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
                "CREATE FUNCTION f(text) RETURNS int LANGUAGE sql AS 'SELECT 1'")) {
            pair.session.execute("CREATE TEMP TABLE own (id int)").connection().commit();
            pair.transaction("INSERT INTO t VALUES (1, 't', 'now', 'x'), (2, NULL, NULL, 'own')").assertEqual("t");
            String column = value.endsWith("regproc") ? "p" : "r";
            assertRefused(pair, sqlState, "INSERT INTO t (id, " + column + ") VALUES (3, " + value + ")");
            assertRefused(pair, sqlState, "UPDATE t SET " + column + " = " + value);
            if (sqlState.equals("0A000")) {
                assertRefusedInCode(pair, "CREATE TABLE " + name + " AS SELECT " + value + " AS r");
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"CREATE TABLE old AS SELECT * FROM pg_attrdef", "CREATE TABLE old (a pg_node_tree)",
            "CREATE TABLE old (a pg_mcv_list, b int)", "ALTER TABLE perm ADD tree pg_node_tree"})
    void aTypeWithoutInput(String sql) throws Exception {
        try (Pair pair = new Pair("CREATE TABLE perm (id int PRIMARY KEY)")) {
            assertRefusedInCode(pair, sql);
        }
    }

    /** Nothing more is asked where all is the same at all nodes. */
    @Test
    void whatIsCertainCostsNothing() throws Exception {
        try (Pair pair = new Pair("CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
                "CREATE DOMAIN named AS text NOT NULL",
                "CREATE TABLE t (id int PRIMARY KEY, n positive, v named NOT NULL, c text CHECK (c <> 'x' AND length(c) < 99), d date CHECK (d > '2020-01-01'))")) {
            pair.transaction("INSERT INTO t VALUES (1, 1, 'a', 'b', '2021-01-01')").assertEqual("t");
            assertEquals("[[0]]",
                    Pair.rows(pair.one, "SELECT count(*) FROM pg_trigger WHERE tgname = 'tutti_check'").toString());
        }
    }
}
