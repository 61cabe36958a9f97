package tutti.order.batch;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class SenderTableTest {
    @Test
    void positionsAreDenseOverSenders() {
        SenderTable table = new SenderTable();
        assertEquals(1, table.accept(7, 100, 1, 3));
        assertEquals(4, table.accept(8, 100, 1, 1));
        assertEquals(5, table.accept(7, 100, 2, 2));
        assertEquals(6, table.positions());
    }

    @Test
    void aBatchThatComesAgainOrTooEarlyDoesNotCount() {
        SenderTable table = new SenderTable();
        assertEquals(0, table.accept(7, 100, 2, 1));
        assertEquals(1, table.accept(7, 100, 1, 1));
        assertEquals(0, table.accept(7, 100, 1, 1));
        assertEquals(0, table.accept(7, 100, 3, 1));
        assertEquals(2, table.accept(7, 100, 2, 1));
        assertEquals(0, table.accept(7, 100, 1, 1));
        assertEquals(2, table.positions());
    }

    @Test
    void aLaterIncarnationReplacesAnEarlierOneForGood() {
        SenderTable table = new SenderTable();
        assertEquals(1, table.accept(7, 100, 1, 1));
        assertEquals(0, table.accept(7, 200, 2, 1));
        assertEquals(2, table.accept(7, 200, 1, 1));
        assertEquals(0, table.accept(7, 100, 2, 1));
        assertEquals(0, table.accept(7, 100, 1, 1));
        assertEquals(3, table.accept(7, 200, 2, 1));
    }

    @Test
    void aCheckpointGoesOnWhereItWasTaken() {
        SenderTable table = new SenderTable();
        table.accept(7, 100, 1, 5);
        table.accept(8, 300, 1, 5);
        SenderTable again = SenderTable.of(table.image());
        assertEquals(table.image(), again.image());
        assertEquals(0, again.accept(8, 300, 1, 5));
        assertEquals(11, again.accept(8, 300, 2, 5));
    }
}
