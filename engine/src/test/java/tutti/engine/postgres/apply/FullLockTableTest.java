package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.spi.Engine.Executed;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.Engine.Executor;
import tutti.core.spi.Engine.Request;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract.Result;
import tutti.engine.ExecutorContract;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.capture.Promise;
import tutti.engine.postgres.capture.Statement;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.PostgresException;

/** A session without rights fills the server's table of locks: it gives way to what is applied. */
@Timeout(120)
class FullLockTableTest {
    private static final int ATTEMPTS_MAX = 90;

    @Test
    void whoHasMostLocksGivesWay() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY)")) {
            pair.transaction("INSERT INTO t VALUES (1)");
            List<WriteSet> writes = List.of(pair.session.commit("INSERT INTO t VALUES (2)"));
            BackendConnection client = TestServer.connect(pair.other);
            pair.engine.registerSession(client.processId(), () -> null);
            assertEquals("53200", assertThrows(PostgresException.class, () -> TestServer.execute(client,
                    "SELECT count(pg_advisory_lock(g)) FROM generate_series(1, 1000000) g")).sqlState());
            EngineFailure failure = null;
            for (int attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
                Result<Void> applied = new Result<>();
                pair.applier.apply(2, writes, applied);
                if (applied.succeeds()) {
                    failure = null;
                    break;
                }
                failure = applied.failure();
                assertTrue(failure.transientFailure(), failure.toString());
                pair.appliedPosition();
            }
            assertEquals(null, failure);
            client.closed().get(20, TimeUnit.SECONDS);
            assertFalse(client.channel().isActive());
            Result<Void> committed = new Result<>();
            pair.applier.commit(2, committed);
            committed.success();
            pair.assertEqual("t");
        }
    }

    /** A client that the node knows, and that has filled the table. */
    private static BackendConnection fills(Pair pair) throws Exception {
        BackendConnection client = TestServer.connect(pair.other);
        pair.engine.registerSession(client.processId(), () -> null);
        assertEquals("53200", assertThrows(PostgresException.class, () -> TestServer.execute(client,
                "SELECT count(pg_advisory_lock(g)) FROM generate_series(1, 1000000) g")).sqlState());
        return client;
    }

    @Test
    void itGivesWayToTheEndOfAPreparedTransaction() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY)")) {
            pair.apply(List.of(Promise.prepare("gid", TestServer.USER, "2026-11-23", "token",
                    pair.session.commit("INSERT INTO t VALUES (2)"))));
            BackendConnection client = fills(pair);
            Result<ExecuteResult> ended = new Result<>();
            pair.applier.execute(2, Statement.finish(new Statement.Finish("gid", "token", true), TestServer.USER)
                    .toBytes(), ended);
            assertEquals("53200", ended.failure().sqlState());
            client.closed().get(20, TimeUnit.SECONDS);
            assertEquals("COMMIT PREPARED", pair.finish("gid", "token", true, TestServer.USER));
            pair.assertEqual("t");
        }
    }

    @Test
    void itGivesWayToRequestsThatTheirOwnerExecutes() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY)");
                Executor executor = pair.engine.openExecutor()) {
            assertTrue(insert(executor, 1).succeeds(), "a session is there");
            rollBack(executor);
            BackendConnection client = fills(pair);
            assertEquals("53200", insert(executor, 2).failure().sqlState());
            client.closed().get(20, TimeUnit.SECONDS);
            assertTrue(insert(executor, 3).succeeds());
            rollBack(executor);
        }
    }

    private static Result<Executed> insert(Executor executor, int id) {
        Result<Executed> executed = new Result<>();
        byte[] request = Statement.request(List.of(Statement.Call.plain("INSERT INTO t VALUES (" + id + ")")),
                TestServer.USER, Map.of("search_path", "public")).toBytes();
        executor.execute(new ExecutorContract.Undertaken(executor), List.of(new Request(request, ConflictClasses.ALL)),
                executed);
        return executed;
    }

    private static void rollBack(Executor executor) throws Exception {
        Result<Void> gone = new Result<>();
        executor.rollback(() -> gone.succeeded(null));
        gone.success();
    }

    /** Locks that a client's code takes where its rows are applied outlive their transaction, and no client's session has them. */
    @Test
    void codeLeavesNoLocksWhereItsRowsAreApplied() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int PRIMARY KEY)",
                "CREATE FUNCTION locks(id int) RETURNS boolean LANGUAGE sql AS"
                        + " 'SELECT count(pg_advisory_lock(id)) > 0; SELECT true'",
                "ALTER TABLE u ADD CHECK (locks(id))")) {
            pair.transaction("INSERT INTO u VALUES (1)");
            pair.transaction("INSERT INTO t VALUES (1)");
            assertEquals(List.of(List.of("0")), Pair.rows(pair.other,
                    "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory'"
                            + " AND application_name = 'tutti applier' AND database = (SELECT oid FROM pg_database"
                            + " WHERE datname = current_database())"));
        }
    }
}
