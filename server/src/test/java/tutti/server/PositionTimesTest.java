package tutti.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PositionTimesTest {
    @TempDir
    private Path data;

    @Test
    void aPositionIsNotedWhenItIsAnotherOne() throws Exception {
        AtomicLong position = new AtomicLong();
        assertEquals(List.of(), PositionTimes.read(data.resolve(PositionTimes.FILE)));
        try (PositionTimes times = new PositionTimes(data, position::get)) {
            times.note(1000);
            position.set(7);
            times.note(2000);
            times.note(3000);
            position.set(9);
            times.note(4000);
        }
        assertEquals(List.of(new PositionTimes.Noted(2000, 7), new PositionTimes.Noted(4000, 9)),
                PositionTimes.read(data.resolve(PositionTimes.FILE)));
    }

    /** The one that a crash has torn is missing. */
    @Test
    void whatIsTornAtTheEndIsLeftOut() throws Exception {
        Path file = data.resolve(PositionTimes.FILE);
        byte[] torn = new byte[16 + 5];
        torn[7] = 1;
        torn[15] = 2;
        Files.write(file, torn);
        assertEquals(List.of(new PositionTimes.Noted(1, 2)), PositionTimes.read(file));
        try (PositionTimes times = new PositionTimes(data, () -> 4)) {
            times.note(3);
        }
        assertEquals(List.of(new PositionTimes.Noted(1, 2), new PositionTimes.Noted(3, 4)), PositionTimes.read(file));
    }

    @Test
    void whatATimeMeansIsTheLastPositionNotedBeforeAnyLaterOne() {
        List<PositionTimes.Noted> noted = List.of(new PositionTimes.Noted(1000, 5), new PositionTimes.Noted(2000, 8),
                new PositionTimes.Noted(1500, 11), new PositionTimes.Noted(4000, 20));
        assertEquals(5, PositionTimes.at(noted, 1000));
        assertEquals(5, PositionTimes.at(noted, 1999));
        assertEquals(11, PositionTimes.at(noted, 2000));
        assertEquals(11, PositionTimes.at(noted, 3999));
        assertTrue(PositionTimes.at(noted, 999) < 0);
        assertTrue(PositionTimes.at(noted, 4000) < 0, "what became visible later in that moment is not known");
    }
}
