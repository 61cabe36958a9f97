package tutti.core.recorded;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;

class RecordedNodeTest {
    private static final RecordedTransaction UPDATE = new RecordedTransaction(5, 1_000_000, true,
            ConflictClasses.of(List.of(3L, 7L)),
            new KeySet.Builder().add(11, KeyKind.UPDATE).add(12, KeyKind.EXCLUSIVE).add(3, KeyKind.REFERENCE).build(),
            400, new ReadSet.Builder().row(3, 99).build());
    private static final RecordedTransaction READ = new RecordedTransaction(9, 20, false, ConflictClasses.ALL,
            KeySet.EMPTY, 0, ReadSet.EMPTY);

    private static byte[] file() {
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        file.writeBytes(RecordedNode.header(4, 1_700_000_000_000L));
        file.writeBytes(RecordedNode.entry(UPDATE));
        file.writeBytes(RecordedNode.entry(READ));
        return file.toByteArray();
    }

    @Test
    void whatWasWrittenIsRead() {
        RecordedNode read = RecordedNode.decode(ByteBuffer.wrap(file()));
        assertEquals(4, read.node());
        assertEquals(1_700_000_000_000L, read.beganMillis());
        RecordedTransaction update = read.transactions().getFirst();
        assertEquals(UPDATE.writes(), update.writes());
        assertEquals(UPDATE.classes(), update.classes());
        assertEquals(UPDATE.reads().keys(), update.reads().keys());
        assertEquals(1_000_000, update.executionNanos());
        assertEquals(400, update.changedBytes());
        assertTrue(update.whole());
        assertTrue(read.transactions().get(1).readOnly());
        assertEquals(9, read.transactions().get(1).beganNanos());
    }

    @Test
    void aFileWithoutItsEndIsReadUpToThere() {
        byte[] file = file();
        for (int missing = 1; missing < RecordedNode.entry(READ).length; missing++) {
            byte[] shorter = Arrays.copyOf(file, file.length - missing);
            assertEquals(1, RecordedNode.decode(ByteBuffer.wrap(shorter)).transactions().size());
        }
    }

    @Test
    void whatIsDamagedIsRefused() {
        byte[] file = file();
        file[0]++;
        assertThrows(IllegalArgumentException.class, () -> RecordedNode.decode(ByteBuffer.wrap(file)));
        byte[] bad = file();
        // Whether the first transaction may touch all classes.
        bad[22 + 4 + 2 + 8 + 8 + 1] = 0x7f;
        String message = assertThrows(IllegalArgumentException.class,
                () -> RecordedNode.decode(ByteBuffer.wrap(bad))).getMessage();
        assertTrue(message != null && message.contains("is damaged after 0 transactions"), message);
    }
}
