package tutti.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

class SqlwareParameterTest {
    @Test
    void whatSomebodyWantsToTryIsSaidToWhomItConcerns() {
        SqlwareParameter all = SqlwareParameter.of(
                " executors=4  batch-requests=128 apply.appliers=8 apply.linger=0s execution=passive owners=0,1 x=y ");
        assertEquals(Map.of("protocol-parameters", "{executors: 4, batch-requests: 128}", "apply",
                "{appliers: 8, linger: 0s}", "x", "y"), all.settings());
        assertEquals(Map.of("execution", "passive", "logs", "64", "owners", "0,1"), all.ordered());
        assertTrue(all.title().contains("batch-requests=128"), all.title());
    }

    @Test
    void whatCannotBeTriedIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> SqlwareParameter.of("executors"));
        assertThrows(IllegalArgumentException.class, () -> SqlwareParameter.of(""));
        assertTrue(refusal("executors=0").contains("executors"));
        assertTrue(refusal("take-over-delay=1s").contains("kept for good"));
    }

    private static String refusal(String text) {
        return String.valueOf(
                assertThrows(IllegalArgumentException.class, () -> SqlwareParameter.of(text)).getMessage());
    }
}
