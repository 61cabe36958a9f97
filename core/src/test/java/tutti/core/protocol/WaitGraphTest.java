package tutti.core.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.TwoPhaseMessage.Wait;
import tutti.core.txn.TransactionId;

class WaitGraphTest {
    private static final int STAYS = 3;
    private static final TransactionId OLD = new TransactionId(3, 1);
    private static final TransactionId MIDDLE = new TransactionId(1, 2);
    private static final TransactionId YOUNG = new TransactionId(2, 2);
    private static final TransactionId GONE = new TransactionId(1, 9);
    private static final Set<TransactionId> ALL = Set.of(OLD, MIDDLE, YOUNG, GONE);

    private final WaitGraph graph = new WaitGraph(STAYS);

    @Test
    void theYoungestOfACircleGivesWay() {
        graph.told(1, List.of(new Wait(OLD, MIDDLE)));
        graph.told(2, List.of(new Wait(MIDDLE, YOUNG)));
        assertEquals(Set.of(), graph.givingWay(ALL));
        graph.told(3, List.of(new Wait(YOUNG, OLD)));
        assertEquals(Set.of(YOUNG), graph.givingWay(ALL));
        assertEquals(Set.of(), graph.givingWay(Set.of(OLD, MIDDLE)));
    }

    @Test
    void whoOnlyWaitsForACircleStays() {
        graph.told(1, List.of(new Wait(OLD, MIDDLE), new Wait(MIDDLE, OLD), new Wait(YOUNG, OLD)));
        assertEquals(Set.of(MIDDLE), graph.givingWay(ALL));
    }

    @Test
    void whatANodeTellsReplacesWhatItHasTold() {
        graph.told(1, List.of(new Wait(OLD, MIDDLE)));
        graph.told(2, List.of(new Wait(MIDDLE, OLD)));
        graph.told(1, List.of());
        assertEquals(Set.of(), graph.givingWay(ALL));
        graph.told(1, List.of(new Wait(OLD, MIDDLE)));
        graph.forget(2);
        assertEquals(Set.of(), graph.givingWay(ALL));
    }

    @Test
    void somebodyWhoIsGoneIsNotWaitedForToGiveWayForEver() {
        // Arrived late, after the news that this was over.
        graph.told(1, List.of(new Wait(OLD, GONE), new Wait(GONE, OLD)));
        for (int tick = 0; tick <= STAYS; tick++) {
            graph.told(2, List.of(new Wait(OLD, YOUNG), new Wait(YOUNG, OLD)));
            assertEquals(Set.of(GONE), graph.givingWay(ALL));
            graph.tick();
        }
        assertEquals(Set.of(YOUNG), graph.givingWay(ALL));
    }
}
