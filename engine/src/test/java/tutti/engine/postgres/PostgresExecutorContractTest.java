package tutti.engine.postgres;

import tutti.engine.EngineContract;
import tutti.engine.ExecutorContract;

class PostgresExecutorContractTest extends ExecutorContract {
    @Override
    protected EngineContract.Harness open() throws Exception {
        return PostgresEngineContractTest.harness();
    }
}
