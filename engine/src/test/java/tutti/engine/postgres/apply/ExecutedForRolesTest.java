package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.Executed;
import tutti.core.spi.Engine.Executor;
import tutti.core.spi.Engine.Request;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.Outcome;
import tutti.engine.EngineContract;
import tutti.engine.EngineContract.Result;
import tutti.engine.ExecutorContract;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.capture.Statement;
import tutti.pgwire.BackendConnection;

/** Requests that one node executes for a role without rights: what they change of the server, and who changes that role meanwhile. */
@Timeout(60)
class ExecutedForRolesTest {
    private static final String ROLE = "executed_for";
    private String database;
    private PostgresEngine engine;
    private Executor executor;

    @BeforeEach
    void open() throws Exception {
        database = TestServer.database("DO $$ BEGIN CREATE ROLE executed_for; CREATE ROLE executed_beside;"
                + " EXCEPTION WHEN duplicate_object THEN NULL; END $$",
                "ALTER ROLE executed_for RESET ALL",
                "CREATE TABLE kv (k int PRIMARY KEY)", "CREATE TABLE noisy (k int PRIMARY KEY)",
                "CREATE TABLE late (k int PRIMARY KEY)", "CREATE TABLE later (k int PRIMARY KEY)",
                "GRANT ALL ON kv, noisy, late, later TO executed_for",
                "CREATE FUNCTION alters() RETURNS trigger LANGUAGE plpgsql AS $$"
                        + " BEGIN ALTER ROLE executed_for SET work_mem = '1MB'; RETURN NULL; END $$",
                "CREATE FUNCTION defers() RETURNS trigger LANGUAGE plpgsql AS $$"
                        + " BEGIN SET CONSTRAINTS altering DEFERRED; INSERT INTO later VALUES (NEW.k); RETURN NULL; END $$",
                "CREATE TRIGGER altering AFTER INSERT ON noisy FOR EACH ROW EXECUTE FUNCTION alters()",
                "CREATE CONSTRAINT TRIGGER deferring AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED"
                        + " FOR EACH ROW EXECUTE FUNCTION defers()",
                "CREATE CONSTRAINT TRIGGER altering AFTER INSERT ON later DEFERRABLE INITIALLY DEFERRED"
                        + " FOR EACH ROW EXECUTE FUNCTION alters()");
        engine = PostgresEngine.open(TestServer.loops(), TestServer.reach(database), TestServer.settings(0));
        executor = engine.openExecutor();
    }

    @AfterEach
    void close() {
        executor.close();
        engine.close();
    }

    private Result<Executed> execute(LocalTransaction transaction, String sql) {
        Result<Executed> executed = new Result<>();
        executor.execute(transaction, List.of(new Request(Statement.request(List.of(Statement.Call.plain(sql)), ROLE,
                Map.of("search_path", "public")).toBytes(), ConflictClasses.ALL)), executed);
        return executed;
    }

    private String state(String sql) throws Exception {
        return execute(new ExecutorContract.Undertaken(executor), sql).success().responses().getFirst().sqlState();
    }

    private void assertUnchanged() throws Exception {
        BackendConnection connection = TestServer.connect(database);
        assertEquals("0", TestServer.execute(connection,
                "SELECT count(*) FROM pg_db_role_setting WHERE setrole = 'executed_for'::regrole").value());
        connection.close();
    }

    /** No other node would hear of it. */
    @Test
    void whatARequestChangesOfTheServerIsRefused() throws Exception {
        assertEquals("0A000", state("INSERT INTO noisy VALUES (1)"));
        assertEquals("0A000",
                state("DO $$ BEGIN INSERT INTO kv VALUES (1); ALTER ROLE executed_for SET work_mem = '1MB'; END $$"));
        assertUnchanged();
        assertEquals("00000", state("INSERT INTO kv VALUES (1)"));
    }

    /** What its deferred triggers have deferred once more is not asked for, so it cannot. */
    @Test
    void itsCommitChangesNothingOfTheServer() throws Exception {
        assertEquals("00000", state("INSERT INTO late VALUES (1)"));
        Result<Void> committed = new Result<>();
        executor.commit(1, committed);
        assertEquals("25006", committed.failure().sqlState());
        assertUnchanged();
        assertEquals("00000", state("INSERT INTO kv VALUES (1)"));
    }

    /** Nobody else waits meanwhile, and the holder is named, so that it gives way. */
    @Test
    void whoHasChangedTheRoleInAnOpenTransactionIsNamed() throws Exception {
        BackendConnection client = TestServer.connect(database);
        TestServer.execute(client, "BEGIN; GRANT executed_for TO executed_beside");
        LocalTransaction holding = new Held();
        engine.registerSession(client.processId(), () -> holding);
        LocalTransaction waiting = new ExecutorContract.Undertaken(executor);
        CompletableFuture<Set<LocalTransaction>> named = new CompletableFuture<>();
        engine.onBlocked(new Engine.BlockedListener() {
            @Override
            public void blocked(long position, LocalTransaction holder) {
                throw new IllegalStateException("no applier waits");
            }

            @Override
            public void blocked(LocalTransaction waiter, Set<LocalTransaction> holders) {
                if (waiter.equals(waiting)) {
                    named.complete(holders);
                }
            }
        });
        Result<Executed> executed = execute(waiting, "INSERT INTO kv VALUES (1)");
        assertEquals(Set.of(holding), named.get(20, TimeUnit.SECONDS));
        assertEquals(0, EngineContract.position(engine));
        assertFalse(executed.isDone());
        TestServer.execute(client, "ROLLBACK");
        assertEquals("00000", executed.success().responses().getFirst().sqlState());
        client.close();
    }

    private static final class Held implements LocalTransaction {
        @Override
        public void commit(long position, Completion<Void> done) {
            throw new UnsupportedOperationException("not asked for here");
        }

        @Override
        public void rollback(Runnable done) {
            throw new UnsupportedOperationException("not asked for here");
        }

        @Override
        public void answer(Outcome outcome) {
            throw new UnsupportedOperationException("not asked for here");
        }
    }
}
