package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RetryQueueTest {
    private final RetryQueue lines = new RetryQueue();
    private final List<String> came = new ArrayList<>();

    @Test
    void thoseWhoHaveLostTheSameKeyRunInTheOrderInWhichTheyLostIt() {
        RetryQueue.Place a = loses("a", 1);
        RetryQueue.Place b = loses("b", 1);
        RetryQueue.Place c = loses("c", 1);
        assertEquals(List.of("a"), came);
        a.leave();
        a.leave();
        assertEquals(List.of("a", "b"), came);
        b.leave();
        c.leave();
        assertEquals(List.of("a", "b", "c"), came);
        assertArrayEquals(new long[0], lines.keys());
    }

    @Test
    void thoseWhoHaveLostDifferentKeysOrNobodyKnowsWhichRunSideBySide() {
        loses("a", 1);
        loses("b", 2);
        loses("c");
        loses("d", 1, 2);
        assertEquals(List.of("a", "b", "c"), came);
        assertArrayEquals(new long[]{1, 2}, lines.keys());
    }

    @Test
    void whoHasLostTwoKeysWaitsForAllWhoLostOneOfThemBefore() {
        RetryQueue.Place a = loses("a", 1);
        RetryQueue.Place b = loses("b", 2);
        RetryQueue.Place c = loses("c", 1, 2);
        loses("d", 2);
        a.leave();
        assertEquals(List.of("a", "b"), came);
        b.leave();
        assertEquals(List.of("a", "b", "c"), came);
        c.leave();
        assertEquals(List.of("a", "b", "c", "d"), came);
    }

    @Test
    void whoDoesNotWaitAnyLongerIsLeftOut() {
        RetryQueue.Place a = loses("a", 1);
        RetryQueue.Place b = loses("b", 1);
        loses("c", 1);
        b.leave();
        assertEquals(List.of("a"), came);
        a.leave();
        assertEquals(List.of("a", "c"), came);
    }

    /** Two who hold what the other one loses next would wait for each other, if who lost later did not give way. */
    @Test
    void whoLosesAFurtherKeyKeepsItsNumberSoThatNoTwoWaitForEachOther() {
        RetryQueue.Place a = loses("a", 1);
        RetryQueue.Place b = loses("b", 2);
        b.whenItsTurn(new long[]{1}, () -> came.add("b again"));
        assertEquals(List.of("a", "b"), came);
        a.whenItsTurn(new long[]{2}, () -> came.add("a again"));
        assertEquals(List.of("a", "b", "a again"), came);
        a.leave();
        assertEquals(List.of("a", "b", "a again", "b again"), came);
    }

    private RetryQueue.Place loses(String name, long... keys) {
        RetryQueue.Place place = lines.enter();
        place.whenItsTurn(keys, () -> came.add(name));
        return place;
    }
}
