package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract.Result;
import tutti.engine.postgres.TestServer;
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
}
