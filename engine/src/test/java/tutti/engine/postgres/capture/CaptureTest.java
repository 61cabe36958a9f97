package tutti.engine.postgres.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.engine.postgres.LocalSession;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.capture.Changes.Change;
import tutti.pgwire.BackendConnection;

class CaptureTest {
    private static String installed(String... statements) throws Exception {
        String database = TestServer.database(statements);
        TestServer.install(database, 0);
        return database;
    }

    /** Changes in a readable form: the operation, the table and the rows. */
    private static List<String> changes(CapturedWriteSet captured) {
        List<String> all = new ArrayList<>();
        for (Change change : Changes.read(captured.writes().changes())) {
            all.add(switch (change) {
                case Change.Insert(var table, var row) -> "insert " + table.name() + text(row);
                case Change.Update(var table, var row) -> "update " + table.name() + text(row);
                case Change.Columns(var table, var columns, var row) ->
                    "columns " + IntStream.range(0, 8).filter(i -> ColumnBits.has(columns, i)).boxed().toList() + " "
                            + table.name() + text(row);
                case Change.Rekey(var table, var before, var after) ->
                    "rekey " + table.name() + text(before) + text(after);
                case Change.Delete(var table, var row) -> "delete " + table.name() + text(row);
                case Change.Truncate(var table) -> "truncate " + table.name();
                case Change.Execute(var statement) -> "execute " + text(statement);
                case Change.Prepare prepare -> "prepare " + prepare.identifier();
                case Change.Notify(var channel, var payload) -> "notify " + text(channel) + " " + text(payload);
                case Change.LargeObject object -> object.toString();
                case Change.LargePages(var object, var keeps, var _) -> "pages " + object + " " + keeps;
                case Change.Restart(var schema, var name, var last, var called) ->
                    "restart " + schema + "." + name + " " + last + " " + called;
            });
        }
        return all;
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static List<String> keys(CapturedWriteSet captured) {
        KeySet keys = captured.writes().keys();
        List<String> all = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            all.add(keys.kind(i) + " " + captured.describe(i));
        }
        return all;
    }

    @Test
    void tellsEachChangeOnceAndForgetsWhatIsRolledBack() throws Exception {
        String database = installed("CREATE TABLE t (id int PRIMARY KEY, v text)",
                "INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')",
                """
                        CREATE FUNCTION tries() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
                          UPDATE t SET v = 'kept' WHERE id = 2;
                          BEGIN UPDATE t SET v = 'lost' WHERE id = 3; PERFORM 1 / 0;
                          EXCEPTION WHEN division_by_zero THEN INSERT INTO t VALUES (5, 'handler'); END;
                        END $$""");
        try (LocalSession session = new LocalSession(database)) {
            session.execute("UPDATE t SET v = v || '!' WHERE id = 1", "SAVEPOINT a", "DELETE FROM t", "ROLLBACK TO a",
                    "SELECT tries()", "SAVEPOINT b", "INSERT INTO t VALUES (4, NULL)", "RELEASE b");
            assertEquals(List.of("update t(1,one!)", "update t(2,kept)", "insert t(5,handler)", "insert t(4,)"),
                    changes(session.capture()));
        }
        try (LocalSession session = new LocalSession(database)) {
            session.execute("SELECT * FROM t FOR UPDATE");
            assertNull(session.gather());
        }
    }

    @Test
    void keysTellHowRowsWereTouched() throws Exception {
        String database = installed("CREATE TABLE parent (a int, b numeric, PRIMARY KEY (a, b))",
                """
                        CREATE TABLE child (id int PRIMARY KEY, b int, a bigint, code text UNIQUE, note text,
                          FOREIGN KEY (a, b) REFERENCES parent (a, b))""",
                "INSERT INTO parent VALUES (1, 2.0), (3, 4)");
        try (LocalSession session = new LocalSession(database)) {
            session.execute("INSERT INTO child VALUES (7, 2, 1, 'x', 'y')");
            CapturedWriteSet inserted = session.capture();
            assertEquals(List.of("REFERENCE the schema", "REFERENCE table public.child",
                    "CREATED table public.child, key (id) = (7)", "CREATED table public.child, key (code) = (x)",
                    "REFERENCE table public.parent, key (a, b) = (1, 2)"), keys(inserted));
            session.connection().commit();
            session.execute("UPDATE child SET note = 'z'");
            assertEquals(List.of("REFERENCE the schema", "REFERENCE table public.child",
                    "UPDATE table public.child, key (id) = (7)"), keys(session.capture()));
            session.connection().commit();
            session.execute("UPDATE child SET code = NULL, a = 3, b = 4");
            assertEquals(List.of("REFERENCE the schema", "REFERENCE table public.child",
                    "UPDATE table public.child, key (id) = (7)", "GONE table public.child, key (code) = (x)",
                    "REFERENCE table public.parent, key (a, b) = (3, 4)",
                    "RELEASED table public.parent, key (a, b) = (1, 2)",
                    "RELEASED table public.parent, key (a, b) = (1, 2)"), keys(session.capture()));
            session.connection().commit();
            session.execute("DELETE FROM child");
            CapturedWriteSet gone = session.capture();
            assertEquals(List.of("REFERENCE the schema", "REFERENCE table public.child",
                    "GONE table public.child, key (id) = (7)", "RELEASED table public.parent, key (a, b) = (3, 4)",
                    "RELEASED table public.parent, key (a, b) = (3, 4)"), keys(gone));
            assertEquals(gone.writes().keys().hash(2), gone.writes().keys().hash(4),
                    "which row it was that named its parent");
            session.connection().commit();
            session.execute("DELETE FROM parent WHERE a = 1");
            CapturedWriteSet deleted = session.capture();
            assertEquals("GONE table public.parent, key (a, b) = (1, 2.0)", keys(deleted).getLast());
            assertEquals(deleted.writes().keys().hash(2), inserted.writes().keys().hash(4),
                    "a child's reference meets its parent's key");
        }
    }

    @Test
    void equalValuesGiveEqualKeys() throws Exception {
        String database = installed("CREATE EXTENSION citext",
                "CREATE TABLE n (k numeric PRIMARY KEY)", "CREATE TABLE c (k char(5) PRIMARY KEY)",
                "CREATE TABLE z (k timestamptz PRIMARY KEY)", "CREATE TABLE i (k citext PRIMARY KEY)",
                "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
                "CREATE TABLE l (k text COLLATE ci PRIMARY KEY)", "CREATE TABLE f (k float8 PRIMARY KEY)",
                "CREATE TABLE j (k jsonb PRIMARY KEY)", "CREATE DOMAIN d AS numeric",
                "CREATE TABLE o (k d PRIMARY KEY)",
                "CREATE TABLE p (k int, u text, gone bool)", "ALTER TABLE p ADD PRIMARY KEY (k)",
                "CREATE UNIQUE INDEX ON p (lower(u)) WHERE NOT gone");
        assertSameKey(database, "INSERT INTO n VALUES (1.0)", "INSERT INTO n VALUES (1.00)");
        assertSameKey(database, "INSERT INTO c VALUES ('a')", "INSERT INTO c VALUES ('a  ')");
        assertSameKey(database, "INSERT INTO i VALUES ('Kiwi')", "INSERT INTO i VALUES ('kIWI')");
        assertSameKey(database, "INSERT INTO l VALUES ('Ä')", "INSERT INTO l VALUES ('ä')");
        assertSameKey(database, "INSERT INTO f VALUES ('-0')", "INSERT INTO f VALUES (0)");
        assertSameKey(database, "INSERT INTO j VALUES ('1.0')", "INSERT INTO j VALUES ('1.00')");
        assertSameKey(database, "INSERT INTO o VALUES (20)", "INSERT INTO o VALUES (20.0)");
        assertSameKey(database, "SET LOCAL timezone = 'Asia/Kathmandu'; INSERT INTO z VALUES ('2026-03-01 12:00+00')",
                "SET LOCAL timezone = 'America/St_Johns';"
                        + " INSERT INTO z VALUES ('2026-03-01 12:00+00')");
        assertNotEquals(key(database, 2, "INSERT INTO n VALUES (1)"), key(database, 2, "INSERT INTO n VALUES (10)"));
        assertEquals(key(database, 3, "INSERT INTO p VALUES (1, 'A', false)"),
                key(database, 3, "INSERT INTO p VALUES (2, 'a', false)"), "expressions are taken for equal");
    }

    /** An index may compare values otherwise than their column does, and so may a type that looks like another one. */
    @Test
    void valuesThatAnIndexTakesForEqualGiveEqualKeys() throws Exception {
        String database = installed(
                "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
                "CREATE TABLE c (k int PRIMARY KEY, u text)", "CREATE UNIQUE INDEX ON c (u COLLATE ci)",
                "CREATE FUNCTION compared(text, text) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT btrim($1) <=> btrim($2)'"
                        .replace("btrim($1) <=> btrim($2)", "bttextcmp(lower($1), lower($2))"),
                "CREATE OPERATOR CLASS folded FOR TYPE text USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =,"
                        + " OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 compared(text, text)",
                "CREATE TABLE o (k int PRIMARY KEY, u text)", "CREATE UNIQUE INDEX ON o (u folded)",
                "CREATE TYPE citext AS (n numeric)", "CREATE TABLE t (k citext PRIMARY KEY)",
                "CREATE DOMAIN word AS text COLLATE ci", "CREATE TABLE d (k word PRIMARY KEY)",
                "CREATE TABLE r (k numrange PRIMARY KEY)", "CREATE TABLE iv (k interval PRIMARY KEY)",
                "CREATE TABLE a (k numeric[] PRIMARY KEY)", "CREATE TABLE w (k word[] PRIMARY KEY)",
                "CREATE TABLE tz (k timetz PRIMARY KEY)", "CREATE DOMAIN padded AS char(4)",
                "CREATE TABLE p (k padded PRIMARY KEY)", "CREATE DOMAIN zero AS float4",
                "CREATE TABLE z (k zero PRIMARY KEY)");
        for (String table : List.of("c", "o")) {
            assertEquals(key(database, 3, "INSERT INTO " + table + " VALUES (1, 'A')"),
                    key(database, 3, "INSERT INTO " + table + " VALUES (2, 'a')"), table);
        }
        assertSameKey(database, "INSERT INTO t VALUES (row(1.0))", "INSERT INTO t VALUES (row(1.00))");
        assertSameKey(database, "INSERT INTO d VALUES ('Ä')", "INSERT INTO d VALUES ('ä')");
        assertSameKey(database, "INSERT INTO r VALUES ('[1.0,2)')", "INSERT INTO r VALUES ('[1.00,2)')");
        assertSameKey(database, "INSERT INTO iv VALUES ('1 day')", "INSERT INTO iv VALUES ('24:00')");
        assertSameKey(database, "INSERT INTO a VALUES ('{1.0}')", "INSERT INTO a VALUES ('{1.00}')");
        assertSameKey(database, "INSERT INTO w VALUES ('{a}')", "INSERT INTO w VALUES ('{A}')");
        assertSameKey(database, "INSERT INTO p VALUES ('a')", "INSERT INTO p VALUES ('a  ')");
        assertSameKey(database, "INSERT INTO z VALUES ('-0')", "INSERT INTO z VALUES (0)");
        assertNotEquals(key(database, 2, "INSERT INTO tz VALUES ('12:00+00')"),
                key(database, 2, "INSERT INTO tz VALUES ('13:00+01')"), "the server tells them apart");
    }

    /** A child's value is equal to its parent's by the operators of their types, which may have different texts. */
    @Test
    void childrenOfAnotherTypeMeetTheirParents() throws Exception {
        String[][] types = {{"timestamp", "date", "'2026-01-02'"}, {"timestamptz", "date", "'2026-01-02'"},
                {"timestamptz", "timestamp", "'2026-01-02'"}, {"float8", "float4", "0.1::float4"},
                {"inet", "cidr", "'10.0.0.1/32'"},
                {"int8", "int2", "7"}, {"numeric", "int4", "7"}, {"text", "varchar", "'a'"},
                {"text", "char(3)", "'a'"}};
        for (String[] type : types) {
            String database = installed("CREATE TABLE parent (k " + type[0] + " PRIMARY KEY)",
                    "CREATE TABLE child (id int PRIMARY KEY, k " + type[1] + " REFERENCES parent)",
                    "INSERT INTO parent VALUES (" + type[2] + ")");
            try (LocalSession inserting = new LocalSession(database);
                    LocalSession deleting = new LocalSession(database)) {
                var inserted = inserting.execute("INSERT INTO child VALUES (1, " + type[2] + ")").capture().writes()
                        .keys();
                inserting.connection().rollback();
                var deleted = deleting.execute("DELETE FROM parent").capture().writes().keys();
                boolean met = false;
                for (int i = 0; i < inserted.size(); i++) {
                    for (int j = 0; j < deleted.size(); j++) {
                        met |= inserted.kind(i) == KeyKind.REFERENCE && deleted.kind(j) != KeyKind.REFERENCE
                                && inserted.hash(i) == deleted.hash(j);
                    }
                }
                assertTrue(met, String.join(" ", type));
            }
        }
    }

    /** What its column takes for the same value is another one in an index of an expression, or by another collation. */
    @Test
    void valuesThatOnlyTheColumnTakesForEqualChangeKeys() throws Exception {
        String database = installed("CREATE EXTENSION citext",
                "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
                "CREATE TABLE n (id int PRIMARY KEY, k numeric)", "CREATE UNIQUE INDEX ON n ((k::text))",
                "CREATE TABLE i (id int PRIMARY KEY, k citext)", "CREATE UNIQUE INDEX ON i ((k::text))",
                "CREATE TABLE l (id int PRIMARY KEY, k text COLLATE ci)", "CREATE UNIQUE INDEX ON l (k COLLATE \"C\")",
                "INSERT INTO n VALUES (1, 1.0)", "INSERT INTO i VALUES (1, 'a')", "INSERT INTO l VALUES (1, 'a')");
        for (String update : List.of("UPDATE n SET k = 1.00", "UPDATE i SET k = 'A'", "UPDATE l SET k = 'A'")) {
            try (LocalSession session = new LocalSession(database)) {
                assertTrue(keys(session.execute(update).capture()).stream()
                        .anyMatch(key -> key.startsWith("CREATED") || key.startsWith("EXCLUSIVE")), update);
            }
        }
    }

    private static void assertSameKey(String database, String one, String other) throws Exception {
        assertEquals(key(database, 2, one), key(database, 2, other));
    }

    private static long key(String database, int index, String sql) throws Exception {
        try (LocalSession session = new LocalSession(database)) {
            return session.execute(sql).capture().writes().keys().hash(index);
        }
    }

    @Test
    void rowsThatEnterAPartialIndexTakeItsKey() throws Exception {
        String database = installed("CREATE TABLE p (k int PRIMARY KEY, u text, gone bool)",
                "CREATE UNIQUE INDEX ON p (u) WHERE NOT gone", "INSERT INTO p VALUES (1, 'a', true)");
        try (LocalSession session = new LocalSession(database)) {
            assertTrue(keys(session.execute("UPDATE p SET gone = false").capture())
                    .contains("CREATED table public.p, key (u) = (a)"));
        }
    }

    @Test
    void seesCascadesPartitionsCopyMergeAndConflicts() throws Exception {
        String database = installed("CREATE TABLE parent (id int PRIMARY KEY)",
                "CREATE TABLE gone (id int PRIMARY KEY, p int REFERENCES parent ON DELETE CASCADE)",
                "CREATE TABLE stays (id int PRIMARY KEY, p int REFERENCES parent ON DELETE SET NULL)",
                "INSERT INTO parent VALUES (1); INSERT INTO gone VALUES (2, 1); INSERT INTO stays VALUES (3, 1)",
                "CREATE TABLE whole (id int, v int, PRIMARY KEY (id)) PARTITION BY RANGE (id)",
                "CREATE TABLE low PARTITION OF whole FOR VALUES FROM (0) TO (10)",
                "CREATE TABLE high (v int, id int NOT NULL)",
                "ALTER TABLE whole ATTACH PARTITION high FOR VALUES FROM (10) TO (20)");
        try (LocalSession session = new LocalSession(database)) {
            CapturedWriteSet captured = session.execute("DELETE FROM parent").capture();
            assertEquals(List.of("delete parent(1)", "delete gone(2,1)", "update stays(3,)"), changes(captured));
        }
        try (LocalSession session = new LocalSession(database)) {
            session.execute("INSERT INTO whole VALUES (1, 5)", "UPDATE whole SET id = 11",
                    "INSERT INTO whole VALUES (11, 6) ON CONFLICT (id) DO UPDATE SET v = excluded.v");
            CapturedWriteSet captured = session.capture();
            assertEquals(
                    java.util.Set.of("insert low(1,5)", "delete low(1,5)", "insert high(5,11)", "update high(6,11)"),
                    java.util.Set.copyOf(changes(captured)));
            assertEquals(captured.writes().keys().hash(2), captured.writes().keys().hash(3),
                    "a partition's key is the whole table's key");
        }
        try (LocalSession session = new LocalSession(database)) {
            session.connection().unwrap(PGConnection.class).getCopyAPI().copyIn("COPY parent FROM STDIN",
                    new StringReader("5\n6\n"));
            session.execute("MERGE INTO parent p USING (VALUES (6), (7)) s(id) ON p.id = s.id"
                    + " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id)");
            assertEquals(List.of("insert parent(5)", "insert parent(6)", "delete parent(6)", "insert parent(7)"),
                    changes(session.capture()));
        }
    }

    @Test
    void rowsDoNotDependOnTheSessionsSettings() throws Exception {
        String database = installed("""
                CREATE TABLE t (id int PRIMARY KEY, d date, ts timestamp, iv interval, f float8, b bytea, m money)""",
                "SET lc_monetary = 'C'");
        String insert = "INSERT INTO t VALUES (1, '2026-12-31', '2026-12-31 10:00', '-1 year -2 days', 0.1::float8 + 0.2,"
                + " '\\xff00', 12.5::numeric::money)";
        BackendConnection client = TestServer.connect(database);
        String finish = "; SELECT pg_catalog.convert_from(tutti.finish('" + TestServer.CLUSTER_SECRET
                + "', '00000000000000ab'), 'UTF8')";
        String plain = TestServer.execute(client, "BEGIN; " + insert + finish).value();
        TestServer.execute(client, "ROLLBACK; SET datestyle = 'SQL, DMY'; SET intervalstyle = 'sql_standard';"
                + " SET extra_float_digits = -3; SET bytea_output = 'escape'; SET client_encoding = 'LATIN1';"
                + " SET search_path = ''");
        assertEquals(plain,
                TestServer.execute(client, "BEGIN; SET LOCAL datestyle = 'ISO'; SET intervalstyle = 'postgres'; "
                        + insert.replace("INTO t", "INTO public.t")
                        + "; SET datestyle = 'SQL, DMY'; SET intervalstyle = 'sql_standard'"
                        + finish).value());
        client.close();
    }

    @Test
    void largeTransactionsAreGatheredInOrderAndBounded() throws Exception {
        String database = installed("CREATE TABLE t (id int PRIMARY KEY, v text)");
        try (LocalSession session = new LocalSession(database)) {
            session.execute("INSERT INTO t SELECT g, repeat('x', g % 50) FROM generate_series(1, 9000) g");
            List<String> changes = changes(session.capture());
            assertEquals(9000, changes.size());
            for (int i = 0; i < 9000; i++) {
                assertEquals("insert t(" + (i + 1) + "," + (i % 50 == 49 ? "\"\"" : "x".repeat((i + 1) % 50)) + ")",
                        changes.get(i));
            }
            session.connection().commit();
            session.execute("DELETE FROM t WHERE id = 1");
            assertEquals(List.of("delete t(1,x)"), changes(session.capture()),
                    "nothing is left of the last transaction");
        }
        try (LocalSession session = new LocalSession(database)) {
            session.execute("UPDATE t SET v = repeat('y', 200)");
            SQLException refused = assertThrows(SQLException.class, session::gather);
            assertEquals("54000", refused.getSQLState());
        }
    }

    /** Rows go to one variable after the other: to none, to few, and to more than one digit tells. */
    @Test
    void anyNumberOfRowsIsGatheredInOrder() throws Exception {
        try (LocalSession session = new LocalSession(installed("CREATE TABLE t (id int PRIMARY KEY, v text)"))) {
            List<String> expected = new ArrayList<>();
            for (int rows = 1; rows <= 48; rows++) {
                expected.add("insert t(" + rows + "," + "x".repeat(200) + ")");
                session.execute("INSERT INTO t SELECT g, repeat('x', 200) FROM generate_series(1, " + rows + ") g");
                assertEquals(expected, changes(session.capture()));
                session.connection().rollback();
            }
            session.execute("INSERT INTO t VALUES (1, repeat('x', 1100000))");
            assertEquals("54000", assertThrows(SQLException.class, session::gather).getSQLState());
        }
    }

    @Test
    void manyRowsStayInOrderThroughFlushesAndSavepoints() throws Exception {
        String database = installed("CREATE TABLE t (id int PRIMARY KEY, v text)");
        String insert = "INSERT INTO t SELECT g, repeat('x', 200) FROM generate_series(%d, %d) g";
        try (LocalSession session = new LocalSession(database)) {
            session.execute(insert.formatted(1, 40), "SELECT tutti.flush()", "SAVEPOINT a", insert.formatted(41, 90),
                    "SELECT tutti.flush()", insert.formatted(91, 95), "ROLLBACK TO a", insert.formatted(41, 43),
                    "SELECT tutti.flush()", "TRUNCATE t", insert.formatted(1, 40));
            List<String> changes = changes(session.capture());
            List<String> expected = new ArrayList<>();
            for (int i = 1; i <= 43; i++) {
                expected.add("insert t(" + i + "," + "x".repeat(200) + ")");
            }
            expected.add("truncate t");
            expected.addAll(expected.subList(0, 40));
            assertEquals(expected, changes);
        }
    }

    @Test
    void commitsPastThePipelineAreRefused() throws Exception {
        String database = installed("CREATE TABLE t (id int PRIMARY KEY)",
                "CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (1); COMMIT; END $$");
        try (Connection direct = TestServer.jdbc(database); Statement statement = direct.createStatement()) {
            direct.setAutoCommit(true);
            for (String sql : List.of("INSERT INTO t VALUES (1)", "CALL p()", "TRUNCATE t",
                    "BEGIN; INSERT INTO t VALUES (2); SET CONSTRAINTS ALL IMMEDIATE; COMMIT",
                    "BEGIN; INSERT INTO t VALUES (2); SET LOCAL tutti.text = 'search_path'; COMMIT")) {
                SQLException refused = assertThrows(SQLException.class, () -> statement.execute(sql));
                assertEquals("55000", refused.getSQLState(), sql);
                statement.execute("ROLLBACK");
            }
            statement.execute("SET session_replication_role = replica; INSERT INTO t VALUES (3)");
        }
        try (LocalSession session = new LocalSession(database)) {
            SQLException refused = assertThrows(SQLException.class,
                    () -> session.execute("SELECT tutti.finish('guess'::bytea, '00000000000000ab')"));
            assertEquals("28000", refused.getSQLState());
        }
    }

    /** What every node executes does not travel, so its rows are neither gathered nor bounded; nothing else gets past the pipeline by that. */
    @Test
    void whatNobodyReadsIsNotGathered() throws Exception {
        String database = installed("CREATE TABLE t (id int PRIMARY KEY, v text)",
                "CREATE TABLE child (id int REFERENCES t DEFERRABLE INITIALLY DEFERRED)", "CREATE TABLE u (id int)");
        String unread = "SELECT tutti.finish_unread('" + TestServer.CLUSTER_SECRET + "'::bytea)";
        try (LocalSession session = new LocalSession(database)) {
            session.execute("INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 2000) i",
                    "UPDATE t SET v = v || 'y'", "DELETE FROM t WHERE id > 1", unread);
            session.connection().commit();
            session.execute("TRUNCATE u", "INSERT INTO u VALUES (3)", unread);
            session.connection().commit();
            assertEquals("0 3", value(session, "SELECT concat((SELECT count(*) FROM tutti.pending), ' ',"
                    + " (SELECT string_agg(id::text, ',') FROM u))"));
            session.execute("INSERT INTO child VALUES (4)");
            assertEquals("23503", assertThrows(SQLException.class, () -> session.execute(unread)).getSQLState());
            session.connection().rollback();
            session.execute("INSERT INTO t VALUES (4, '')", unread);
            assertEquals("55000", assertThrows(SQLException.class,
                    () -> session.execute("INSERT INTO t VALUES (5, '')")).getSQLState());
            session.connection().rollback();
            session.execute("SET LOCAL session_replication_role = replica", "INSERT INTO t VALUES (5, '')");
            assertEquals("55000", assertThrows(SQLException.class, () -> session.execute(unread)).getSQLState());
        }
    }

    private static String value(LocalSession session, String sql) throws SQLException {
        try (Statement statement = session.connection().createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    @Test
    void whatASuperuserHidesFromCaptureDoesNotCommit() throws Exception {
        String database = installed("CREATE TABLE t (id int PRIMARY KEY)");
        try (LocalSession session = new LocalSession(database)) {
            for (String hide : List.of("SET \"session_replication_role\" = replica",
                    "SELECT set_config('session_replication_role', 'replica', true)")) {
                session.execute(hide, "INSERT INTO t VALUES (1)");
                assertEquals("55000", assertThrows(SQLException.class, session::gather).getSQLState());
                session.connection().rollback();
            }
        }
    }

    @Test
    void clientsMaySetConstraintsBetweenTheirStatements() throws Exception {
        String database = installed("CREATE TABLE t (id int PRIMARY KEY, v int UNIQUE DEFERRABLE)");
        try (LocalSession session = new LocalSession(database)) {
            session.execute("INSERT INTO t VALUES (1, 1)", BEFORE_SET_CONSTRAINTS,
                    "SET CONSTRAINTS ALL IMMEDIATE", AFTER_SET_CONSTRAINTS,
                    "INSERT INTO t VALUES (2, 2)", "SAVEPOINT a", "INSERT INTO t VALUES (3, 3)",
                    BEFORE_SET_CONSTRAINTS, "SET CONSTRAINTS ALL IMMEDIATE",
                    AFTER_SET_CONSTRAINTS, "ROLLBACK TO a", "UPDATE t SET v = 5 WHERE id = 1");
            assertEquals(List.of("insert t(1,1)", "insert t(2,2)", "rekey t(1,1)(1,5)"), changes(session.capture()));
            session.connection().rollback();
            session.execute("SET TRANSACTION READ ONLY", BEFORE_SET_CONSTRAINTS, "SET CONSTRAINTS ALL IMMEDIATE",
                    AFTER_SET_CONSTRAINTS);
        }
    }

    @Test
    void rowsWithoutKeyAreNamedByAllTheirValues() throws Exception {
        String database = installed("CREATE TABLE bare (v int, w text)");
        try (LocalSession session = new LocalSession(database)) {
            session.execute("INSERT INTO bare VALUES (1, 'x'), (1, 'x'), (2, NULL)");
            CapturedWriteSet inserted = session.capture();
            assertEquals(List.of("insert bare(1,x)", "insert bare(1,x)", "insert bare(2,)"), changes(inserted));
            assertEquals(List.of("REFERENCE the schema", "REFERENCE table public.bare",
                    "REFERENCE table public.bare, a row", "REFERENCE table public.bare, a row",
                    "REFERENCE table public.bare, a row"), keys(inserted));
            session.connection().commit();
            session.execute("UPDATE bare SET w = 'y' WHERE v = 2", "DELETE FROM bare WHERE v = 1");
            CapturedWriteSet changed = session.capture();
            assertEquals(List.of("rekey bare(2,)(2,y)", "delete bare(1,x)", "delete bare(1,x)"), changes(changed));
            assertEquals(List.of("REFERENCE the schema", "REFERENCE table public.bare",
                    "EXCLUSIVE table public.bare, a row", "REFERENCE table public.bare, a row",
                    "EXCLUSIVE table public.bare, a row", "EXCLUSIVE table public.bare, a row"), keys(changed));
            assertEquals(inserted.writes().keys().hash(4), changed.writes().keys().hash(2),
                    "the same row, the same key");
        }
        assertSameKey(database, "CREATE TEMP TABLE t (v int); INSERT INTO bare VALUES (3, NULL)",
                "INSERT INTO bare VALUES (3, NULL)");
    }

    @Test
    void aUniqueIndexThatComesToAKeyIsOne() throws Exception {
        String database = installed("CREATE TABLE u (a int NOT NULL, b int NOT NULL, c int, d int NOT NULL, e int)",
                "CREATE UNIQUE INDEX u_a ON u (c)", "CREATE UNIQUE INDEX u_b ON u (a) WHERE c > 0",
                "CREATE UNIQUE INDEX u_c ON u ((a + b))", "ALTER TABLE u ADD CONSTRAINT u_d UNIQUE (d) DEFERRABLE",
                "CREATE UNIQUE INDEX u_f ON u (b)", "CREATE UNIQUE INDEX u_e ON u (b, a) INCLUDE (c)",
                "INSERT INTO u VALUES (1, 2, 3, 4)");
        try (LocalSession session = new LocalSession(database)) {
            session.execute("UPDATE u SET e = 5 WHERE b = 2");
            assertTrue(keys(session.capture()).contains("UPDATE table public.u, key (b, a) = (2, 1)"));
        }
    }

    @Test
    void whatWouldMakeNodesDifferIsRefused() throws Exception {
        String database = installed("CREATE TABLE t (id int PRIMARY KEY)",
                "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql"
                        + " AS 'BEGIN RETURN NULL; END'",
                "CREATE TRIGGER fire AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()");
        String allow = "SELECT tutti.allow_statement('" + TestServer.CLUSTER_SECRET + "', NULL)";
        try (LocalSession session = new LocalSession(database)) {
            for (String how : List.of("ENABLE ALWAYS TRIGGER fire", "ENABLE REPLICA TRIGGER fire")) {
                SQLException refused = assertThrows(SQLException.class,
                        () -> session.execute(allow, "ALTER TABLE t " + how));
                assertEquals("0A000", refused.getSQLState());
                session.connection().rollback();
            }
            session.execute(allow, "CREATE TABLE p (at timestamptz) PARTITION BY RANGE (at)", allow,
                    "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (MINVALUE) TO ('2026-01-01 00:00+00')", allow,
                    "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM ('2026-01-01 00:00+00') TO (make_date(2027, 1, 1))");
            session.gather();
            session.connection().commit();
            for (String from : List.of("now()", "'tomorrow'", "current_date + 3",
                    "date_trunc('month', clock_timestamp())")) {
                String sql = "CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (" + from + ") TO (MAXVALUE)";
                for (String each : List.of(sql, "DO $$ BEGIN EXECUTE " + "'" + sql.replace("'", "''") + "'; END $$")) {
                    assertEquals("0A000", assertThrows(SQLException.class, () -> session.execute(allow, each), each)
                            .getSQLState(), each);
                    session.connection().rollback();
                }
            }
            session.execute(allow, "CREATE UNLOGGED TABLE u (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY)",
                    allow,
                    "CREATE UNLOGGED SEQUENCE s", "INSERT INTO u VALUES (1)");
            session.gather();
            session.connection().commit();
            try (var statement = session.connection().createStatement();
                    var rows = statement.executeQuery("SELECT count(*) FROM pg_class WHERE relpersistence = 'u'"
                            + " AND relnamespace = 'public'::regnamespace")) {
                rows.next();
                assertEquals(0, rows.getInt(1));
            }
        }
    }

    private static final List<String> MOMENTS = List.of("CREATE TABLE n (at timestamptz DEFAULT 'now')",
            "CREATE TABLE n (at timestamp(0) DEFAULT 'now')", "CREATE TABLE n (at time DEFAULT $$now$$)",
            "CREATE TABLE n (at timetz DEFAULT 'now')", "CREATE TABLE n (at date CHECK (at > 'Yesterday'))",
            "CREATE TABLE n (at timestamptz[] DEFAULT '{now}')", "CREATE TABLE n (at tstzrange DEFAULT '[now,)')",
            "CREATE TABLE n (at pair DEFAULT '(now,1)')", "CREATE TABLE n (at text DEFAULT ('today'::date + 1)::text)",
            "CREATE TABLE n (at date DEFAULT E'\\x6eow')", "CREATE TABLE n (at date DEFAULT U&'\\006eow')",
            "CREATE TABLE n (at date[] DEFAULT '{n\\ow}')", "CREATE TABLE n (at date DEFAULT 'no'\n'w')",
            "ALTER TABLE t ALTER at SET DEFAULT 'tomorrow 12:00'", "ALTER TABLE t ADD COLUMN since date DEFAULT 'now'",
            "ALTER TABLE t ADD CHECK (at < 'today 03:04 UTC')", "CREATE VIEW n AS SELECT * FROM t WHERE at < 'now'",
            "CREATE MATERIALIZED VIEW n AS SELECT * FROM t WHERE at < 'now'", "CREATE INDEX ON t (id) WHERE at > 'now'",
            "CREATE DOMAIN n AS date DEFAULT 'now'", "CREATE DOMAIN n AS date CHECK (VALUE <= 'today')",
            "CREATE FUNCTION n(at date DEFAULT 'now') RETURNS date RETURN at",
            "CREATE FUNCTION n() RETURNS date BEGIN ATOMIC SELECT 'now'::date; END",
            "CREATE POLICY n ON t USING (at < 'now')",
            "CREATE RULE n AS ON DELETE TO t WHERE old.at < 'now' DO INSTEAD NOTHING",
            "CREATE TRIGGER n AFTER INSERT ON t FOR EACH ROW WHEN (NEW.at < 'now') EXECUTE FUNCTION fires()",
            "CREATE STATISTICS n ON (at > 'now'), id FROM t",
            "CREATE TABLE n (at timestamptz) PARTITION BY RANGE ((at > 'now'))");

    /** The server makes a constant of it when it parses the statement, and every node parses it at another time. */
    @Test
    void theMomentIsNotKeptAsAConstant() throws Exception {
        String database = installed("CREATE TABLE t (id int PRIMARY KEY, at timestamptz)",
                "CREATE TYPE pair AS (at timestamptz, number int)",
                "CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'");
        String allow = "SELECT tutti.allow_statement('" + TestServer.CLUSTER_SECRET + "', NULL)";
        try (LocalSession session = new LocalSession(database)) {
            for (String sql : MOMENTS) {
                for (String each : List.of(sql, "DO $d$ BEGIN EXECUTE $e$" + sql + "$e$; END $d$")) {
                    SQLException refused = assertThrows(SQLException.class, () -> session.execute(allow, each), each);
                    assertEquals("0A000", refused.getSQLState(), each + ": " + refused.getMessage());
                    assertTrue(refused.getMessage().contains("as a constant"), each + ": " + refused.getMessage());
                    session.connection().rollback();
                }
            }
            for (String sql : List.of("CREATE TEMP TABLE passing (at timestamptz DEFAULT 'now')",
                    "CREATE TABLE n1 (state text DEFAULT 'now' CHECK (state IN ('now', 'today')), at date DEFAULT '2001-02-03')",
                    "CREATE TABLE n2 (at timestamptz DEFAULT 'now'::text::timestamptz, b date DEFAULT CURRENT_DATE)",
                    "CREATE FUNCTION later() RETURNS date LANGUAGE sql AS $$SELECT 'tomorrow'::date$$",
                    "DO $$ BEGIN EXECUTE format('CREATE TABLE n3 (at timestamptz DEFAULT %L)', now()); END $$")) {
                session.execute(allow, sql);
            }
            session.gather();
            session.connection().commit();
            String ordered = allow.replace("NULL", "'ordered'");
            session.execute(ordered, "CREATE TABLE n4 (state text DEFAULT 'now', number int DEFAULT 7)");
            assertEquals("0A000", assertThrows(SQLException.class,
                    () -> session.execute(ordered, "CREATE TABLE n5 (at date DEFAULT 'now')")).getSQLState());
            session.connection().rollback();
        }
    }

    /** COMMIT executes the query of a cursor WITH HOLD, when capture has been closed. */
    @Test
    void rowsThatCommitItselfChangesAreNotCommitted() throws Exception {
        String database = installed("CREATE TABLE t (id int PRIMARY KEY)",
                "CREATE FUNCTION adds(i int) RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (i) RETURNING id'");
        try (LocalSession session = new LocalSession(database)) {
            for (String before : List.of("SELECT 1", "INSERT INTO t VALUES (1)")) {
                session.execute(before, "DECLARE late CURSOR WITH HOLD FOR SELECT adds(2)");
                assertEquals(before.startsWith("INSERT"), session.gather() != null);
                assertEquals("55000", assertThrows(SQLException.class, session.connection()::commit).getSQLState());
                session.connection().rollback();
            }
            assertEquals("", session.execute("DECLARE held CURSOR WITH HOLD FOR SELECT * FROM t").gathered());
            session.connection().commit();
        }
    }

    /** Only the node's own roles go on to change something when the position has been recorded. */
    @Test
    void namesOfRolesDoNotTellWhatCommitMayChange() throws Exception {
        String database = installed("CREATE TABLE t (id int PRIMARY KEY)",
                "DO $$ BEGIN CREATE ROLE tutti_clerk; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
                "GRANT ALL ON t TO tutti_clerk");
        try (LocalSession session = new LocalSession(database)) {
            session.execute("SET SESSION AUTHORIZATION tutti_clerk", "INSERT INTO t VALUES (1)");
            session.gather();
            session.execute("SELECT tutti.record('" + TestServer.CLUSTER_SECRET + "', 7)");
            assertEquals("25006", assertThrows(SQLException.class,
                    () -> session.execute("INSERT INTO t VALUES (2)")).getSQLState());
        }
    }

    @Test
    void temporaryTablesHaveTriggersAndRulesOfTheirOwn() throws Exception {
        String database = installed("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'");
        try (LocalSession session = new LocalSession(database)) {
            session.execute("CREATE TEMP TABLE t (v int DEFAULT 1)",
                    "CREATE TRIGGER fire AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()",
                    "CREATE RULE r AS ON DELETE TO t DO NOTHING", "CREATE TEMP VIEW v AS SELECT * FROM t",
                    "DROP TRIGGER fire ON t", "DROP RULE r ON t", "DROP TABLE t CASCADE");
            assertEquals("", session.gathered());
        }
    }

    @Test
    void aChildOfATemporalKeyMeetsEveryChangeOfItsParents() throws Exception {
        String database = installed("CREATE EXTENSION btree_gist",
                "CREATE TABLE p (id int, during daterange, PRIMARY KEY (id, during WITHOUT OVERLAPS))",
                "CREATE TABLE c (id int PRIMARY KEY, p int, during daterange,"
                        + " FOREIGN KEY (p, PERIOD during) REFERENCES p (id, PERIOD during))",
                "INSERT INTO p VALUES (1, '[2026-01-01,2027-01-01)')");
        try (LocalSession session = new LocalSession(database)) {
            CapturedWriteSet child = session.execute("INSERT INTO c VALUES (1, 1, '[2026-02-01,2026-03-01)')")
                    .capture();
            session.connection().rollback();
            CapturedWriteSet parent = session.execute("DELETE FROM p").capture();
            KeySet keys = parent.writes().keys();
            assertEquals(KeyKind.EXCLUSIVE, keys.kind(2));
            assertEquals(keys.hash(2), child.writes().keys().hash(3));
        }
    }

    @Test
    void scriptsOfExtensionsMayDropWhatTheyHaveMade() throws Exception {
        String database = installed();
        try (LocalSession session = new LocalSession(database)) {
            for (String extension : List.of("hstore", "earthdistance", "intarray", "pg_stat_statements",
                    "postgres_fdw")) {
                session.execute("SELECT tutti.allow_statement('" + TestServer.CLUSTER_SECRET + "', NULL)",
                        "CREATE EXTENSION " + extension + " CASCADE");
            }
            assertThrows(SQLException.class, () -> session.execute("DROP EXTENSION hstore"), "allowed once each");
        }
    }

    @Test
    void schemaChangesNeedPermissionAndBringCaptureWithThem() throws Exception {
        String database = installed("CREATE TABLE t (id int PRIMARY KEY)");
        try (LocalSession session = new LocalSession(database)) {
            SQLException refused = assertThrows(SQLException.class, () -> session.execute("CREATE TABLE u (id int)"));
            assertEquals("0A000", refused.getSQLState());
            session.connection().rollback();
            session.execute("CREATE TEMP TABLE mine (id serial PRIMARY KEY)", "INSERT INTO mine DEFAULT VALUES");
            assertNull(session.gather());
            session.connection().commit();
            session.execute("INSERT INTO t VALUES (1)", allow("create"),
                    "CREATE TABLE u (id serial PRIMARY KEY, v int)",
                    "INSERT INTO u VALUES (DEFAULT, 2)", allow("alter"), "ALTER TABLE t ADD COLUMN w int",
                    "INSERT INTO t VALUES (2, 3)", "SELECT tutti.flush()", "TRUNCATE u");
            assertThrows(CaptureReader.UnknownTable.class, session::capture);
            session.connection().commit();
            BackendConnection admin = TestServer.connect(database);
            assertEquals(List.of(), CaptureInstaller.uncaptured(admin));
            TestServer.execute(admin, "ALTER TABLE u DISABLE TRIGGER tutti_insert; ");
        } catch (tutti.pgwire.PostgresException refused) {
            assertEquals("0A000", refused.sqlState(), "capture cannot be switched off by a statement");
        }
    }

    private static final String BEFORE_SET_CONSTRAINTS = "SELECT tutti.before_set_constraints('"
            + TestServer.CLUSTER_SECRET
            + "')";
    private static final String AFTER_SET_CONSTRAINTS = "SELECT tutti.after_set_constraints('"
            + TestServer.CLUSTER_SECRET
            + "')";

    private static String allow(String statement) {
        return "SELECT tutti.allow_statement('" + TestServer.CLUSTER_SECRET + "', '"
                + new tutti.engine.postgres.capture.Statement(statement, TestServer.USER, java.util.Map.of()).toText()
                + "')";
    }

    @Test
    void theWatchdogSeesTablesWithoutCapture() throws Exception {
        String database = installed("CREATE TABLE t (id int PRIMARY KEY)");
        BackendConnection admin = TestServer.connect(database);
        TestServer.execute(admin, "SET session_replication_role = replica;"
                + " UPDATE pg_trigger SET tgenabled = 'D' WHERE tgname = 'tutti_update'");
        assertEquals(List.of("public.t"), CaptureInstaller.uncaptured(admin));
        TestServer.execute(admin, "SELECT tutti.adopt()");
        assertEquals(List.of(), CaptureInstaller.uncaptured(admin));
        admin.close();
    }

    @Test
    void nodesWithTheSameSchemaHaveTheSameDigest() throws Exception {
        String[] schema = {"CREATE TABLE t (id int PRIMARY KEY, v text DEFAULT 'x')", "CREATE INDEX ON t (v)",
                "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'"};
        String one = TestServer.database(schema);
        TestServer.install(one, 0);
        String other = TestServer.database("CREATE TABLE passing (id int)", "DROP TABLE passing", schema[0], schema[1],
                schema[2]);
        TestServer.install(other, 5);
        assertEquals(digest(one), digest(other));
        String third = TestServer.database(schema[0].replace("'x'", "'y'"), schema[1], schema[2]);
        TestServer.install(third, 1);
        assertNotEquals(digest(one), digest(third));
    }

    private static String digest(String database) throws Exception {
        BackendConnection connection = TestServer.connect(database);
        String digest = CaptureInstaller.schemaDigest(connection);
        connection.close();
        return digest;
    }
}
