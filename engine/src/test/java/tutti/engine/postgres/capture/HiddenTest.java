package tutti.engine.postgres.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import tutti.engine.postgres.LocalSession;
import tutti.engine.postgres.TestServer;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.PostgresException;

/** What is a node's own in a database is not among what dumps of it tell. */
class HiddenTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    /** What pg_dump of release 18 would tell of, by the catalogs that it looks at. */
    private static final String SHOWN = """
            SELECT string_agg(what, ', ' ORDER BY what) FROM (
                SELECT format('trigger %s on %s', tgname, tgrelid::regclass) FROM pg_trigger
                    WHERE NOT tgisinternal AND starts_with(tgname, 'tutti_')
                UNION ALL SELECT 'function ' || p.oid::regprocedure FROM pg_proc p WHERE pronamespace = 'tutti'::regnamespace
                    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid
                        AND (d.deptype = 'i' OR d.deptype = 'e' AND d.refobjid < 16384))
                UNION ALL SELECT 'relation ' || c.oid::regclass FROM pg_class c
                    WHERE relnamespace = 'tutti'::regnamespace AND relkind IN ('r', 'v', 'S') AND NOT EXISTS (SELECT FROM pg_depend d
                        WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e' AND d.refobjid < 16384)
                UNION ALL SELECT 'event trigger ' || evtname FROM pg_event_trigger e WHERE NOT EXISTS (SELECT FROM pg_depend d
                    WHERE d.classid = 'pg_event_trigger'::regclass AND d.objid = e.oid AND d.deptype = 'e')
                UNION ALL SELECT 'rights on ' || o.name FROM (
                    SELECT oid, 'pg_proc'::regclass, 0, proacl, proname FROM pg_proc WHERE pronamespace = 'tutti'::regnamespace
                        AND proname !~ '[0-9]$'
                    UNION ALL SELECT oid, 'pg_class'::regclass, 0, relacl, relname FROM pg_class
                        WHERE relnamespace = 'tutti'::regnamespace
                    UNION ALL SELECT oid, 'pg_namespace'::regclass, 0, nspacl, nspname FROM pg_namespace WHERE nspname = 'tutti'
                    UNION ALL SELECT attrelid, 'pg_class'::regclass, attnum, attacl, attname FROM pg_attribute JOIN pg_class c
                        ON c.oid = attrelid WHERE relnamespace = 'tutti'::regnamespace) o(id, class, part, acl, name)
                    LEFT JOIN pg_init_privs i ON i.objoid = o.id AND i.classoid = o.class AND i.objsubid = o.part
                    WHERE o.acl IS DISTINCT FROM i.initprivs
            ) shown(what)""";

    private static String ask(BackendConnection admin, String sql) throws Exception {
        return String.valueOf(admin.execute(sql, PATIENCE).value());
    }

    private static String allow(String statement) {
        return "SELECT tutti.allow_statement('" + TestServer.CLUSTER_SECRET + "', '"
                + new Statement(statement, TestServer.USER, Map.of()).toText() + "')";
    }

    private static void change(LocalSession session, String statement) throws SQLException {
        session.execute(allow(statement), statement);
    }

    /** It has none of them, and nobody would hide them again. */
    @Test
    void triggersAreNotShownForATemporaryTable() throws Exception {
        String database = TestServer.database("CREATE TABLE t (id int PRIMARY KEY)",
                "CREATE TABLE \"U u\" (id int PRIMARY KEY)");
        TestServer.install(database, 0);
        BackendConnection admin = TestServer.connect(database);
        try (LocalSession session = new LocalSession(database)) {
            session.execute("CREATE TEMP TABLE x (a int)");
            for (String named : List.of("x", "/* it */ IF EXISTS ONLY pg_temp . \"x\"", "U&\"x\"")) {
                session.execute("ALTER TABLE " + named + " DISABLE TRIGGER ALL");
                session.connection().commit();
                assertEquals("null", ask(admin, SHOWN), named);
            }
            change(session, "ALTER -- this\n TABLE public.\"U u\" DISABLE TRIGGER ALL");
            session.gather();
            session.connection().commit();
            assertEquals("null", ask(admin, SHOWN));
        }
        admin.close();
    }

    @Test
    void nothingIsShownHoweverTheSchemaChanges() throws Exception {
        String database = TestServer.database("CREATE TABLE t (id serial PRIMARY KEY, v text)",
                "CREATE TABLE c (id int PRIMARY KEY, t int REFERENCES t)");
        TestServer.install(database, 0);
        BackendConnection admin = TestServer.connect(database);
        try (LocalSession session = new LocalSession(database)) {
            assertEquals("null", ask(admin, SHOWN));
            for (String statement : List.of("CREATE TABLE u (id int PRIMARY KEY, v text)", "CREATE TABLE bare ()",
                    "ALTER TABLE u ADD COLUMN w int UNIQUE", "ALTER TABLE u DISABLE TRIGGER ALL",
                    "ALTER TABLE t ENABLE TRIGGER USER", "ALTER TABLE u DROP COLUMN v", "ALTER TABLE u RENAME TO x",
                    "DROP TABLE c", "ALTER TABLE x DROP COLUMN w, DROP COLUMN id")) {
                change(session, statement);
                session.gather();
                session.connection().commit();
                assertEquals("null", ask(admin, SHOWN), statement);
                assertEquals(List.of(), CaptureInstaller.uncaptured(admin), statement);
            }
            assertEquals("true",
                    ask(admin, "SELECT (NOT EXISTS (SELECT FROM pg_proc p WHERE pronamespace = 'tutti'::regnamespace"
                            + " AND proname ~ '_[0-9]+$' AND substring(proname FROM '[0-9]+$')::oid <> 't'::regclass))::text"));
            TestServer.install(database, 0);
            assertEquals("null", ask(admin, SHOWN), "installed again");
        }
        admin.close();
    }

    @Test
    void whatATablesOwnerOwnsGoesWithHim() throws Exception {
        String database = TestServer.database("CREATE ROLE leaver", "CREATE TABLE t (id int PRIMARY KEY)",
                "ALTER TABLE t OWNER TO leaver");
        TestServer.install(database, 0);
        BackendConnection admin = TestServer.connect(database);
        try (LocalSession session = new LocalSession(database)) {
            change(session, "ALTER TABLE t ADD COLUMN v int CHECK (v > 0)");
            change(session, "DROP OWNED BY leaver");
            session.gather();
            session.connection().commit();
            assertEquals("0", ask(admin, "SELECT count(*) FROM pg_proc WHERE pronamespace = 'tutti'::regnamespace"
                    + " AND proname ~ '_[0-9]+$'"));
            assertEquals("null", ask(admin, SHOWN));
        }
        admin.close();
    }

    @Test
    void theExtensionThatHidesItCannotBeDropped() throws Exception {
        String database = TestServer.database();
        TestServer.install(database, 0);
        BackendConnection admin = TestServer.connect(database);
        PostgresException refused = assertThrows(PostgresException.class,
                () -> admin.execute("DROP EXTENSION tutti CASCADE", PATIENCE));
        assertTrue(refused.getMessage().contains("required by the database system"), refused.getMessage());
        admin.close();
    }
}
