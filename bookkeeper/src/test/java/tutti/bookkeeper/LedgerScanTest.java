package tutti.bookkeeper;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.core.schema.ByteStrings;
import tutti.order.batch.Batch;
import tutti.order.batch.SenderTable;

class LedgerScanTest {
    private final LedgerScan scan = new LedgerScan(7);

    private static byte[] batch(long sequence, byte[]... messages) {
        return new Batch(1, 50, sequence, ByteStrings.of(List.of(messages))).bytes();
    }

    private void head() throws IOException {
        SenderTable before = new SenderTable();
        before.accept(1, 50, 1, 10);
        assertNull(scan.take(new LedgerHead(before.image()).bytes()));
    }

    @Test
    void positionsGoOnWhereTheHeadSays() throws IOException {
        head();
        LedgerScan.Numbered found = scan.take(LedgerScan.entries(batch(2, new byte[]{1}, new byte[]{2}))[0]);
        assertNotNull(found);
        assertEquals(11, found.first());
        assertEquals(12, scan.table().positions());
        assertEquals(1, scan.entry());
    }

    @Test
    void aLongBatchIsPutTogether() throws IOException {
        head();
        byte[] message = new byte[3 * LedgerScan.ENTRY_BYTES_MAX];
        message[message.length - 1] = 9;
        byte[][] entries = LedgerScan.entries(batch(2, message));
        assertEquals(4, entries.length);
        for (int i = 0; i < 3; i++) {
            assertEquals(LedgerScan.ENTRY_BYTES_MAX, entries[i].length);
            assertNull(scan.take(entries[i]));
            assertEquals(10, scan.table().positions(), "it does not count before it is whole");
        }
        LedgerScan.Numbered found = scan.take(entries[3]);
        assertNotNull(found);
        ByteBuffer read = ByteStrings.next(found.batch().messages().encoded());
        byte[] bytes = new byte[read.remaining()];
        read.get(bytes);
        assertArrayEquals(message, bytes);
    }

    @Test
    void whatNoWriterWouldHaveWrittenIsNamed() throws IOException {
        head();
        byte[] again = LedgerScan.entries(batch(1, new byte[]{1}))[0];
        String twice = String.valueOf(assertThrows(IOException.class, () -> scan.take(again)).getMessage());
        assertTrue(twice.contains("entry 1 of ledger 7") && twice.contains("was not the next"), twice);
        assertTrue(String.valueOf(assertThrows(IOException.class, () -> scan.take(new byte[]{5})).getMessage())
                .contains("begins with none of 0 and 1"));
        assertTrue(String.valueOf(assertThrows(IOException.class, () -> scan.take(new byte[]{0, 77})).getMessage())
                .contains("cannot be read"));
        assertTrue(String.valueOf(assertThrows(IOException.class,
                () -> new LedgerScan(8).take(new byte[]{0, 77})).getMessage()).contains("entry 0 of ledger 8"));
    }
}
