package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RepeatedOneByOneTest {
    private final RepeatedOneByOne turns = new RepeatedOneByOne();
    private final List<String> came = new ArrayList<>();

    @Test
    void turnsComeInTheOrderInWhichTheyWereAskedFor() {
        RepeatedOneByOne.Place a = turns.enter(() -> came.add("a"));
        RepeatedOneByOne.Place b = turns.enter(() -> came.add("b"));
        RepeatedOneByOne.Place c = turns.enter(() -> came.add("c"));
        assertEquals(List.of("a"), came);
        a.leave();
        a.leave();
        assertEquals(List.of("a", "b"), came);
        b.leave();
        c.leave();
        assertEquals(List.of("a", "b", "c"), came);
    }

    @Test
    void whoDoesNotWaitAnyLongerIsLeftOut() {
        RepeatedOneByOne.Place a = turns.enter(() -> came.add("a"));
        RepeatedOneByOne.Place b = turns.enter(() -> came.add("b"));
        turns.enter(() -> came.add("c"));
        b.leave();
        a.leave();
        assertEquals(List.of("a", "c"), came);
    }
}
