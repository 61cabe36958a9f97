package tutti.engine.postgres;

import tutti.engine.EngineContract;
import tutti.engine.ExecutorContract;

/** Requests are executed in a database that a cluster has besides the configured one as in any other. */
class OtherDatabaseExecutorContractTest extends ExecutorContract {
    @Override
    protected EngineContract.Harness open() throws Exception {
        return PostgresEngineContractTest.harnessOfAnother();
    }
}
