package tutti.engine.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.engine.jdbc.EnginePair.execute;

import java.nio.file.Path;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.engine.EngineContract.Result;

/** After a crash a database in files is a prefix of the positions, and knows which. */
@Timeout(60)
class JdbcRecoveryTest {
    private static final String TABLE = "CREATE TABLE T (ID INTEGER PRIMARY KEY, V INTEGER)";

    @TempDir
    private Path directory;

    private EmbeddedDatabase database(EngineKind kind) throws SQLException {
        return kind.inFiles(directory.resolve("db"));
    }

    private static void sql(EmbeddedDatabase database, String... statements) throws SQLException {
        try (EmbeddedDatabase.Session session = database.openApplier();
                Statement statement = session.connection().createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
            session.commit();
        }
    }

    private static void commit(JdbcEngine engine, long position, String sql) throws Exception {
        try (JdbcSession session = engine.openSession(() -> null)) {
            execute(session, sql);
            session.capture();
            Result<Void> done = new Result<>();
            session.commit(position, done);
            done.success();
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatIsThereIsAdoptedAndThePositionSurvivesAStop(EngineKind kind) throws Exception {
        EmbeddedDatabase before = database(kind);
        sql(before, TABLE, "INSERT INTO T VALUES (1, 1)");
        before.close();
        try (JdbcEngine engine = JdbcEngine.open(database(kind))) {
            assertEquals(0, engine.appliedPosition());
            commit(engine, 3, "INSERT INTO T VALUES (2, 2)");
        }
        try (JdbcEngine engine = JdbcEngine.open(database(kind))) {
            assertEquals(3, engine.appliedPosition());
            assertEquals(List.of("1,1", "2,2"), EnginePair.rows(engine, "SELECT * FROM T ORDER BY ID"));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aDatabaseBelongsToOneClusterForGood(EngineKind kind) throws Exception {
        try (JdbcEngine engine = JdbcEngine.open(database(kind))) {
            engine.claim("");
            engine.claim("one");
            engine.claim("one");
        }
        try (JdbcEngine engine = JdbcEngine.open(database(kind))) {
            SQLException refusal = assertThrows(SQLException.class, () -> engine.claim("other"));
            assertTrue(String.valueOf(refusal.getMessage()).contains("belongs to cluster one"), refusal.getMessage());
        }
        try (JdbcEngine engine = JdbcEngine.open(database(kind))) {
            engine.claim("one");
        }
    }

    @ParameterizedTest
    @EnumSource
    void aCrashLosesASuffixOfPositionsWithTheirEffects(EngineKind kind) throws Exception {
        EmbeddedDatabase crashing = database(kind);
        sql(crashing, TABLE);
        JdbcEngine engine = JdbcEngine.open(crashing);
        commit(engine, 1, "INSERT INTO T VALUES (1, 1)");
        commit(engine, 2, "INSERT INTO T VALUES (2, 2)");
        Result<Long> durable = new Result<>();
        engine.durablePosition(durable);
        assertEquals(2, durable.success());
        for (int position = 3; position <= 20; position++) {
            commit(engine, position, "INSERT INTO T VALUES (" + position + ", " + position + ")");
        }
        crashing.crash();
        try (JdbcEngine recovered = JdbcEngine.open(database(kind))) {
            long position = recovered.appliedPosition();
            assertEquals(true, position >= 2 && position <= 20, "position " + position);
            assertEquals(List.of(position + "," + position),
                    EnginePair.rows(recovered, "SELECT COUNT(*), MAX(ID) FROM T"));
        }
    }

    /** The statement's own commit and that of its position are two: between them, the schema says what was done. */
    @ParameterizedTest
    @EnumSource
    void aSchemaChangeThatWasMadeBeforeTheCrashIsNotMadeAgain(EngineKind kind) throws Exception {
        for (boolean made : new boolean[]{false, true}) {
            EmbeddedDatabase before = kind.inFiles(directory.resolve("made" + made));
            sql(before, TABLE);
            JdbcEngine engine = JdbcEngine.open(before);
            commit(engine, 1, "INSERT INTO T VALUES (1, 1)");
            try (EmbeddedDatabase.Session session = before.openApplier()) {
                engine.barriers().announce(session.connection(), 2);
                session.commit();
            }
            if (made) {
                sql(before, "CREATE INDEX ON_V ON T (V)");
            }
            before.sync();
            before.crash();
            try (JdbcEngine recovered = JdbcEngine.open(kind.inFiles(directory.resolve("made" + made)))) {
                assertEquals(made ? 2 : 1, recovered.appliedPosition());
                if (!made) {
                    Result<ExecuteResult> executed = new Result<>();
                    try (Applier applier = recovered.openApplier()) {
                        applier.execute(2, new BarrierStatement("PUBLIC", "CREATE INDEX ON_V ON T (V)").toBytes(),
                                executed);
                        assertEquals(true, executed.success().tookEffect());
                    }
                }
                assertEquals(2, recovered.appliedPosition());
            }
        }
    }

    private static void change(JdbcEngine engine, long position, String sql) throws Exception {
        Result<ExecuteResult> executed = new Result<>();
        try (Applier applier = engine.openApplier()) {
            applier.execute(position, new BarrierStatement("PUBLIC", sql).toBytes(), executed);
            BarrierResponse response = BarrierResponse.of(executed.success().response());
            assertEquals(null, response == null ? null : response.error(), sql);
        }
    }

    /** Nodes take different values only where there is room for that. */
    @ParameterizedTest
    @EnumSource
    void aSmallRangeOfValuesHoldsUpNothing(EngineKind kind) throws Exception {
        SequenceSteps steps = new SequenceSteps(1, 16);
        try (JdbcEngine engine = JdbcEngine.open(database(kind), CaptureMode.NOTES, steps)) {
            change(engine, 1,
                    "CREATE TABLE SMALL (ID SMALLINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, V INTEGER)");
            change(engine, 2, "CREATE SEQUENCE FEW AS INTEGER START WITH 1 MINVALUE 1 MAXVALUE 20");
            change(engine, 3, "CREATE SEQUENCE BACK INCREMENT BY -1 MAXVALUE 5 MINVALUE -5 START WITH 5");
            change(engine, 4, TABLE);
            commit(engine, 5, "INSERT INTO T VALUES (1, 1)");
            commit(engine, 6, "INSERT INTO SMALL (V) VALUES (1), (2)");
        }
        for (int life = 0; life < 3; life++) {
            try (JdbcEngine engine = JdbcEngine.open(database(kind), CaptureMode.NOTES, steps)) {
                commit(engine, 7 + life, "INSERT INTO SMALL (V) VALUES (3)");
                assertEquals(List.of("1"), EnginePair.rows(engine, "SELECT DISTINCT MOD(ID, 16) FROM SMALL"),
                        "values are this node's");
            }
        }
    }
}
