package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.LocalSession;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.capture.CaptureReader;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.catalog.TableCatalog;

/** Schema changes in transaction blocks that concern temporary objects, or use them, or tell of their session: other nodes are told what they can make. */
@Timeout(60)
class TemporaryObjectsTest {
    private static final String[] SCHEMA = {"CREATE TABLE perm (id int PRIMARY KEY, v text)",
            "DO $$ BEGIN CREATE ROLE reader; EXCEPTION WHEN duplicate_object THEN NULL; END $$"};
    private static final String[] OWN = {
            "CREATE TEMP TABLE s (id int, v text DEFAULT 'x', w int GENERATED ALWAYS AS (id + 1) STORED)",
            "CREATE INDEX ON s (v)", "CREATE TEMP SEQUENCE own_seq",
            "CREATE DOMAIN pg_temp.word AS text CHECK (VALUE <> '')",
            "CREATE FUNCTION pg_temp.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
            "CREATE FUNCTION pg_temp.one() RETURNS int LANGUAGE sql AS 'SELECT 1'"};

    /** As a client's statement in a block, which its node has recorded before. */
    private static LocalSession sent(LocalSession session, int place, String sql) throws SQLException {
        Statement statement = new Statement(place, sql, TestServer.USER, Map.of("search_path", "public"));
        return session.execute("SELECT tutti.allow_statement('\\x"
                + HexFormat.of().formatHex(TestServer.CLUSTER_SECRET.getBytes(StandardCharsets.UTF_8)) + "', '"
                + statement.toText().replace("'", "''") + "')", sql);
    }

    private static LocalSession nested(LocalSession session, String sql) throws SQLException {
        return session.execute("DO $do$ BEGIN EXECUTE $f$" + sql + "$f$; END $do$");
    }

    private static void commit(Pair pair, TableCatalog before, int changes) throws Exception {
        byte[] gathered = pair.session.gather();
        pair.session.connection().commit();
        TableCatalog[] inside = new TableCatalog[changes + 1];
        Arrays.fill(inside, LocalSession.catalog(pair.one));
        List<@Nullable TableCatalog> catalogs = new ArrayList<>(Arrays.asList(inside));
        pair.apply(List.of(CaptureReader.read(before, catalogs, gathered).writes()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"GRANT SELECT ON s TO reader", "GRANT SELECT (id, v) ON pg_temp.s TO PUBLIC",
            "REVOKE ALL ON s FROM reader",
            "GRANT EXECUTE ON FUNCTION pg_temp.one() TO reader", "GRANT USAGE ON TYPE pg_temp.word TO reader",
            "GRANT SELECT ON s, own_seq TO reader", "COMMENT ON COLUMN s.id IS 'x'",
            "COMMENT ON FUNCTION pg_temp.one() IS 'x'",
            "CREATE VIEW v AS SELECT * FROM s", "DROP TABLE s CASCADE", "DROP TABLE IF EXISTS missing",
            "CREATE TRIGGER t BEFORE INSERT ON s FOR EACH ROW EXECUTE FUNCTION pg_temp.f()",
            "ALTER TABLE s ADD x int DEFAULT 7",
            "ALTER SEQUENCE own_seq RENAME TO other_seq", "CREATE INDEX ON s (id)"})
    void whatConcernsTemporaryObjectsIsToldToNobody(String sql) throws Exception {
        try (Pair pair = new Pair(SCHEMA)) {
            pair.session.execute(OWN).connection().commit();
            pair.session.execute("INSERT INTO perm VALUES (1, 'one')");
            sent(pair.session, 0, sql).execute("INSERT INTO perm VALUES (2, 'two')");
            assertFalse(pair.session.capture().schemaChanged());
            pair.session.connection().rollback();
            nested(pair.session.execute("INSERT INTO perm VALUES (1, 'one')"), sql)
                    .execute("INSERT INTO perm VALUES (2, 'two')");
            assertFalse(pair.session.capture().schemaChanged());
            pair.session.connection().rollback();
            pair.session.execute("INSERT INTO perm VALUES (1, 'one')", sql);
            assertFalse(pair.session.capture().schemaChanged());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"CREATE TABLE final (LIKE s INCLUDING ALL)", "CREATE TABLE final (LIKE /* it */ \"s\")",
            "CREATE TABLE final (v pg_temp.word)", "CREATE TABLE final (id int DEFAULT pg_temp.one())",
            "CREATE TABLE final (v s)",
            "CREATE TABLE final (id int DEFAULT nextval('own_seq'))", "ALTER TABLE perm ADD w word",
            "CREATE FUNCTION g(a s) RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "CREATE FUNCTION g() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM s; END",
            "CREATE TRIGGER t BEFORE INSERT ON perm FOR EACH ROW EXECUTE FUNCTION pg_temp.f()",
            "CREATE RULE r AS ON INSERT TO perm DO ALSO INSERT INTO s VALUES (1)",
            "CREATE STATISTICS st ON id, v FROM s",
            "CREATE VIEW v AS SELECT pg_temp.one()", "CREATE POLICY p ON perm USING (id IN (SELECT id FROM s))",
            "DROP TABLE perm, s", "GRANT SELECT ON perm, s TO reader", "REVOKE SELECT ON s, perm FROM reader"})
    void whatUsesTemporaryObjectsIsRefused(String sql) throws Exception {
        try (Pair pair = new Pair(SCHEMA)) {
            pair.session.execute(OWN).connection().commit();
            SQLException refused = assertThrows(SQLException.class, () -> sent(pair.session, 0, sql));
            assertEquals("0A000", refused.getSQLState(), refused.toString());
            assertTrue(refused.getMessage().contains("emporary"), refused.toString());
            pair.session.connection().rollback();
            SQLException inside = assertThrows(SQLException.class, () -> nested(pair.session, sql));
            assertEquals("0A000", inside.getSQLState(), inside.toString());
        }
    }

    @Test
    void whatOnlyHasTheirNamesArrives() throws Exception {
        try (Pair pair = new Pair(SCHEMA)) {
            TableCatalog before = LocalSession.catalog(pair.one);
            pair.session.execute(OWN).execute("INSERT INTO s (id) VALUES (1)");
            String[] changes = {"CREATE TABLE final (s int PRIMARY KEY, word text)",
                    "CREATE TABLE copied (LIKE perm INCLUDING ALL)",
                    "GRANT SELECT ON perm, final TO reader", "ALTER TABLE perm ADD s text CHECK (s LIKE 'a%')",
                    "CREATE FUNCTION reads() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM s'",
                    "CREATE FUNCTION types() RETURNS int LANGUAGE plpgsql SET search_path = public, pg_temp AS 'DECLARE r s%ROWTYPE; BEGIN RETURN r.id; END'"};
            for (int i = 0; i < changes.length; i++) {
                sent(pair.session, i, changes[i]);
            }
            nested(pair.session, "CREATE FUNCTION deeper() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM s'");
            pair.session.execute("INSERT INTO final VALUES (1, 'x')", "INSERT INTO copied VALUES (1, 'y')");
            commit(pair, before, changes.length + 1);
            pair.assertEqual("final", "copied");
            for (String database : List.of(pair.one, pair.other)) {
                assertEquals("[[deeper], [reads], [types]]", Pair.rows(database,
                        "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1")
                        .toString());
                assertEquals("[[t]]",
                        Pair.rows(database, "SELECT has_table_privilege('reader', 'final', 'SELECT')").toString());
            }
        }
    }

    /** Other nodes execute it in sessions of roles of their own. */
    @ParameterizedTest
    @ValueSource(strings = {"GRANT SELECT ON perm TO reader, SESSION_USER",
            "ALTER TABLE perm OWNER TO /* me */ session_user",
            "CREATE POLICY p ON perm TO SESSION_USER USING (true)", "CREATE SCHEMA AUTHORIZATION session_user",
            "ALTER DEFAULT PRIVILEGES FOR ROLE session_user GRANT SELECT ON TABLES TO reader",
            "CREATE FUNCTION g() RETURNS int LANGUAGE sql SET \"work_mem\" FROM CURRENT AS 'SELECT 1'",
            "ALTER FUNCTION lower(text) SET app.x FROM /* now */ CURRENT"})
    void whatTellsOfTheSessionIsRefusedInCode(String sql) throws Exception {
        try (Pair pair = new Pair(SCHEMA)) {
            assertEquals("0A000", assertThrows(SQLException.class, () -> nested(pair.session, sql)).getSQLState());
            pair.session.connection().rollback();
            TableCatalog before = LocalSession.catalog(pair.one);
            String kept = "CREATE TABLE told (id int PRIMARY KEY, a text DEFAULT session_user, b text DEFAULT 'to session_user', \"from session_user\" int)";
            nested(pair.session, kept);
            nested(pair.session,
                    "CREATE FUNCTION g() RETURNS int LANGUAGE sql SET search_path FROM CURRENT AS 'SELECT 1'");
            pair.session.execute("INSERT INTO told VALUES (1)");
            commit(pair, before, 2);
            pair.assertEqual("told");
        }
    }
}
