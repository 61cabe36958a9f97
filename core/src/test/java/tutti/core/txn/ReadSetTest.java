package tutti.core.txn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class ReadSetTest {
    private final ReadSet reads = new ReadSet.Builder().row(1, 12).row(1, 11).row(1, 11).row(2, 21).scan(2).row(2, 22)
            .build();

    private static KeySet keys(Object... hashesAndKinds) {
        KeySet.Builder keys = new KeySet.Builder();
        for (int i = 0; i < hashesAndKinds.length; i += 2) {
            keys.add((Integer) hashesAndKinds[i], (KeyKind) hashesAndKinds[i + 1]);
        }
        return keys.build();
    }

    @Test
    void aTableReadAsAWholeHidesItsRows() {
        assertEquals(keys(2, KeyKind.SCAN, 1, KeyKind.READ, 11, KeyKind.READ, 12, KeyKind.READ), reads.keys());
        assertEquals(keys(2, KeyKind.SCAN, 1, KeyKind.READ), reads.tableKeys());
        assertArrayEquals(new long[]{11, 12}, reads.rowKeys());
    }

    @Test
    void moreRowsThanTheLimitAreTheTable() {
        assertEquals(reads.keys(), reads.coarser(2).keys());
        assertEquals(keys(2, KeyKind.SCAN, 1, KeyKind.SCAN), reads.coarser(1).keys());
    }

    @Test
    void nothingReadIsEmpty() {
        assertTrue(ReadSet.EMPTY.isEmpty());
        assertTrue(new ReadSet.Builder().build().isEmpty());
        assertEquals(KeySet.EMPTY, ReadSet.EMPTY.coarser(0).keys());
    }
}
