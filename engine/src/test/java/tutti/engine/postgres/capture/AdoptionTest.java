package tutti.engine.postgres.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import tutti.engine.postgres.LocalSession;
import tutti.engine.postgres.TestServer;
import tutti.pgwire.BackendConnection;

/** A schema change leaves each table captured and applied as a look at all tables would leave it, though it looks at few. */
class AdoptionTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    /** Versions of all that is kept for tables. */
    private static final String KEPT = """
            SELECT string_agg(what, chr(10) ORDER BY what) FROM (
                SELECT concat(proname, ' ', xmin, ' ', md5(prosrc)) FROM pg_proc
                    WHERE pronamespace = 'tutti'::regnamespace AND proname ~ '_[0-9]+$'
                UNION ALL SELECT concat(tgrelid, ' ', tgname, ' ', oid, tgisinternal) FROM pg_trigger WHERE tgname LIKE 'tutti%') k(what)""";

    private static void change(LocalSession session, String statement) throws Exception {
        session.execute("SELECT tutti.allow_statement('" + TestServer.CLUSTER_SECRET + "', '"
                + new Statement(statement, TestServer.USER, Map.of()).toText().replace("'", "''") + "')", statement);
    }

    /** As behind each request that every node executes: to look for triggers and functions of all would take longer than most requests. */
    @Test
    void whereNoTableIsConcernedNoneIsLookedAt() throws Exception {
        String database = TestServer.database("CREATE TABLE t (id int PRIMARY KEY)");
        TestServer.install(database, 0);
        BackendConnection admin = TestServer.connect(database);
        for (String concerned : List.of("'{}'", "NULL")) {
            admin.execute("BEGIN", PATIENCE);
            admin.execute("SELECT tutti.adopt(" + concerned + ")", PATIENCE);
            String scans = String.valueOf(
                    admin.execute("SELECT pg_stat_get_xact_numscans('pg_trigger'::regclass)", PATIENCE).value());
            admin.execute("ROLLBACK", PATIENCE);
            // the one is the update that marks triggers as the server's own
            assertEquals(concerned.equals("'{}'"), scans.equals("1"), concerned + ": " + scans);
        }
        admin.close();
    }

    @Test
    void whatAChangeConcernsIsLookedAt() throws Exception {
        String database = TestServer.database("CREATE TABLE parent (id int PRIMARY KEY, code int UNIQUE, other text)",
                "CREATE SCHEMA named", "CREATE TABLE named.t (a int, b int NOT NULL, c text)",
                "CREATE TABLE ranged (id int, at int, PRIMARY KEY (id, at)) PARTITION BY RANGE (at)",
                "CREATE TABLE ranged_1 PARTITION OF ranged FOR VALUES FROM (0) TO (10)",
                "CREATE TABLE apart (id int NOT NULL, at int NOT NULL, v text)", "CREATE ROLE adopted",
                "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
                "CREATE FUNCTION positive(int) RETURNS bool LANGUAGE internal IMMUTABLE AS 'int4_bool'");
        TestServer.install(database, 0);
        BackendConnection admin = TestServer.connect(database);
        admin.execute("SET session_replication_role = replica", PATIENCE);
        try (LocalSession session = new LocalSession(database)) {
            for (String statement : List.of(
                    "CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent (code), v text)",
                    "ALTER TABLE child ADD FOREIGN KEY (id) REFERENCES parent", "CREATE UNIQUE INDEX ON named.t (b)",
                    "ALTER TABLE named.t ADD PRIMARY KEY (a)", "CREATE INDEX ON parent (lower(other))",
                    "ALTER TABLE ranged ADD COLUMN v text", "CREATE UNIQUE INDEX ON ranged (at)",
                    "CREATE TABLE ranged_2 PARTITION OF ranged FOR VALUES FROM (10) TO (20)",
                    "ALTER TABLE ranged ATTACH PARTITION apart FOR VALUES FROM (20) TO (30)",
                    "ALTER TABLE ranged ALTER COLUMN id TYPE bigint", "ALTER TABLE ranged DETACH PARTITION ranged_1",
                    "ALTER TABLE parent OWNER TO adopted", "ALTER TABLE parent OWNER TO " + TestServer.USER,
                    "ALTER TABLE child ADD CHECK (v <> '')", "ALTER TABLE child DROP CONSTRAINT child_p_fkey",
                    "ALTER TABLE named.t RENAME COLUMN c TO d", "ALTER TABLE named.t RENAME TO u",
                    "ALTER SCHEMA named RENAME TO renamed",
                    "CREATE TRIGGER n AFTER INSERT ON parent EXECUTE FUNCTION nothing()",
                    "DROP INDEX renamed.t_b_idx", "DROP TABLE child", "ALTER TABLE parent DROP COLUMN code",
                    "CREATE TABLE filled AS SELECT 1 AS one", "DROP SCHEMA renamed CASCADE", "DROP TABLE ranged",
                    "CREATE TABLE called (id int PRIMARY KEY, v int, CHECK (positive(v)), CHECK (query_to_xml('SELECT late()', true, true, '') IS NOT NULL))",
                    "CREATE FUNCTION late() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'",
                    "CREATE OR REPLACE FUNCTION positive(int) RETURNS bool LANGUAGE plpgsql AS 'BEGIN RETURN $1 > 0; END'",
                    "ALTER FUNCTION positive(int) RENAME TO above", "ALTER FUNCTION above(int) STABLE",
                    "CREATE SCHEMA away", "ALTER FUNCTION above(int) SET SCHEMA away",
                    "ALTER TABLE called DROP CONSTRAINT called_v_check",
                    "CREATE STATISTICS counted ON lower(other), id FROM parent",
                    "ALTER STATISTICS counted SET STATISTICS 10",
                    "CREATE TABLE plain (id int PRIMARY KEY, v int)", "ALTER TABLE plain OWNER TO adopted",
                    "REVOKE INSERT ON plain FROM adopted", "GRANT INSERT ON plain TO adopted",
                    "REVOKE ALL ON ALL TABLES IN SCHEMA public FROM adopted",
                    "GRANT ALL ON ALL TABLES IN SCHEMA public TO adopted", "GRANT SELECT ON called TO PUBLIC",
                    "REVOKE USAGE ON SCHEMA public FROM PUBLIC", "GRANT USAGE ON SCHEMA public TO PUBLIC",
                    "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO adopted",
                    "CREATE POLICY p ON plain USING (true)",
                    "ALTER TABLE plain ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
                    "ALTER TABLE plain NO FORCE ROW LEVEL SECURITY", "ALTER POLICY p ON plain RENAME TO q",
                    "ALTER TRIGGER n ON parent RENAME TO m", "ALTER TABLE parent DISABLE TRIGGER m",
                    "CREATE RULE r AS ON INSERT TO filled DO ALSO SELECT 1", "ALTER RULE r ON filled RENAME TO s",
                    "CREATE VIEW seen AS SELECT * FROM parent", "ALTER VIEW seen RENAME TO looked",
                    "CREATE MATERIALIZED VIEW kept AS SELECT * FROM filled", "CREATE UNIQUE INDEX ON kept (one)",
                    "ALTER MATERIALIZED VIEW kept RENAME COLUMN one TO two", "DROP MATERIALIZED VIEW kept",
                    "CREATE DOMAIN few AS int CHECK (away.above(VALUE))", "ALTER TABLE filled ADD COLUMN few few",
                    "ALTER TABLE filled DROP COLUMN few")) {
                change(session, statement);
                session.gather();
                session.connection().commit();
                String kept = String.valueOf(admin.execute(KEPT, PATIENCE).value());
                admin.execute("SELECT tutti.adopt()", PATIENCE);
                assertEquals(kept, String.valueOf(admin.execute(KEPT, PATIENCE).value()), statement);
                assertEquals(List.of(), CaptureInstaller.uncaptured(admin), statement);
            }
        }
        admin.close();
    }
}
