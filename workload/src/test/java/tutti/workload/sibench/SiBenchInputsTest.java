package tutti.workload.sibench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Workloads that tell isolation levels apart. */
class SiBenchInputsTest {
    @Test
    void queriesReadEverythingAndUpdatesOneRow() {
        SiBenchInputs inputs = new SiBenchInputs(10, 50, 1);
        SiBenchInputs same = new SiBenchInputs(10, 50, 1);
        int queries = 0;
        for (int i = 0; i < 1_000; i++) {
            SiBenchInput input = inputs.next();
            assertEquals(input, same.next());
            switch (input) {
                case SiBenchInput.Minimum minimum -> {
                    queries++;
                    assertEquals(10, minimum.reads().size());
                    assertTrue(minimum.writes().isEmpty());
                }
                case SiBenchInput.Increment increment -> assertEquals(increment.reads(), increment.writes());
            }
        }
        assertTrue(queries > 400 && queries < 600, queries + " queries of 1,000");
    }

    @Test
    void twoWithdrawalsFromOneSnapshotOverdrawAPairAndOneAfterTheOtherDoNot() {
        WriteSkewInputs.Withdraw one = new WriteSkewInputs.Withdraw(3, 0, 60);
        WriteSkewInputs.Withdraw other = new WriteSkewInputs.Withdraw(3, 1, 60);
        assertEquals(List.of(6L, 7L), one.reads());
        assertEquals(6L, one.writes());
        assertEquals(7L, other.writes());
        assertTrue(one.allowed(50, 50) && other.allowed(50, 50));
        assertFalse(WriteSkewInputs.consistent(50 - 60, 50 - 60));
        assertFalse(other.allowed(50 - 60, 50));
        assertTrue(WriteSkewInputs.consistent(50 - 60, 50));
    }

    @Test
    void paymentsKeepTheAccountsAlive() {
        WriteSkewInputs inputs = new WriteSkewInputs(2, 20, 9);
        long payments = 0;
        for (int i = 0; i < 900; i++) {
            WriteSkewInputs.Withdraw next = inputs.next();
            assertTrue(next.pair() < 2 && Math.abs(next.amount()) <= 20 && next.amount() != 0);
            payments += next.amount() < 0 ? 1 : 0;
        }
        assertTrue(payments > 200 && payments < 400, payments + " payments of 900");
    }
}
