package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract;
import tutti.engine.EngineContract.Result;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.TestServer;

/** Sessions that a node leaves behind when it is killed. */
class LeftAppliersTest {
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
}
