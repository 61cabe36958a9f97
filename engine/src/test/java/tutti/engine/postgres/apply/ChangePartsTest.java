package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.engine.postgres.capture.Changes;
import tutti.engine.postgres.capture.Changes.Change;
import tutti.engine.postgres.capture.Changes.TableName;

/** The parts of write sets are all of their changes, in order, and each is bounded. */
class ChangePartsTest {
    private static final TableName TABLE = new TableName("public", "t");
    private static final int ROW_BYTES = 1000;

    private static Change row(int number) {
        byte[] row = new byte[ROW_BYTES];
        row[0] = (byte) number;
        row[1] = (byte) (number >> 8);
        return new Change.Insert(TABLE, row);
    }

    private static byte[] written(Change... changes) {
        Changes.Writer writer = new Changes.Writer(0);
        List.of(changes).forEach(writer::add);
        return writer.toBytes();
    }

    @Test
    void aLargeWriteSetComesInParts() {
        int rows = 3 * ChangeParts.PART_BYTES / ROW_BYTES + 10;
        Change[] all = new Change[rows];
        for (int i = 0; i < rows; i++) {
            all[i] = row(i);
        }
        ChangeParts parts = new ChangeParts(List.of(written(all)));
        List<Change> seen = new ArrayList<>();
        int count = 0;
        ChangeParts.Part part;
        do {
            part = parts.next();
            seen.addAll(part.rows());
            count++;
            assertTrue(part.rows().size() <= ChangeParts.PART_BYTES / ROW_BYTES + 1, () -> "rows of one part");
            assertNull(part.statement());
        } while (!part.last());
        assertEquals(4, count);
        assertEquals(rows, seen.size());
        for (int i = 0; i < rows; i++) {
            assertArrayEquals(((Change.Insert) all[i]).row(), ((Change.Insert) seen.get(i)).row());
        }
    }

    @Test
    void smallWriteSetsAreOnePart() {
        ChangeParts parts = new ChangeParts(
                List.of(written(row(1)), new byte[0], written(row(2), row(3)), new byte[0]));
        ChangeParts.Part part = parts.next();
        assertEquals(3, part.rows().size());
        assertTrue(part.last());
        assertTrue(new ChangeParts(List.of()).next().last());
    }

    @Test
    void aStatementEndsAPart() {
        byte[] statement = {1, 2};
        ChangeParts parts = new ChangeParts(
                List.of(written(row(1), new Change.Execute(statement)),
                        written(row(2), new Change.Execute(statement))));
        ChangeParts.Part first = parts.next();
        assertEquals(1, first.rows().size());
        assertArrayEquals(statement, first.statement());
        assertFalse(first.last());
        ChangeParts.Part second = parts.next();
        assertEquals(1, second.rows().size());
        assertArrayEquals(statement, second.statement());
        assertTrue(second.last());
    }

    @Test
    void tablesThatAreEmptiedTogetherStayTogether() {
        Change truncate = new Change.Truncate(TABLE);
        Change large = new Change.Insert(TABLE, new byte[ChangeParts.PART_BYTES]);
        ChangeParts parts = new ChangeParts(List.of(written(large, truncate, truncate, truncate, large, row(1))));
        assertEquals(List.of(1, 4, 1),
                List.of(parts.next().rows().size(), parts.next().rows().size(), parts.next().rows().size()));
        ChangeParts others = new ChangeParts(List.of(written(row(1), new Change.Insert(TABLE,
                new byte[ChangeParts.PART_BYTES - ROW_BYTES / 2]), truncate, truncate)));
        assertEquals(2, others.next().rows().size());
        assertEquals(2, others.next().rows().size());
    }

    @Test
    void whatIsDamagedIsSaid() {
        byte[] damaged = written(row(1));
        damaged[0] = 9;
        ChangeParts parts = new ChangeParts(List.of(damaged));
        assertThrows(IllegalArgumentException.class, parts::next);
    }
}
