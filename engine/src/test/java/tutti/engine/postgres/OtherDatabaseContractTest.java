package tutti.engine.postgres;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;
import org.junit.jupiter.api.Test;
import tutti.engine.EngineContract;

/** A database that a cluster has besides the configured one is an engine like any other. */
class OtherDatabaseContractTest extends EngineContract {
    @Override
    protected Harness open() throws Exception {
        return PostgresEngineContractTest.harnessOfAnother();
    }

    /** Tables of the configured database alone can be kept by some nodes. */
    @Override
    @Test
    protected void aTableIsKeptByOthersOnlyFromItsPositionOn() throws Exception {
        assertEquals("42P01", prepare("public.kv", Set.of(1, 2)).failure().sqlState());
    }
}
