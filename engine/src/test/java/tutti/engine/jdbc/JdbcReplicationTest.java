package tutti.engine.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.engine.jdbc.EnginePair.execute;

import java.nio.file.Path;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.engine.jdbc.hsqldb.HsqldbDatabase;
import tutti.engine.jdbc.rows.CapturedWrites;

/** What a transaction changed arrives at another database as it was, and nothing else does. */
@Timeout(60)
class JdbcReplicationTest {
    private static final String TABLE = "CREATE TABLE T (ID INTEGER PRIMARY KEY, V VARCHAR(100), U INTEGER UNIQUE)";
    private static final String ALL = "SELECT * FROM T ORDER BY ID";

    private static List<String> keys(CapturedWrites captured) {
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < captured.writes().keys().size(); i++) {
            if (!captured.describe(i).equals("the schema")) {
                keys.add(captured.writes().keys().kind(i) + " " + captured.describe(i));
            }
        }
        return keys.stream().sorted().toList();
    }

    @ParameterizedTest
    @EnumSource
    void keysSayHowRowsWereTouched(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE)) {
            assertEquals(
                    List.of("CREATED table PUBLIC.T, key (ID) = (1)", "CREATED table PUBLIC.T, key (U) = (10)",
                            "REFERENCE table PUBLIC.T"),
                    keys(pair.commit("INSERT INTO T VALUES (1, 'a', 10)")));
            assertEquals(List.of("REFERENCE table PUBLIC.T", "UPDATE table PUBLIC.T, key (ID) = (1)"),
                    keys(pair.commit("UPDATE T SET V = 'b' WHERE ID = 1")));
            assertEquals(
                    List.of("CREATED table PUBLIC.T, key (U) = (11)", "GONE table PUBLIC.T, key (U) = (10)",
                            "REFERENCE table PUBLIC.T", "UPDATE table PUBLIC.T, key (ID) = (1)"),
                    keys(pair.commit("UPDATE T SET U = 11 WHERE ID = 1")));
            assertEquals(
                    List.of("CREATED table PUBLIC.T, key (ID) = (2)", "CREATED table PUBLIC.T, key (U) = (11)",
                            "GONE table PUBLIC.T, key (ID) = (1)", "GONE table PUBLIC.T, key (U) = (11)",
                            "REFERENCE table PUBLIC.T"),
                    keys(pair.commit("UPDATE T SET ID = 2 WHERE ID = 1")));
            pair.assertRows(ALL, "2,b,11");
            pair.commit("DELETE FROM T");
            pair.assertRows(ALL);
        }
    }

    @ParameterizedTest
    @EnumSource
    void theSameTransactionTouchesARowSeveralTimes(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE)) {
            pair.commit("INSERT INTO T VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)");
            pair.commit("UPDATE T SET V = 'x' WHERE ID = 1", "DELETE FROM T WHERE ID = 1",
                    "INSERT INTO T VALUES (1, 'again', 4)", "INSERT INTO T VALUES (4, 'd', 1)",
                    "DELETE FROM T WHERE ID = 3", "INSERT INTO T VALUES (5, 'gone', 5)", "DELETE FROM T WHERE ID = 5");
            pair.assertRows(ALL, "1,again,4", "2,b,2", "4,d,1");
            pair.commit("UPDATE T SET U = NULL WHERE ID = 1", "UPDATE T SET U = 4 WHERE ID = 2",
                    "UPDATE T SET U = 2 WHERE ID = 1");
            pair.assertRows(ALL, "1,again,2", "2,b,4", "4,d,1");
            assertTrue(pair.commit("INSERT INTO T VALUES (9, 'i', 9)", "DELETE FROM T WHERE ID = 9").writes()
                    .isEmpty());
        }
    }

    @ParameterizedTest
    @EnumSource
    void ofARowThatStaysOnlyItsKeyAndWhatHasChangedTravel(EngineKind kind) throws Exception {
        for (CaptureMode mode : List.of(CaptureMode.NOTES, CaptureMode.TRIGGERS)) {
            try (EnginePair pair = EnginePair.inMemory(kind, mode, TABLE,
                    "CREATE TABLE W (A INTEGER, TEXT VARCHAR(10000), B INTEGER, N INTEGER, T INTEGER REFERENCES T (ID),"
                            + " C1 INTEGER, C2 INTEGER, C3 INTEGER, C4 VARCHAR(10), PRIMARY KEY (B, A))")) {
                String rows = "SELECT A, B, N, T, LENGTH(TEXT), C1, C2, C3, C4 FROM W ORDER BY A, B";
                int length = 5000;
                pair.commit("INSERT INTO T VALUES (1, 'a', 1), (2, 'b', 2)", "INSERT INTO W VALUES (1, '"
                        + "x".repeat(length) + "', 2, 3, 1, 4, 5, 6, 'c'), (7, 'short', 2, NULL, NULL, 4, 5, 6, 'd')");
                assertTrue(
                        pair.commit("UPDATE W SET N = N + 1, C4 = NULL WHERE A = 1").writes().changes().length < 100);
                pair.assertRows(rows, "1,2,4,1,5000,4,5,6,null", "7,2,null,null,5,4,5,6,d");
                assertTrue(pair.commit("UPDATE W SET C3 = 0, N = 9, T = 2").writes().changes().length < 150);
                pair.assertRows(rows, "1,2,9,2,5000,4,5,0,null", "7,2,9,2,5,4,5,0,d");
                assertTrue(pair.commit("UPDATE W SET A = 8 WHERE A = 1").writes().changes().length > length);
                pair.assertRows(rows, "7,2,9,2,5,4,5,0,d", "8,2,9,2,5000,4,5,0,null");
                pair.commit("UPDATE W SET A = A, C1 = C1 WHERE A = 8", "UPDATE W SET N = 1 WHERE A = 8",
                        "UPDATE W SET N = 9, TEXT = NULL WHERE A = 8");
                pair.assertRows(rows, "7,2,9,2,5,4,5,0,d", "8,2,9,2,null,4,5,0,null");
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void valuesThatAreEqualButNotTheSameTravel(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind,
                "CREATE TABLE E (ID INTEGER PRIMARY KEY, C VARCHAR_IGNORECASE(10), D DOUBLE PRECISION)",
                "CREATE TABLE G (ID INTEGER PRIMARY KEY, N INTEGER, M INTEGER GENERATED ALWAYS AS (N * 2))")) {
            pair.commit("INSERT INTO E VALUES (1, 'a', 0.0E0)", "INSERT INTO G (ID, N) VALUES (1, 1)");
            pair.commit("UPDATE E SET C = 'A', D = -0.0E0", "UPDATE G SET N = 2");
            pair.assertRows("SELECT ID, C FROM E", "1,A");
            pair.assertRows("SELECT * FROM G", "1,2,4");
            assertEquals(EnginePair.rows(pair.origin, "SELECT D FROM E"),
                    EnginePair.rows(pair.copy, "SELECT D FROM E"));
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatASavepointUndidIsNotCaptured(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE); JdbcSession session = pair.session()) {
            pair.commit("INSERT INTO T VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)");
            execute(session, "UPDATE T SET V = 'kept' WHERE ID = 1");
            Savepoint outer = session.statement(connection -> connection.setSavepoint("OUTER_ONE"));
            execute(session, "UPDATE T SET V = 'undone' WHERE ID = 1", "DELETE FROM T WHERE ID = 2");
            Savepoint inner = session.statement(connection -> connection.setSavepoint("INNER_ONE"));
            execute(session, "UPDATE T SET ID = 7 WHERE ID = 3", "INSERT INTO T VALUES (8, 'undone', 8)");
            session.statement(connection -> {
                connection.rollback(inner);
                return null;
            });
            execute(session, "INSERT INTO T VALUES (9, 'undone too', 9)");
            session.statement(connection -> {
                connection.rollback(outer);
                return null;
            });
            execute(session, "DELETE FROM T WHERE ID = 3", "SAVEPOINT THIRD", "UPDATE T SET U = 5 WHERE ID = 2",
                    "ROLLBACK TO SAVEPOINT THIRD", "INSERT INTO T VALUES (4, 'new', 3)");
            assertEquals(5 + 1 + 1 - 1, keys(pair.commit(session)).size());
            pair.assertRows(ALL, "1,kept,1", "2,b,2", "4,new,3");
        }
    }

    @ParameterizedTest
    @EnumSource
    void aFailedStatementLeavesNothing(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE); JdbcSession session = pair.session()) {
            pair.commit("INSERT INTO T VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)");
            execute(session, "UPDATE T SET V = 'kept' WHERE ID = 2");
            assertThrows(SQLException.class, () -> execute(session, "INSERT INTO T VALUES (4, 'd', 4), (2, 'x', 9)"));
            assertThrows(SQLException.class, () -> execute(session, "UPDATE T SET U = 7 WHERE ID > 1"));
            assertThrows(SQLException.class, () -> execute(session, "INSERT INTO T VALUES (2, 'kept', 2)"));
            pair.commit(session);
            pair.assertRows(ALL, "1,a,1", "2,kept,2", "3,c,3");
        }
    }

    @ParameterizedTest
    @EnumSource
    void cascadesAndTriggersRunOnceAndTheirEffectsTravel(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE,
                "CREATE TABLE CHILD (ID INTEGER PRIMARY KEY, T INTEGER REFERENCES T (ID) ON DELETE CASCADE)",
                "CREATE TABLE ORPHAN (ID INTEGER PRIMARY KEY, T INTEGER REFERENCES T (ID) ON DELETE SET NULL)")) {
            pair.commit("INSERT INTO T VALUES (1, 'a', 1), (2, 'b', 2)",
                    "INSERT INTO CHILD VALUES (1, 1), (2, 1), (3, 2)",
                    "INSERT INTO ORPHAN VALUES (1, 1), (2, 2)");
            CapturedWrites captured = pair.commit("DELETE FROM T WHERE ID = 1");
            assertTrue(keys(captured).contains("GONE table PUBLIC.CHILD, key (ID) = (2)"));
            assertTrue(keys(captured).contains("UPDATE table PUBLIC.ORPHAN, key (ID) = (1)"));
            pair.assertRows("SELECT * FROM CHILD ORDER BY ID", "3,2");
            pair.assertRows("SELECT * FROM ORPHAN ORDER BY ID", "1,null", "2,2");
            assertTrue(keys(captured).contains("RELEASED table PUBLIC.T, key (ID) = (1)"),
                    () -> keys(captured).toString());
            CapturedWrites child = pair.commit("INSERT INTO CHILD VALUES (4, 2)");
            int parent = keyPlace(child, "table PUBLIC.T, key (ID) = (2)");
            assertEquals(KeyKind.REFERENCE, child.writes().keys().kind(parent));
            CapturedWrites removed = pair.commit("DELETE FROM CHILD", "DELETE FROM T WHERE ID = 2");
            assertEquals(child.writes().keys().hash(parent),
                    removed.writes().keys().hash(keyPlace(removed, "table PUBLIC.T, key (ID) = (2)")),
                    "a child names its parent by the key that the parent goes by");
        }
    }

    /** H2 admits such references. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', value = {"BIGINT|DECFLOAT|100|1E+2", "VARCHAR(9)|INTEGER|'7'|7",
            "DATE|TIMESTAMP|DATE '2026-11-30'|TIMESTAMP '2026-11-30 00:00:00'", "INTEGER|DECIMAL(9, 2)|7|7.00",
            "VARCHAR(9)|VARCHAR_IGNORECASE(9)|'a'|'a'"})
    void aParentIsNamedByItsChildWhateverTheirTypesAre(String parent, String child, String key, String reference)
            throws Exception {
        try (EnginePair pair = EnginePair.inMemory(EngineKind.H2, "CREATE TABLE P (ID " + parent + " PRIMARY KEY)",
                "CREATE TABLE C (ID INTEGER PRIMARY KEY, P " + child + " REFERENCES P (ID))")) {
            pair.commit("INSERT INTO P VALUES (" + key + ")");
            CapturedWrites born = pair.commit("INSERT INTO C VALUES (1, " + reference + ")");
            CapturedWrites gone = pair.commit("DELETE FROM C", "DELETE FROM P");
            KeySet children = born.writes().keys();
            KeySet parents = gone.writes().keys();
            assertTrue(IntStream.range(0, children.size()).anyMatch(i -> IntStream.range(0, parents.size())
                    .anyMatch(j -> children.hash(i) == parents.hash(j) && children.kind(i) == KeyKind.REFERENCE
                            && parents.kind(j).conflictsWith(KeyKind.REFERENCE))),
                    () -> keys(born) + " " + keys(gone));
        }
    }

    private static int keyPlace(CapturedWrites captured, String description) {
        for (int i = 0; i < captured.writes().keys().size(); i++) {
            if (captured.describe(i).equals(description)) {
                return i;
            }
        }
        throw new AssertionError("no key " + description + " in " + keys(captured));
    }

    @ParameterizedTest
    @EnumSource
    void valuesArriveAsTheyAre(EngineKind kind) throws Exception {
        String types = "CREATE TABLE V (ID BIGINT PRIMARY KEY, A SMALLINT, B DECIMAL(20, 5), C DOUBLE PRECISION, "
                + "D BOOLEAN, E CHAR(5), F VARBINARY(20), G DATE, H TIME(3), I TIMESTAMP(6), "
                + "J TIMESTAMP(3) WITH TIME ZONE, K INTERVAL DAY TO SECOND, L UUID, M INTEGER ARRAY, N VARCHAR(10))";
        try (EnginePair pair = EnginePair.inMemory(kind, types)) {
            pair.commit("INSERT INTO V VALUES (9000000000000000000, -3, 123456789012345.12345, 1.5E-300, TRUE, 'ab', "
                    + "X'00FF10', DATE '2024-02-29', TIME '23:59:59.123', TIMESTAMP '1969-12-31 23:59:59.999999', "
                    + "TIMESTAMP '2024-10-27 02:30:00.5+02:00', INTERVAL '3 04:05:06' DAY TO SECOND, "
                    + "'f47ac10b-58cc-4372-a567-0e02b2c3d479', ARRAY[1, NULL, 3], 'é€😀')",
                    "INSERT INTO V (ID) VALUES (1)");
            String all = "SELECT * FROM V ORDER BY ID";
            List<String> written = EnginePair.rows(pair.origin, all);
            assertEquals(2, written.size());
            assertEquals(written, EnginePair.rows(pair.copy, all));
            pair.commit("UPDATE V SET A = 4, M = ARRAY[2]");
            assertEquals(EnginePair.rows(pair.origin, all), EnginePair.rows(pair.copy, all));
        }
    }

    @ParameterizedTest
    @EnumSource
    void equalKeysHaveEqualHashesHoweverTheyAreWritten(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind,
                "CREATE TABLE N (K DECIMAL(10, 3) PRIMARY KEY, V INTEGER)",
                "CREATE TABLE C (K VARCHAR_IGNORECASE(10) PRIMARY KEY, V INTEGER)")) {
            long one = exclusive(pair.commit("INSERT INTO N VALUES (1, 1)", "INSERT INTO C VALUES ('Abc', 1)"), "N");
            pair.commit("DELETE FROM N WHERE K = 1.0");
            assertEquals(one, exclusive(pair.commit("INSERT INTO N VALUES (1.000, 2)"), "N"));
            long folded = exclusive(pair.commit("DELETE FROM C WHERE K = 'ABC'"), "C");
            assertEquals(folded, exclusive(pair.commit("INSERT INTO C VALUES ('aBC', 2)"), "C"));
            pair.assertRows("SELECT * FROM C", "aBC,2");
        }
    }

    private static long exclusive(CapturedWrites captured, String table) {
        for (int i = 0; i < captured.writes().keys().size(); i++) {
            if (captured.writes().keys().kind(i).conflictsWith(KeyKind.REFERENCE)
                    && captured.describe(i).startsWith("table PUBLIC." + table)) {
                return captured.writes().keys().hash(i);
            }
        }
        throw new AssertionError("no exclusive key of " + table);
    }

    @ParameterizedTest
    @EnumSource
    void aTableWithoutPrimaryKeyCannotBeWritten(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE, "CREATE TABLE LOOSE (A INTEGER)");
                JdbcSession session = pair.session()) {
            execute(session, "INSERT INTO T VALUES (1, 'a', 1)");
            SQLException refusal = assertThrows(SQLException.class,
                    () -> execute(session, "INSERT INTO LOOSE VALUES (1)"));
            assertEquals("55000", refusal.getSQLState());
            assertTrue(refusal.getMessage().contains("LOOSE"), refusal.getMessage());
            execute(session, "UPDATE LOOSE SET A = 2", "INSERT INTO T VALUES (2, 'b', 2)");
            pair.commit(session);
            pair.assertRows(ALL, "1,a,1", "2,b,2");
            assertEquals(List.of(), EnginePair.rows(pair.origin, "SELECT * FROM LOOSE"));
        }
    }

    /** What HSQLDB does not tell the changes of is refused at the write, too, and leaves the transaction as it was. */
    @ParameterizedTest
    @ValueSource(strings = {"CREATE TABLE LARGE (ID INTEGER PRIMARY KEY, V CLOB)",
            "CREATE CACHED TABLE LARGE (ID INTEGER PRIMARY KEY, V VARCHAR(10))"})
    void tablesOfOtherKindsAreRefusedByHsqldb(String large, @TempDir Path files) throws Exception {
        try (EnginePair pair = new EnginePair(JdbcEngine.open(HsqldbDatabase.inFiles(files.resolve("one"))),
                JdbcEngine.open(HsqldbDatabase.inFiles(files.resolve("other"))))) {
            pair.everywhere(TABLE);
            pair.everywhere(large);
            try (JdbcSession session = pair.session()) {
                execute(session, "INSERT INTO T VALUES (1, 'a', 1)");
                SQLException refusal = assertThrows(SQLException.class,
                        () -> execute(session, "INSERT INTO LARGE VALUES (1, 'x')"));
                assertEquals("0A000", refusal.getSQLState(), refusal.getMessage());
                pair.commit(session);
                pair.assertRows(ALL, "1,a,1");
                pair.assertRows("SELECT COUNT(*) FROM LARGE", "0");
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void temporaryTablesStayWhereTheyAre(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE,
                "CREATE GLOBAL TEMPORARY TABLE SCRATCH (ID INTEGER PRIMARY KEY)")) {
            assertTrue(pair.commit("INSERT INTO SCRATCH VALUES (1)").writes().isEmpty());
        }
    }

    @ParameterizedTest
    @EnumSource
    void theFirstUpdaterWins(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE);
                JdbcSession first = pair.session();
                JdbcSession second = pair.session()) {
            pair.commit("INSERT INTO T VALUES (1, 'a', 1), (2, 'b', 2)");
            execute(first, "SELECT * FROM T");
            execute(second, "SELECT * FROM T");
            execute(first, "UPDATE T SET V = 'first' WHERE ID = 1");
            pair.commit(first);
            SQLException lost = assertThrows(SQLException.class,
                    () -> execute(second, "UPDATE T SET V = 'second' WHERE ID = 1"));
            assertTrue(lost.getSQLState().startsWith("40"), lost::toString);
            assertThrows(SQLException.class, () -> execute(second, "SELECT * FROM T"),
                    "until it is told that it knows");
            second.forget();
            execute(second, "UPDATE T SET V = 'second' WHERE ID = 1");
            pair.commit(second);
            pair.assertRows(ALL, "1,second,1", "2,b,2");
        }
    }

    @ParameterizedTest
    @EnumSource
    void aSnapshotIsOfAllTablesAndStays(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE, "CREATE TABLE S (ID INTEGER PRIMARY KEY)");
                JdbcSession reader = pair.session()) {
            pair.commit("INSERT INTO T VALUES (1, 'a', 1)", "INSERT INTO S VALUES (1)");
            execute(reader, "SELECT * FROM T");
            pair.commit("UPDATE T SET V = 'b'", "INSERT INTO S VALUES (2)");
            int rows = reader.statement(connection -> {
                try (Statement statement = connection.createStatement();
                        var counted = statement.executeQuery("SELECT COUNT(*) FROM S, T WHERE V = 'a'")) {
                    counted.next();
                    return counted.getInt(1);
                }
            });
            assertEquals(1, rows);
            reader.commitUnchanged();
            assertFalse(reader.open());
        }
    }

    /** Each of them would commit in the engine, without a position and past certification. */
    @ParameterizedTest
    @EnumSource
    void whatWouldGetPastReplicationIsRefusedAndLeavesTheTransactionOpen(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE); JdbcSession session = pair.session()) {
            execute(session, "INSERT INTO T VALUES (1, 'a', 1)");
            for (String sql : List.of("COMMIT", "ROLLBACK", "commit work", "CREATE TABLE X (ID INTEGER PRIMARY KEY)",
                    "/* x */ -- y\n DROP TABLE T", "SELECT 1 FROM T; CREATE TABLE X (ID INTEGER PRIMARY KEY)",
                    "/* /* */ */ CREATE TABLE X (ID INTEGER PRIMARY KEY)", "SET AUTOCOMMIT TRUE", "SHUTDOWN",
                    "INSERT INTO T VALUES (2, ';', 2) /* ; */ ; TRUNCATE TABLE T", "BACKUP TO 'x'",
                    "ROLLBACK WORK")) {
                assertEquals("0A000",
                        assertThrows(SQLException.class, () -> execute(session, sql), sql).getSQLState());
                assertThrows(SQLException.class, () -> session
                        .statement(connection -> connection.prepareStatement(sql)), sql);
            }
            assertThrows(SQLException.class, () -> session.statement(connection -> {
                connection.commit();
                return null;
            }));
            assertThrows(SQLException.class, () -> session.statement(connection -> {
                connection.setAutoCommit(true);
                return null;
            }));
            execute(session, "INSERT INTO T VALUES (2, 'it''s; COMMIT', 2);");
            assertEquals(List.of(), EnginePair.rows(pair.origin, ALL));
            pair.commit(session);
            pair.assertRows(ALL, "1,a,1", "2,it's; COMMIT,2");
        }
    }
}
