package tutti.engine.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.engine.jdbc.reads.Footprint;
import tutti.engine.jdbc.reads.Footprints;
import tutti.engine.jdbc.rows.CapturedWrites;
import tutti.engine.jdbc.rows.Table;
import tutti.engine.postgres.catalog.TableCatalog;

/** What statements read and touch, with each engine: found out from texts, and by sessions that execute them. */
class FootprintsTest {
    private static final String[] SCHEMA = {
            "CREATE TABLE PARENT (ID INTEGER PRIMARY KEY, N INTEGER DEFAULT 3 CHECK (N > 0))",
            "CREATE TABLE CHILD (ID INTEGER PRIMARY KEY, P INTEGER REFERENCES PARENT(ID) ON DELETE CASCADE, "
                    + "T VARCHAR(20))",
            "CREATE TABLE OTHER (A INTEGER, B VARCHAR(20), C INTEGER, PRIMARY KEY (A, B))",
            "CREATE TABLE ALONE (ID INTEGER PRIMARY KEY)", "CREATE TABLE \"My \"\"Table\" (ID INTEGER PRIMARY KEY)",
            "CREATE VIEW PARENTS AS SELECT ID, N FROM PARENT WHERE N > 1",
            "CREATE VIEW GRANDPARENTS AS SELECT ID FROM PARENTS"};

    private @Nullable EnginePair pair;

    private void start(EngineKind kind, String... more) throws Exception {
        pair = EnginePair.inMemory(kind, SCHEMA);
        for (String sql : more) {
            pair().everywhere(sql);
        }
    }

    private EnginePair pair() {
        return java.util.Objects.requireNonNull(pair);
    }

    @AfterEach
    void close() {
        pair().close();
    }

    private Footprints footprints() {
        return pair().origin.footprints();
    }

    private List<String> names(KeySet keys, KeyKind kind) {
        TreeSet<String> names = new TreeSet<>();
        for (int i = 0; i < keys.size(); i++) {
            if (keys.kind(i) == kind) {
                for (Table table : pair().origin.tables().all()) {
                    if (table.hash() == keys.hash(i)) {
                        names.add(table.name());
                    }
                }
                if (keys.hash(i) == TableCatalog.SCHEMA_KEY) {
                    names.add("everything");
                }
            }
        }
        return List.copyOf(names);
    }

    /** Tables that are scanned, and after a slash those of which rows are read, with how many. */
    private String reads(String sql, @Nullable Object... values) {
        ReadSet.Builder builder = new ReadSet.Builder();
        footprints().of(sql).addTo(builder, Arrays.asList(values));
        return describe(builder.build());
    }

    private String describe(ReadSet reads) {
        return String.join(" ", names(reads.tableKeys(), KeyKind.SCAN)) + "/"
                + String.join(" ", names(reads.tableKeys(), KeyKind.READ)) + " " + reads.rowKeys().length;
    }

    private String classes(String sql) {
        return classes(footprints().of(sql));
    }

    private String classes(Footprint footprint) {
        ConflictClasses classes = footprint.classes();
        if (classes.all()) {
            return "all";
        }
        List<String> names = new ArrayList<>();
        for (Table table : pair().origin.tables().all()) {
            if (classes.contains(table.hash())) {
                names.add(table.name());
            }
        }
        names.sort(null);
        return String.join(" ", names);
    }

    @ParameterizedTest
    @EnumSource
    void rowsWhereTheTextSaysWhichAndOtherwiseTables(EngineKind kind) throws Exception {
        start(kind);
        assertEquals("/PARENT 1", reads("SELECT n FROM parent WHERE id = ?", 1));
        assertEquals("/PARENT 1", reads("select p.n from parent p where p.id = 7 and p.n < 3"));
        assertEquals("/PARENT 1", reads("UPDATE parent SET n = ? WHERE id = ?", 4, 1L));
        assertEquals("/PARENT 1", reads("DELETE FROM \"PARENT\" WHERE (id = 3)"));
        assertEquals("/OTHER 1", reads("SELECT c FROM other WHERE a = ? AND b = 'x'", 1));
        assertEquals("/OTHER PARENT 2",
                reads("SELECT * FROM parent p JOIN other o ON o.a = 2 WHERE p.id = ? AND o.b = ?", 1, "x"));
        assertEquals("OTHER/ 0", reads("SELECT c FROM other WHERE a = ?", 1), "a part of the key");
        assertEquals("OTHER/ 0", reads("SELECT c FROM other WHERE a = ? AND b = ?", 1, 2), "a number for a text");
        assertEquals("PARENT/ 0", reads("SELECT n FROM parent WHERE id = ?", "1"), "a text for a number");
        assertEquals("PARENT/ 0", reads("SELECT n FROM parent WHERE id = ? OR n = 1", 1));
        assertEquals("PARENT/ 0", reads("SELECT n FROM parent WHERE NOT id = ?", 1));
        assertEquals("PARENT/ 0", reads("SELECT n FROM parent WHERE id = ? + 1", 1));
        assertEquals("PARENT/ 0", reads("SELECT n FROM parent WHERE id > ?", 1));
        assertEquals("PARENT/ 0", reads("DELETE FROM parent"));
        assertEquals("PARENT/ 0", reads("SELECT n FROM parent WHERE id = 1 AND n = (SELECT MAX(n) FROM parent)"));
        assertEquals("CHILD/PARENT 1", reads("SELECT n FROM parent WHERE id = 1 AND n IN (SELECT p FROM child)"));
        assertEquals("CHILD PARENT/ 0",
                reads("SELECT * FROM child c LEFT JOIN parent p ON p.id = 1 WHERE c.id = 1"));
        assertEquals("/ 0", reads("INSERT INTO parent VALUES (?, ?)", 1, 2));
        assertEquals("CHILD/ 0", reads("INSERT INTO parent SELECT id, p FROM child"));
        assertEquals("PARENT/ 0", reads("INSERT INTO parent SELECT id + 100, n FROM parent"));
        assertEquals("OTHER PARENT/ 0", reads("MERGE INTO parent USING other ON (id = a) WHEN MATCHED THEN DELETE"));
        assertEquals("My \"Table/ 0", reads("SELECT * FROM \"My \"\"Table\""));
        assertEquals("/ 0", reads("SELECT 1 FROM INFORMATION_SCHEMA.TABLES"));
        assertEquals("everything/ 0", reads("SELECT * FROM U&\"\\0050ARENT\""));
        assertFalse(reads("SELECT * FROM /* parent").equals("/ 0"), "whatever a comment is");
    }

    @ParameterizedTest
    @EnumSource
    void whatComesAlong(EngineKind kind) throws Exception {
        start(kind);
        assertEquals("PARENT/ 0", reads("SELECT * FROM grandparents WHERE id = 1"));
        assertEquals("PARENT", classes("SELECT * FROM grandparents"));
        assertEquals("CHILD PARENT", classes("DELETE FROM parent WHERE id = 1"), "a cascade");
        assertEquals("CHILD PARENT", classes("INSERT INTO child VALUES (1, 1, '')"), "a foreign key");
        assertEquals("", classes("SELECT 1"));
        Footprint declared = footprints().declared("alone , PUBLIC.Other");
        assertNotNull(declared);
        assertEquals("ALONE OTHER", classes(declared));
        assertNull(footprints().declared("alone, nothing"));
        assertEquals(List.of("nothing"), footprints().unknown("alone, nothing"));
        assertEquals(1, footprints().unknown("alone;").size());
        assertEquals(1, footprints().unknown("").size());
    }

    @ParameterizedTest
    @EnumSource
    void definitionsAreLookedInto(EngineKind kind) throws Exception {
        if (kind == EngineKind.H2) {
            start(kind, "CREATE TABLE FED (ID INTEGER PRIMARY KEY, N INTEGER DEFAULT (SELECT MAX(ID) FROM ALONE))",
                    "CREATE SYNONYM NICKNAME FOR OTHER", "CREATE ALIAS ANY_CODE FOR 'java.lang.Math.abs(int)'");
            assertEquals("ALONE/ 0", reads("INSERT INTO FED (ID) VALUES (1)"));
            assertEquals("everything/ 0", reads("CALL CSVWRITE('x', 'SELECT * FROM ' || 'ALONE')"));
        } else {
            start(kind, "CREATE FUNCTION COUNTED() RETURNS INTEGER READS SQL DATA RETURN (SELECT MAX(ID) FROM ALONE)",
                    "CREATE SYNONYM NICKNAME FOR OTHER",
                    "CREATE FUNCTION ANY_CODE(X INTEGER) RETURNS INTEGER LANGUAGE JAVA NO SQL EXTERNAL NAME "
                            + "'CLASSPATH:java.lang.Math.abs'",
                    "CREATE TRIGGER COPIED AFTER INSERT ON CHILD REFERENCING NEW ROW AS R FOR EACH ROW "
                            + "UPDATE OTHER SET C = R.P WHERE A = R.ID");
            assertEquals("ALONE/ 0", reads("SELECT COUNTED() FROM (VALUES (0))"));
            assertEquals("OTHER/ 0", reads("INSERT INTO CHILD VALUES (1, NULL, '')"));
            assertEquals("OTHER/PARENT 1", reads("DELETE FROM PARENT WHERE ID = 1"), "a trigger of the cascade's");
        }
        assertEquals("OTHER/ 0", reads("SELECT * FROM NICKNAME"));
        assertEquals("everything/ 0", reads("SELECT ANY_CODE(1)"));
        assertEquals("all", classes("SELECT ANY_CODE(1)"));
    }

    /** The row that was read is the row that another transaction writes, by the hash of its key. */
    @ParameterizedTest
    @EnumSource
    void aRowThatIsReadIsTheRowThatIsWritten(EngineKind kind) throws Exception {
        start(kind);
        try (JdbcSession session = pair().session()) {
            session.logReads();
            read(session, "SELECT C FROM OTHER WHERE B = ? AND A = ?", "x", (short) 7);
            read(session, "SELECT C FROM OTHER WHERE A = 8 AND B = 'y'");
            ReadSet reads = session.reads();
            session.forget();
            for (String row : List.of("7, 'x', 0", "8, 'y', 0")) {
                CapturedWrites written = pair().commit("INSERT INTO OTHER VALUES (" + row + ")");
                assertTrue(conflict(reads, written), row);
            }
            for (String change : List.of("UPDATE OTHER SET C = 1 WHERE A = 7", "DELETE FROM OTHER WHERE A = 8")) {
                assertTrue(conflict(reads, pair().commit(change)), change);
            }
            assertFalse(conflict(reads, pair().commit("INSERT INTO OTHER VALUES (7, 'y', 0)")), "another row");
            assertFalse(conflict(reads, pair().commit("INSERT INTO ALONE VALUES (7)")), "another table");
        }
    }

    private static boolean conflict(ReadSet reads, CapturedWrites written) {
        KeySet read = reads.keys();
        KeySet writes = written.writes().keys();
        for (int i = 0; i < read.size(); i++) {
            for (int j = 0; j < writes.size(); j++) {
                if (read.hash(i) == writes.hash(j) && read.kind(i).conflictsWith(writes.kind(j))) {
                    return true;
                }
            }
        }
        return false;
    }

    private static void read(JdbcSession session, String sql, Object... values) throws SQLException {
        session.statement(connection -> {
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                for (int i = 0; i < values.length; i++) {
                    statement.setObject(i + 1, values[i]);
                }
                return statement.execute();
            }
        });
    }

    @ParameterizedTest
    @EnumSource
    void sessionsTellWhatTheyHaveRead(EngineKind kind) throws Exception {
        start(kind);
        pair().commit("INSERT INTO PARENT VALUES (1, 1)", "INSERT INTO PARENT VALUES (2, 1)");
        try (JdbcSession session = pair().session()) {
            session.logReads();
            EnginePair.execute(session, "SELECT * FROM ALONE");
            session.statement(connection -> {
                try (PreparedStatement update = connection.prepareStatement("UPDATE PARENT SET N = 2 WHERE ID = ?")) {
                    for (int id = 1; id < 3; id++) {
                        update.setInt(1, id);
                        update.addBatch();
                    }
                    return update.executeBatch().length;
                }
            });
            assertEquals("ALONE/PARENT 2", describe(session.reads()));
            pair().commit(session);
            EnginePair.execute(session, "SELECT * FROM OTHER");
            assertEquals("OTHER/ 0", describe(session.reads()), "of this transaction only");
            org.junit.jupiter.api.Assertions.assertThrows(SQLException.class,
                    () -> EnginePair.execute(session, "INSERT INTO PARENT VALUES (1, 1)"));
            assertEquals("OTHER everything/ 0", describe(session.reads()), "an error tells of a row");
        }
    }
}
