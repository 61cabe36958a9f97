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
        RepeatedOneByOne.Place a = enter("a");
        RepeatedOneByOne.Place b = enter("b");
        RepeatedOneByOne.Place c = enter("c");
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
        RepeatedOneByOne.Place a = enter("a");
        RepeatedOneByOne.Place b = enter("b");
        enter("c");
        b.leave();
        a.leave();
        assertEquals(List.of("a", "c"), came);
    }

    @Test
    void whoAsksAgainInItsTurnGoesOnAtOnceAndWhoAsksAgainBeforeItKeepsItsPlace() {
        RepeatedOneByOne.Place a = enter("a");
        RepeatedOneByOne.Place b = enter("b");
        enter("c");
        a.whenItsTurn(() -> came.add("a again"));
        b.whenItsTurn(() -> came.add("b again"));
        a.leave();
        assertEquals(List.of("a", "a again", "b again"), came);
    }

    private RepeatedOneByOne.Place enter(String name) {
        RepeatedOneByOne.Place place = turns.enter();
        place.whenItsTurn(() -> came.add(name));
        return place;
    }
}
