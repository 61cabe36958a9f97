package tutti.minha.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ExampleTest {
    private static List<String> output(Example example) {
        List<String> lines = new ArrayList<>();
        example.run(1, lines::add);
        return lines;
    }

    @ParameterizedTest
    @EnumSource
    void theSameSeedGivesTheSameRun(Example example) {
        List<String> first = new ArrayList<>();
        List<String> second = new ArrayList<>();
        assertEquals(example.run(7, first::add), example.run(7, second::add));
        assertEquals(first, second);
    }

    @Test
    void helloes() {
        assertEquals(List.of("received 5 bytes at 5 ms from /10.0.0.1:12345: Hello",
                "received 5 bytes at 5 ms from /10.0.0.2:12345: Hello"),
                output(Example.HELLO).stream().sorted().toList());
    }

    @Test
    void timerTicksTenTimes() {
        List<String> lines = output(Example.TIMER);
        assertEquals("task 1 at 10", lines.getFirst());
        assertTrue(lines.contains("task 9 at 90"), lines.toString());
        assertEquals("end at 100", lines.getLast());
    }

    @Test
    void locksAreHeldInTurn() {
        List<String> lines = output(Example.LOCKS);
        assertEquals(List.of("locking in 0 at 1", "working in 0 at 1", "locking in 1 at 1", "unlocking in 0 at 29",
                "working in 1 at 29", "locking in 0 at 30", "unlocking in 1 at 57", "working in 0 at 57"),
                lines.subList(0, 8));
        String holder = "";
        for (String line : lines) {
            String number = line.replaceFirst(".* in ([0-9]+) at .*", "$1");
            if (line.startsWith("working")) {
                assertEquals("", holder, line);
                holder = number;
            } else if (line.startsWith("unlocking")) {
                assertEquals(number, holder, line);
                holder = "";
            }
        }
        assertEquals(30, lines.size());
    }

    @Test
    void programsForTheJdkDoTheSame() {
        assertEquals(output(Example.HELLO), output(Example.PLAIN_HELLO));
        assertEquals(output(Example.TIMER), output(Example.PLAIN_TIMER));
        List<String> lines = output(Example.PLAIN_LOCKS);
        assertEquals(List.of("locking in 0 at 1", "working in 0 at 1", "locking in 1 at 1", "unlocking in 0 at 31",
                "working in 1 at 31", "locking in 0 at 32", "unlocking in 1 at 61", "working in 0 at 61"),
                lines.subList(0, 8));
    }

    @Test
    void anUnknownOneIsRefusedWithTheList() {
        assertEquals("there is no example 'nothing', but hello, timer, locks, plain-hello, plain-timer, plain-locks",
                assertThrows(IllegalArgumentException.class, () -> Example.of("nothing")).getMessage());
    }
}
