package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import tutti.core.txn.TransactionId;

class SerialsTest {
    @Test
    void whoHasUsedUpNearlyAllIsToldOnceAndHasSomeLeft() {
        int[] told = new int[1];
        Serials serials = new Serials(7, (1L << 32) - (1L << 24) - 2, () -> told[0]++);
        serials.next();
        assertEquals(0, told[0]);
        serials.next();
        assertEquals(1, told[0]);
        for (int i = 0; i < 1000; i++) {
            assertEquals(7, new TransactionId(0, serials.next()).incarnation());
        }
        assertEquals(1, told[0]);
    }
}
