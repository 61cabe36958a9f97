package tutti.engine.postgres;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class WaitWatchTest {
    /** At which of so many times it asks; somebody is there at some of them. */
    private static List<Integer> asked(int times, Set<Integer> somebody) {
        List<Integer> asked = new ArrayList<>();
        int[] now = {0};
        WaitWatch watch = new WaitWatch(self -> {
            asked.add(now[0]);
            if (somebody.contains(now[0])) {
                self.soon();
            }
        });
        while (now[0]++ < times) {
            watch.run();
        }
        return asked;
    }

    @Test
    void asksTheLessOftenTheLongerNothingIsWaitedFor() {
        assertEquals(List.of(1, 2, 4, 8, 16, 32, 48, 64, 80), asked(90, Set.of()));
    }

    @Test
    void asksSoonAgainAfterSomebody() {
        assertEquals(List.of(1, 2, 4, 8, 9, 10, 11, 12, 14, 18, 26, 42, 58, 59, 60, 62, 66, 74),
                asked(80, Set.of(8, 9, 10, 58)));
    }
}
