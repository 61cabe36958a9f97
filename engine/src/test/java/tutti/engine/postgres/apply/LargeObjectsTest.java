package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;
import org.postgresql.largeobject.LargeObject;
import org.postgresql.largeobject.LargeObjectManager;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.LocalSession;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.engine.postgres.capture.CaptureReader;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.pgwire.BackendConnection;

/** Large objects that a transaction makes, writes or unlinks, in whatever way, are the same at another replica. */
@Timeout(300)
class LargeObjectsTest {
    private static final String PAGES = "SELECT loid, pageno, encode(sha256(data), 'hex'), length(data) FROM pg_largeobject"
            + " ORDER BY loid, pageno";
    private static final String OBJECTS = "SELECT m.oid, m.lomowner::regrole, c.description,"
            + " (SELECT array_agg(a.*::text ORDER BY a.*::text) FROM aclexplode(m.lomacl) a) AS rights"
            + " FROM pg_largeobject_metadata m LEFT JOIN pg_description c ON c.objoid = m.oid AND c.classoid = 2613 ORDER BY m.oid";
    private static Pair pair;

    @BeforeAll
    static void begin() throws Exception {
        pair = new Pair("CREATE TABLE t (id int PRIMARY KEY, v text)", "CREATE EXTENSION lo",
                "CREATE TABLE managed (id int PRIMARY KEY, object lo)",
                "CREATE TRIGGER unlinks BEFORE UPDATE OR DELETE ON managed FOR EACH ROW EXECUTE FUNCTION lo_manage(object)",
                "DO $$ BEGIN IF to_regrole('lo_ann') IS NULL THEN CREATE ROLE lo_ann; CREATE ROLE \"lo Bob\"; END IF; END $$",
                "ALTER DEFAULT PRIVILEGES FOR ROLE \"lo Bob\" GRANT SELECT ON LARGE OBJECTS TO lo_ann WITH GRANT OPTION",
                "ALTER DEFAULT PRIVILEGES FOR ROLE \"lo Bob\" GRANT UPDATE ON LARGE OBJECTS TO PUBLIC");
        pair.session.connection().rollback();
        CaptureInstaller.Settings settings = TestServer.settings(0);
        BackendConnection connection = TestServer.connect(pair.one);
        CaptureInstaller.install(connection, new CaptureInstaller.Settings(settings.nodeIndex(), settings.stride(),
                settings.secret(), settings.transactionLimitBytes(), true));
        connection.close();
    }

    @AfterAll
    static void end() throws Exception {
        pair.close();
    }

    @BeforeEach
    void anew() throws Exception {
        pair.session.execute("ROLLBACK", "RESET ROLE");
        emptied();
        assertEquals(List.of(), Pair.rows(pair.other, OBJECTS));
        assertEquals(List.of(), Pair.rows(pair.other, PAGES));
    }

    private static void emptied() throws Exception {
        pair.session.execute("SELECT lo_unlink(oid) FROM pg_largeobject_metadata");
        byte[] gathered = pair.session.gather();
        if (gathered != null) {
            WriteSet writes = CaptureReader.read(LocalSession.catalog(pair.one), gathered).writes();
            pair.session.connection().commit();
            pair.apply(List.of(writes));
        }
        pair.session.connection().rollback();
    }

    private static void assertAlike() throws Exception {
        assertEquals(Pair.rows(pair.one, OBJECTS), Pair.rows(pair.other, OBJECTS));
        assertEquals(Pair.rows(pair.one, PAGES), Pair.rows(pair.other, PAGES));
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "SELECT lo_put(7, 0, 'x')",
            "SELECT lo_put(7, 6000, 'far behind')",
            "SELECT lo_put(7, 5000000, 'a hole')",
            "SELECT lo_put(7, 2047, 'over a page')",
            "SELECT lo_unlink(7)",
            "SELECT lo_unlink(7), lo_create(7)",
            "SELECT lo_unlink(7); SELECT lo_create(7); SELECT lo_put(7, 6000, 'of another')",
            "SELECT lo_from_bytea(8, repeat('page ', 2000)::bytea); SELECT lo_unlink(7)",
            "SELECT lo_create(8), lo_put(7, 1, 'y')",
            "SELECT lo_create(8); SELECT lo_unlink(8)",
            "SELECT lo_open(7, 131072); SELECT lo_truncate(0, 3000)",
            "SELECT lo_open(7, 131072); SELECT lo_truncate(0, 2048)",
            "SELECT lo_open(7, 131072); SELECT lo_truncate64(0, 0)",
            "SELECT lo_open(7, 131072); SELECT lo_truncate(0, 9000000)",
            "SELECT lo_open(7, 131072); SELECT lo_lseek(0, 100, 0); SELECT lowrite(0, 'in the middle')",
            "SAVEPOINT s; SELECT lo_put(7, 0, 'gone'); ROLLBACK TO s; SELECT lo_create(8); SAVEPOINT u; SELECT lo_put(8, 0, 'kept')",
            "SAVEPOINT s; SELECT lo_unlink(7); ROLLBACK TO s; SELECT lo_put(7, 0, 'there')",
            "DO $$ BEGIN PERFORM lo_put(7, 0, 'code'); EXECUTE 'SELECT lo_creat(-1)'; EXCEPTION WHEN division_by_zero THEN NULL; END $$",
            "SET ROLE \"lo Bob\"; SELECT lo_create(8), lo_creat(-1), lo_from_bytea(0, 'x'); RESET ROLE",
            "SET LOCAL track_counts = off; SELECT lo_put(7, 0, 'uncounted')"})
    void whatIsDoneIsDoneElsewhere(String script) throws Exception {
        for (String level : List.of("REPEATABLE READ", "SERIALIZABLE")) {
            pair.transaction("SET TRANSACTION ISOLATION LEVEL " + level,
                    "SELECT lo_from_bytea(7, repeat('0123456789', 1000)::bytea)");
            assertAlike();
            pair.transaction("SET TRANSACTION ISOLATION LEVEL " + level, script);
            assertAlike();
            assertEquals(List.of(List.of("0")), Pair.rows(pair.one, "SELECT count(*) FROM tutti.touched"), level);
            emptied();
            assertAlike();
        }
    }

    @Test
    void serializableTransactionsDoNotMeetInWhatIsNoted() throws Exception {
        pair.transaction("INSERT INTO managed VALUES (1, lo_from_bytea(7, 'old'))");
        try (LocalSession reader = new LocalSession(pair.one)) {
            String serializable = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE";
            pair.session.execute(serializable, "UPDATE managed SET object = lo_from_bytea(8, 'new') WHERE id = 1");
            reader.execute(serializable, "SELECT object FROM managed WHERE id = 1");
            WriteSet writes = pair.session.commit();
            reader.execute("SELECT loread(lo_open(7, 262144), 10)");
            reader.capture();
            reader.connection().commit();
            pair.apply(List.of(writes));
            assertAlike();
        }
        pair.transaction("DELETE FROM managed");
    }

    @Test
    void driversWriteThemByCallsOfFunctions() throws Exception {
        LargeObjectManager manager = pair.session.connection().unwrap(PGConnection.class).getLargeObjectAPI();
        long object = manager.createLO();
        assertTrue(object >= 16384 && object <= Integer.MAX_VALUE, String.valueOf(object));
        LargeObject open = manager.open(object);
        open.write(new byte[10_000]);
        open.seek(5_000);
        open.write("here".getBytes(java.nio.charset.StandardCharsets.UTF_8));
        open.close();
        pair.transaction();
        assertAlike();
        manager.open(object, LargeObjectManager.READ).read(10);
        assertNull(pair.session.gather(), "nothing is told of what was only read");
        pair.session.connection().rollback();
        manager.delete(object);
        pair.transaction();
        assertAlike();
        assertEquals(List.of(), Pair.rows(pair.other, OBJECTS));
    }

    @Test
    void largeOnesTravelInPieces() throws Exception {
        pair.transaction(
                "SELECT lo_from_bytea(7, string_agg(sha256(i::text::bytea), '')) FROM generate_series(1, 20000) i",
                "SELECT lo_create(8)");
        assertAlike();
        pair.transaction("SELECT lo_put(7, 2048 * i, 'each page') FROM generate_series(0, 310, 2) i",
                "SELECT lo_put(8, 1, 'x')");
        assertAlike();
        assertEquals(List.of(List.of("640000")), Pair.rows(pair.other, "SELECT length(lo_get(7))"));
        pair.transaction("SELECT lo_unlink(7)", "SELECT lo_from_bytea(7, 'short')");
        assertAlike();
    }

    @Test
    void theyStandAmongSchemaChangesAndKeepTheirComments() throws Exception {
        TableCatalog before = LocalSession.catalog(pair.one);
        List<byte[]> told = new ArrayList<>();
        pair.session.execute("DO $$ BEGIN PERFORM lo_create(7); PERFORM lo_put(7, 0, 'first');"
                + " ALTER LARGE OBJECT 7 OWNER TO lo_ann; GRANT SELECT ON LARGE OBJECT 7 TO \"lo Bob\";"
                + " COMMENT ON LARGE OBJECT 7 IS 'noted'; PERFORM lo_put(7, 5, ' then'); PERFORM lo_create(9);"
                + " PERFORM lo_unlink(9); END $$");
        told.add(Objects.requireNonNull(pair.session.gather()));
        pair.session.connection().commit();
        pair.apply(List.of(CaptureReader.read(before, new ArrayList<>(List.of(LocalSession.catalog(pair.one))),
                told.getFirst()).writes()));
        assertAlike();
        assertEquals(List.of(List.of("first then")),
                Pair.rows(pair.other, "SELECT convert_from(lo_get(7), 'UTF8')"));
        pair.transaction("SELECT lo_put(7, 0, 'F')");
        assertAlike();
    }

    @Test
    void whatTheExtensionUnlinksIsUnlinkedElsewhere() throws Exception {
        pair.transaction("INSERT INTO managed SELECT i, lo_from_bytea(0, 'x') FROM generate_series(1, 3) i");
        assertAlike();
        pair.transaction("DELETE FROM managed WHERE id = 1", "UPDATE managed SET object = NULL WHERE id = 2");
        assertAlike();
        assertEquals(1, Pair.rows(pair.other, OBJECTS).size());
        pair.transaction("DELETE FROM managed");
        assertAlike();
    }

    @Test
    void eachHasAKeyOfItsOwn() throws Exception {
        KeySet keys = pair.session.execute("SELECT lo_create(7), lo_create(8)").capture().writes().keys();
        assertEquals(Set.of(TableCatalog.largeObjectKey("7"), TableCatalog.largeObjectKey("8")),
                Set.copyOf(exclusive(keys)));
        pair.session.execute("ROLLBACK");
        KeySet none = pair.session.execute("INSERT INTO t VALUES (1)").capture().writes().keys();
        assertTrue(exclusive(none).stream().noneMatch(key -> key == TableCatalog.largeObjectKey("7")));
    }

    private static List<Long> exclusive(KeySet keys) {
        List<Long> found = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            if (keys.kind(i) == KeyKind.EXCLUSIVE) {
                found.add(keys.hash(i));
            }
        }
        return found;
    }

    /** Whatever a role without rights tries, nothing is committed that has not been told. */
    @Test
    void nothingIsWrittenThatIsNotTold() throws Exception {
        pair.session.execute("SET ROLE lo_ann", "SELECT lo_create(7)");
        pair.transaction("RESET ROLE");
        pair.session.execute("SET ROLE lo_ann");
        for (String refused : List.of("SELECT lo_put_here(7, 0, 'x')", "SELECT lo_create_here(8)",
                "SELECT lo_unlink_here(7)",
                "SELECT lo_open_here(7, 131072)", "SELECT lo_from_bytea_here(8, 'x')", "SELECT lo_creat_here(-1)",
                "SELECT lo_import_here('/etc/passwd')", "SELECT tutti.note_large_object(0, 7)",
                "DELETE FROM tutti.touched",
                "SELECT tutti.apply_large_pages('wrong', '7', '0', '')",
                "SELECT tutti.apply_large_object('wrong', '7', '', '')",
                "CREATE AGGREGATE pg_temp.mine(ORDER BY oid) (SFUNC = oidlarger, STYPE = oid, FINALFUNC = lo_unlink_here)")) {
            String state = assertThrows(SQLException.class, () -> pair.session.execute(refused), refused).getSQLState();
            assertTrue(Set.of("42501", "28000").contains(state), refused + ": " + state);
            pair.session.execute("ROLLBACK", "SET ROLE lo_ann");
        }
        assertEquals("0A000", state("SELECT lo_import('/etc/passwd')"));
        pair.session.execute("SELECT lo_put(7, 0, 'not told')");
        assertEquals("55000", assertThrows(SQLException.class, () -> pair.session.connection().commit()).getSQLState());
        pair.session.execute("SET ROLE lo_ann", "SELECT lo_open(7, 131072)",
                "DECLARE late CURSOR WITH HOLD FOR SELECT lowrite(0, 'late')");
        assertEquals("0A000", assertThrows(SQLException.class, () -> pair.session.gather()).getSQLState());
        pair.session.execute("ROLLBACK", "SET ROLE lo_ann",
                "DECLARE late CURSOR WITH HOLD FOR SELECT lo_put(7, 0, 'late')");
        assertNull(pair.session.gather());
        assertEquals("55000", assertThrows(SQLException.class, () -> pair.session.connection().commit()).getSQLState());
        pair.session.execute("ROLLBACK", "RESET ROLE");
        assertAlike();
    }

    private static String state(String statement) throws SQLException {
        String state = assertThrows(SQLException.class, () -> pair.session.execute(statement)).getSQLState();
        pair.session.execute("ROLLBACK", "SET ROLE lo_ann");
        return String.valueOf(state);
    }

    @Test
    void theyAreBoundedLikeRows() throws Exception {
        pair.session.execute(
                "SELECT lo_from_bytea(7, repeat('x', 600000)::bytea), lo_from_bytea(8, repeat('x', 600000)::bytea)");
        assertEquals("54000", assertThrows(SQLException.class, () -> pair.session.gather()).getSQLState());
        pair.session.execute("ROLLBACK");
        assertAlike();
    }

    /** pg_dump tells rights on functions of the server's that are not those of the beginning. */
    @Test
    void dumpsShowNothingOfIt() throws Exception {
        assertEquals(List.of(),
                Pair.rows(pair.one, "SELECT p.proname FROM pg_proc p LEFT JOIN pg_init_privs i ON i.objoid = p.oid"
                        + " AND i.classoid = 'pg_proc'::regclass AND i.objsubid = 0 WHERE p.pronamespace = 'pg_catalog'::regnamespace"
                        + " AND p.proacl IS DISTINCT FROM i.initprivs"));
    }

    @Test
    void readingInATransactionThatOnlyReadsIsNoWrite() throws Exception {
        pair.transaction("SELECT lo_from_bytea(7, 'text')");
        try (Connection reader = TestServer.jdbc(pair.one)) {
            reader.setReadOnly(true);
            LargeObject open = reader.unwrap(PGConnection.class).getLargeObjectAPI().open(7L, LargeObjectManager.READ);
            assertEquals("text", new String(open.read(100), java.nio.charset.StandardCharsets.UTF_8));
            reader.commit();
        }
    }
}
