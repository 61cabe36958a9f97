package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import tutti.core.txn.TablePlacement;

class KeepersDurabilityTest {
    private static final long EVENTS = 77;
    private static final Set<Integer> ALL = Set.of(0, 1, 2);
    private static final Set<Integer> KEEPERS = Set.of(0, 1);

    /** After a start, what the engine holds is delivered again and not told; that may have been written to the table since it was placed. */
    @Test
    void ofATableThatIsPlacedAgainBehindASnapshotAllMayBeWrittenThatTheEngineHolds() {
        Placements placements = new Placements(TablePlacement.EVERYWHERE);
        KeepersDurability durability = new KeepersDurability(2, placements);
        durability.mayHaveBeenWritten(100);
        placements.restore(Map.of(EVENTS, new Placements.Table("events", KEEPERS, KEEPERS, 80)));
        durability.placed(80);
        assertEquals(85, durability.needless(200, ALL, new long[]{85, 85, 200}));
        assertEquals(200, durability.needless(200, ALL, new long[]{100, 100, 200}));
    }
}
