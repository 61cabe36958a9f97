package tutti.engine.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.engine.jdbc.rows.CapturedWrites;

/** Triggers and analysis of statements find the same changes as the engines' own notes. */
@Tag("long")
@Timeout(120)
class CaptureModesTest {
    private static final String TABLE = "CREATE TABLE T (A INTEGER, B VARCHAR(10), V INTEGER, U INTEGER UNIQUE, "
            + "PRIMARY KEY (A, B))";
    private static final int KEYS = 8;
    private static final int TRANSACTIONS = 80;

    private record Step(String sql, List<Object> parameters) {}

    private static Step step(Random random, int serial) {
        int key = random.nextInt(KEYS);
        int other = random.nextInt(KEYS);
        return switch (random.nextInt(9)) {
            case 0, 1 -> new Step("INSERT INTO T (B, A, V, U) VALUES ('x', ?, ?, NULL)", List.of(key, serial));
            case 2 -> new Step("INSERT INTO T VALUES (?, 'x', 1, ?), (? + 1, 'x', 2, NULL)",
                    List.of(key, serial, other));
            case 3 -> new Step("UPDATE T SET V = V + 1 WHERE A >= ?", List.of(key));
            case 4 -> new Step("UPDATE T SET A = A + ?, V = ? WHERE A < ?", List.of(1, serial, key));
            case 5 -> new Step("DELETE FROM T WHERE A = ? AND B = 'x'", List.of(key));
            case 6 -> new Step("UPDATE T SET U = ?, V = V + 1 WHERE A = ?", List.of(serial % 5, key));
            case 7 -> new Step("SAVEPOINT S" + random.nextInt(2), List.of());
            default -> new Step("ROLLBACK TO SAVEPOINT S" + random.nextInt(2), List.of());
        };
    }

    /** Whether it worked; a failed statement leaves the transaction open. */
    private static boolean execute(JdbcSession session, Step step) {
        try {
            if (step.parameters().isEmpty()) {
                session.statement(step.sql(), List.of(), connection -> {
                    try (Statement statement = connection.createStatement()) {
                        return statement.execute(step.sql());
                    }
                });
            } else {
                session.execute(step.sql(), step.parameters().toArray());
            }
            return true;
        } catch (SQLException failed) {
            assertTrue(failed.getSQLState().startsWith("23") || failed.getSQLState().startsWith("3B")
                    || failed.getSQLState().startsWith("9006"), () -> failed.getSQLState() + " " + failed);
            return false;
        }
    }

    private static List<String> keys(CapturedWrites captured) {
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < captured.writes().keys().size(); i++) {
            keys.add(captured.writes().keys().kind(i) + " " + captured.describe(i));
        }
        return keys.stream().sorted().toList();
    }

    @ParameterizedTest
    @EnumSource
    void allModesFindTheSame(EngineKind kind) throws Exception {
        Map<CaptureMode, EnginePair> pairs = new EnumMap<>(CaptureMode.class);
        try {
            for (CaptureMode mode : CaptureMode.values()) {
                pairs.put(mode, EnginePair.inMemory(kind, mode, TABLE));
            }
            Random random = new Random(7);
            int failed = 0;
            for (int transaction = 0; transaction < TRANSACTIONS; transaction++) {
                List<Step> steps = new ArrayList<>();
                for (int i = random.nextInt(6); i >= 0; i--) {
                    steps.add(step(random, transaction));
                }
                Map<CaptureMode, List<String>> found = new EnumMap<>(CaptureMode.class);
                Map<CaptureMode, List<Boolean>> worked = new EnumMap<>(CaptureMode.class);
                for (CaptureMode mode : CaptureMode.values()) {
                    try (JdbcSession session = pairs.get(mode).session()) {
                        worked.put(mode, steps.stream().map(step -> execute(session, step)).toList());
                        found.put(mode, keys(pairs.get(mode).commit(session)));
                    }
                }
                failed += worked.get(CaptureMode.NOTES).contains(false) ? 1 : 0;
                for (CaptureMode mode : CaptureMode.values()) {
                    assertEquals(worked.get(CaptureMode.NOTES), worked.get(mode), () -> mode + " " + steps);
                    assertEquals(found.get(CaptureMode.NOTES), found.get(mode), () -> mode + " " + steps);
                }
            }
            assertTrue(failed > 5, "some statements fail");
            String all = "SELECT * FROM T ORDER BY A, B";
            List<String> expected = EnginePair.rows(pairs.get(CaptureMode.NOTES).origin, all);
            for (CaptureMode mode : CaptureMode.values()) {
                assertTrue(!expected.isEmpty());
                pairs.get(mode).assertRows(all, expected.toArray(String[]::new));
            }
        } finally {
            pairs.values().forEach(EnginePair::close);
        }
    }

    @ParameterizedTest
    @EnumSource
    void analysisRefusesWhatTheTextDoesNotShow(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, CaptureMode.STATEMENTS,
                "CREATE TABLE P (ID INTEGER GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, V INTEGER)",
                "CREATE TABLE C (ID INTEGER PRIMARY KEY, P INTEGER REFERENCES P (ID) ON DELETE CASCADE)");
                JdbcSession session = pair.session()) {
            for (String sql : List.of("DELETE FROM P WHERE ID = 1",
                    "INSERT INTO C SELECT ID, ID FROM P",
                    "MERGE INTO C USING (VALUES (1)) AS N (I) ON ID = I WHEN MATCHED THEN UPDATE SET P = NULL")) {
                assertEquals("0A000", assertThrows(SQLException.class, () -> session.execute(sql)).getSQLState(), sql);
            }
            assertEquals("0A000", assertThrows(SQLException.class,
                    () -> session.statement(java.sql.Connection::createStatement)).getSQLState());
        }
    }

    @ParameterizedTest
    @EnumSource
    void aTriggerRefusesChangesFromBesideTheEngine(EngineKind kind) throws Exception {
        EmbeddedDatabase database = kind.inMemory();
        try (JdbcEngine engine = JdbcEngine.open(database, CaptureMode.TRIGGERS, SequenceSteps.ALL)) {
            try (EmbeddedDatabase.Session beside = database.openApplier();
                    Statement statement = beside.connection().createStatement()) {
                statement.execute("CREATE TABLE T (ID INTEGER PRIMARY KEY)");
                database.installTriggers(beside.connection(), database.readTables(beside.connection()));
                assertThrows(SQLException.class, () -> statement.execute("INSERT INTO T VALUES (1)"));
            }
            assertEquals(0, engine.appliedPosition());
        }
    }
}
