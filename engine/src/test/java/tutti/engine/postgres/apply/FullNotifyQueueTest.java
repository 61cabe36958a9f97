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

/** A session without rights listens and stays in a transaction until the server's queue of notifications is full: it gives way to what is applied. */
@Timeout(120)
class FullNotifyQueueTest {
    @Test
    void whoListensAndStaysInATransactionGivesWay() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY)")) {
            pair.transaction("INSERT INTO t VALUES (1)");
            List<WriteSet> writes = List
                    .of(pair.session.commit("INSERT INTO t VALUES (2)", "SELECT pg_notify('told', 'all')"));
            BackendConnection client = TestServer.connect(pair.other);
            pair.engine.registerSession(client.processId(), () -> null);
            TestServer.execute(client, "LISTEN told");
            TestServer.execute(client, "BEGIN; SELECT 1");
            BackendConnection another = TestServer.connect(pair.one);
            assertEquals("54000", assertThrows(PostgresException.class, () -> {
                for (int i = 0; i < 1000; i++) {
                    TestServer.execute(another, "SELECT pg_notify_here('filled', repeat('x', 7000))");
                }
            }).sqlState());
            another.close();
            Result<Void> applied = new Result<>();
            pair.applier.applyAndCommit(2, writes, 2, applied);
            while (!applied.succeeds()) {
                EngineFailure failure = applied.failure();
                assertEquals("54000", failure.sqlState());
                assertTrue(failure.isTrouble(), "it says nothing of what is applied");
                pair.appliedPosition();
                applied = new Result<>();
                pair.applier.applyAndCommit(2, writes, 2, applied);
            }
            client.closed().get(20, TimeUnit.SECONDS);
            assertFalse(client.channel().isActive());
            pair.assertEqual("t");
        }
    }
}
