package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.ConflictClasses;
import tutti.engine.EngineContract.Result;
import tutti.engine.ExecutorContract;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.capture.Statement;

/** Code of a role's that does not end where its rows and statements are applied, and that no cancellation ends. */
@Timeout(120)
class CodeTimeTest {
    private static final String SCHEMA = """
            CREATE FUNCTION endless(asked int) RETURNS boolean LANGUAGE plpgsql AS $$
                BEGIN
                    WHILE session_user LIKE 'tutti\\_%' AND asked > 0 LOOP
                        BEGIN
                            PERFORM pg_sleep(1000);
                        EXCEPTION WHEN query_canceled THEN
                            NULL;
                        END;
                    END LOOP;
                    RETURN true;
                END $$;
            CREATE TABLE held (id int PRIMARY KEY, CHECK (endless(id)));
            CREATE TABLE other (id int PRIMARY KEY)""";
    private Pair pair;

    @BeforeEach
    void open() throws Exception {
        pair = new Pair(SCHEMA);
        pair.engine.limitTimes(Duration.ofMillis(500), Duration.ofMillis(500));
    }

    @AfterEach
    void close() throws Exception {
        pair.close();
    }

    private void assertGoesOn() throws Exception {
        pair.transaction("INSERT INTO other VALUES (1)").transaction("INSERT INTO held VALUES (-1)");
        pair.assertEqual("other");
        assertEquals("[[-1]]", Pair.rows(pair.other, "SELECT id FROM held").toString());
    }

    private static void assertRefusedForGood(EngineFailure failure) {
        assertEquals("57014", failure.sqlState(), failure.toString());
        assertFalse(failure.transientFailure(), "another attempt would take as long");
    }

    @Test
    void rowsFailWhoseChecksDoNotEnd() throws Exception {
        Result<Void> applied = new Result<>();
        pair.applier.apply(1, List.of(pair.session.commit("INSERT INTO held VALUES (1)")), applied);
        assertRefusedForGood(applied.failure());
        assertGoesOn();
    }

    /** The owner of a log executes what stands behind it; its client is told. */
    @Test
    void requestsOfAnOwnerFailThatDoNotEnd() throws Exception {
        try (Engine.Executor executor = pair.engine.openExecutor()) {
            LocalTransaction transaction = new ExecutorContract.Undertaken(executor);
            assertEquals("57014", execute(executor, transaction, "SELECT endless(1)"));
            assertEquals("00000", execute(executor, transaction, "INSERT INTO other VALUES (2)"));
        }
    }

    private static String execute(Engine.Executor executor, LocalTransaction transaction, String request)
            throws Exception {
        Result<Engine.Executed> executed = new Result<>();
        executor.execute(transaction, List.of(new Engine.Request(
                Statement.request(List.of(Statement.Call.plain(request)), TestServer.USER, Map.of()).toBytes(),
                ConflictClasses.ALL)), executed);
        return executed.success().responses().getFirst().sqlState();
    }

    @Test
    void statementsFailThatDoNotEnd() throws Exception {
        Result<ExecuteResult> executed = new Result<>();
        pair.applier.execute(1,
                new Statement("CREATE TABLE made AS SELECT endless(1)", TestServer.USER, Map.of()).toBytes(), executed);
        assertRefusedForGood(executed.failure());
        assertGoesOn();
    }
}
