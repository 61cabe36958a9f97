package tutti.engine.jdbc.hsqldb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

class HsqldbHeapTest {
    private static final long MEBI = 1 << 20;

    @Test
    void itIsSaidWhenRowsTakeMoreThanHalfOfTheHeap() {
        assertNull(HsqldbLog.heapWarning(0, 100 * MEBI));
        assertNull(HsqldbLog.heapWarning(400 * MEBI, 2400 * MEBI));
        assertEquals(
                "the rows take about 1,500 MiB of this process' heap, which can have 2,400 MiB; they should not take "
                        + "more than half of it, so start it with -Xmx3001m or more",
                HsqldbLog.heapWarning(500 * MEBI, 2400 * MEBI));
    }
}
