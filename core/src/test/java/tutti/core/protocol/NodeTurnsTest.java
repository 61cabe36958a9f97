package tutti.core.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;

class NodeTurnsTest {
    private static KeySet key(long hash) {
        return new KeySet.Builder().add(hash, KeyKind.UPDATE).build();
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
}
