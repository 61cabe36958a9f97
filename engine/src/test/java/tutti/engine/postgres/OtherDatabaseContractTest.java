package tutti.engine.postgres;

import tutti.engine.EngineContract;

/** A database that a cluster has besides the configured one is an engine like any other. */
class OtherDatabaseContractTest extends EngineContract {
    @Override
    protected Harness open() throws Exception {
        return PostgresEngineContractTest.harnessOfAnother();
    }
}
