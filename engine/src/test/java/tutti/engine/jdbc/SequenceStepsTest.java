package tutti.engine.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SequenceStepsTest {
    @Test
    void noTwoNodesTakeTheSameValue() {
        for (long increment : new long[]{1, 5, -1, -3}) {
            Set<Long> taken = new HashSet<>();
            for (int node = 0; node < 4; node++) {
                SequenceSteps steps = new SequenceSteps(node, 4);
                for (int i = 0; i < 50; i++) {
                    long value = steps.start(7, increment, false) + i * steps.increment(increment);
                    assertTrue(taken.add(value), increment + " " + value);
                    assertTrue(increment > 0 ? value >= 7 : value <= 7, "goes on from where it was");
                }
            }
        }
    }

    /** A sequence that is in steps stays so when the database is opened again, also as a copy at another node. */
    @Test
    void openedAgainItGoesOnBehindWhatMayHaveBeenLost() {
        SequenceSteps steps = new SequenceSteps(2, 4);
        long first = steps.start(1, 1, false);
        long again = steps.start(first + 40, 4, true);
        assertEquals(4, steps.increment(4));
        assertEquals(0, (again - first) % 4);
        assertTrue(again > first + 40 + 4 * 16_000);
        assertEquals(1, Math.floorMod(new SequenceSteps(3, 4).start(first + 40, 4, true) - again, 4));
    }
}
