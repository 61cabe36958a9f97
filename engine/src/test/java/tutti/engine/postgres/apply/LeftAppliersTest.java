package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract;
import tutti.engine.EngineContract.Result;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.TestServer;
import tutti.pgwire.BackendConnection;

/** Sessions that a node leaves behind when it is killed. */
@Timeout(60)
class LeftAppliersTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    @Test
    void whatAnEarlierLifeHasNotCommittedIsNotCommittedInALaterOne() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY)")) {
            pair.transaction("INSERT INTO t VALUES (1)");
            WriteSet later = pair.session.commit("INSERT INTO t VALUES (2)");
            Result<Void> applied = new Result<>();
            pair.applier.apply(2, List.of(later), applied);
            applied.success();
            pair.engine.close();
            try (PostgresEngine next = PostgresEngine.open(TestServer.loops(), TestServer.reach(pair.other),
                    TestServer.settings(1))) {
                Result<Void> committed = new Result<>();
                pair.applier.commit(2, committed);
                assertFalse(committed.succeeds(), "an applier of an earlier life");
                assertEquals(1, EngineContract.position(next));
            }
        }
    }

    @Test
    void aClientsTransactionThatAnEarlierLifeHasNotCommittedIsNotCommittedInALaterOne() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE t (id int PRIMARY KEY)")) {
            BackendConnection client = BackendConnection
                    .connect(TestServer.loops().next(), TestServer.reach(pair.other))
                    .get(20, TimeUnit.SECONDS);
            client.execute("BEGIN; SELECT tutti.record('" + pair.engine.secret() + "', 1)", PATIENCE);
            pair.engine.close();
            try (PostgresEngine next = PostgresEngine.open(TestServer.loops(), TestServer.reach(pair.other),
                    TestServer.settings(1))) {
                assertThrows(IOException.class, () -> client.execute("COMMIT", PATIENCE));
                assertEquals(0, EngineContract.position(next));
            }
            client.close();
        }
    }
}
