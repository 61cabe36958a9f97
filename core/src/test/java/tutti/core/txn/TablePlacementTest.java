package tutti.core.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class TablePlacementTest {
    private static final long STOCK = 1;
    private static final long ORDERS = 2;
    private static final long EVENTS = 3;
    private static final TablePlacement SOME = new TablePlacement(
            Map.of(STOCK, Set.of(0, 1), ORDERS, Set.of(0, 1), EVENTS, Set.of(0, 2)));

    @Test
    void aTableThatIsNotNamedIsKeptOnAllNodes() {
        assertTrue(SOME.keeps(7, 99));
        assertTrue(TablePlacement.EVERYWHERE.keepsAll(7, List.of(STOCK, EVENTS)));
        assertTrue(SOME.keptByAll(List.of(99L)));
    }

    @Test
    void whoExecutesKeepsAllTablesThatAreNamed() {
        assertTrue(SOME.keepsAll(1, List.of(STOCK, ORDERS)));
        assertFalse(SOME.keepsAll(1, List.of(STOCK, EVENTS)));
        assertEquals(Set.of(0), SOME.keepersOf(List.of(STOCK, EVENTS), List.of(0, 1, 2)));
        assertEquals(Set.of(), SOME.keepersOf(List.of(STOCK, EVENTS), List.of(1, 2)), "node 0 is away");
        assertFalse(SOME.keptByAll(List.of(99L, EVENTS)));
    }

    @Test
    void aDonorKeepsAllThatTheReceiverKeeps() {
        assertTrue(SOME.mayGiveCopy(0, 1));
        assertFalse(SOME.mayGiveCopy(1, 0), "node 1 has no events");
        assertFalse(SOME.mayGiveCopy(1, 2));
        assertTrue(SOME.mayGiveCopy(1, 5), "node 5 keeps what all keep");
    }

    @Test
    void whoKeepsNoneOfTheTablesHasNothingToMake() {
        assertFalse(SOME.keepsAny(2, List.of(STOCK, ORDERS)));
        assertTrue(SOME.keepsAny(2, List.of(STOCK, EVENTS)));
        assertTrue(SOME.keepsAny(2, List.of(STOCK, 99L)));
        assertEquals(Set.of(STOCK, EVENTS), SOME.partial(new KeySet.Builder().add(EVENTS, KeyKind.REFERENCE)
                .add(99, KeyKind.REFERENCE).add(STOCK, KeyKind.REFERENCE).build()));
    }

    @Test
    void eachNodeNeedsADonor() {
        assertEquals(Set.of(0), SOME.donors(1, List.of(0, 1, 2)));
        assertEquals(Set.of(0), SOME.withoutDonor(List.of(0, 1, 2)), "nobody else has stock and events");
        assertEquals(Set.of(), new TablePlacement(Map.of(STOCK, Set.of(0, 1))).withoutDonor(List.of(0, 1, 2)));
        assertEquals(Set.of(1), new TablePlacement(Map.of(STOCK, Set.of(1))).withoutDonor(List.of(0, 1, 2)));
    }

    @Test
    void aTableIsKeptSomewhere() {
        assertThrows(IllegalArgumentException.class, () -> new TablePlacement(Map.of(STOCK, Set.of())));
    }
}
