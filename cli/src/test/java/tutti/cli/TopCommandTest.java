package tutti.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tutti.cli.TopCommand.Look;
import tutti.command.Screen;
import tutti.server.http.NodeStatus;

/** What {@code tutti top} makes of two looks at each node. */
class TopCommandTest {
    private static Look look(int node, long committed, long certification, long applied, long uptime, long seconds) {
        return new Look(node + " n", new NodeStatus(node, "n", "tutti", NodeStatus.State.READY, null, "si", "0", "H2",
                "localhost:1", new NodeStatus.Positions(100, 100, applied, 0), 1, true, List.of(), 4, 2, committed,
                Map.of("certification", certification, "victim", 7L),
                new NodeStatus.OrderStatus(0, 64L << 20, 1, List.of(), 0, null), 5L << 30, uptime, null, List.of()),
                seconds * 1_000_000_000L);
    }

    private static List<String> lines(List<Look> before, List<@Nullable Look> now) {
        return TopCommand.lines(before, List.copyOf(now), new Screen(new PrintWriter(new StringWriter()), false));
    }

    @Test
    void whatHasBeenDoneSinceTheLastLookIsToldPerSecond() {
        List<String> lines = lines(List.of(look(0, 1000, 10, 90, 50, 1), look(1, 500, 0, 90, 50, 1)),
                List.of(look(0, 1300, 16, 98, 52, 3), look(1, 505, 0, 100, 52, 3)));
        assertTrue(lines.get(1).matches("0 n +ready +150 +3\\.0 +98 +2 +4 +2 +0 KiB +64 MiB +5120 MiB"), lines.get(1));
        assertTrue(lines.get(2).matches("1 n +ready +2\\.5 +0\\.0 +100 +0 .* leads"), lines.get(2));
        assertTrue(lines.get(3).matches("all +15[23] +3\\.0 +100 +8"), lines.get(3));
        assertEquals("aborts per second by cause: certification 3.0", lines.get(4));
    }

    @Test
    void aNodeThatWasStartedAnewOrIsSilentHasNoRates() {
        List<String> lines = lines(List.of(look(0, 1000, 10, 90, 50, 1), look(1, 500, 0, 90, 50, 1)),
                List.of(look(0, 3, 0, 98, 1, 3), new Look("1 n", null, 0)));
        assertTrue(lines.get(1).matches("0 n +ready +- +- +98 .*"), lines.get(1));
        assertEquals("1 n   silent", lines.get(2));
        assertFalse(lines.getLast().contains("-"), lines.getLast());
    }
}
