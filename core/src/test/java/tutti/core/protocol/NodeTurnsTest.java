package tutti.core.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;

class NodeTurnsTest {
    private static KeySet key(long hash) {
        return new KeySet.Builder().add(hash, KeyKind.UPDATE).build();
    }

    /** It was not asked for meanwhile: what every replica executes changes rows whoever's turn it is. */
    @Test
    void aTurnThatHasLastedTooLongIsGoneForAllAlike() {
        NodeTurns turns = new NodeTurns(2);
        turns.lost(key(7), 0, 1, 10);
        turns.lost(key(7), 0, 1, 11);
        long later = 20_000;
        turns.forget(later);
        NodeTurns restored = new NodeTurns(2, turns.image(later), later);
        for (NodeTurns each : List.of(turns, restored)) {
            each.lost(key(7), 0, 1, later + 1);
            each.lost(key(7), 0, 1, later + 2);
            assertEquals(new NodeTurns.Turn(7, 1, later + 2), each.first(7, later + 3));
            assertEquals(0, each.refused(key(7), 2, later + 3));
        }
    }

    /** A member that is away keeps all losses for a million positions: if each were looked at with each position, this would take minutes. */
    @Test
    void lossesThatMustBeKeptAreNotLookedAtWithEachPosition() {
        NodeTurns turns = new NodeTurns(2);
        int losses = 200_000;
        for (int position = 1; position <= losses; position++) {
            turns.lost(key(position), 0, 1, position);
            turns.forget(0);
        }
        assertEquals(losses, turns.image(losses).losses().size());
        turns.forget(losses - 1);
        assertEquals(1, turns.image(losses).losses().size());
        turns.lost(key(losses), 0, 1, losses + 1);
        assertEquals(1, turns.image(losses + 1).turns().size(), "it has lost it twice in a row");
        turns.lost(key(1), 0, 1, losses + 2);
        assertEquals(1, turns.image(losses + 2).turns().size(), "what it lost long ago is forgotten");
    }

    @Test
    void turnsOfRowsThatNobodyTouchesAnyMoreAreForgotten() {
        NodeTurns turns = new NodeTurns(1);
        int rows = 100_000;
        for (int position = 1; position <= rows; position++) {
            turns.lost(key(position), 0, 1, position);
            turns.forget(position);
            assertTrue(turns.rows() <= 30_000, "two turns of 10,000 positions, and some");
        }
        assertEquals(10_000, turns.image(rows).turns().size());
    }
}
