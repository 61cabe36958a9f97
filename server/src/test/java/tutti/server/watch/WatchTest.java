package tutti.server.watch;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tutti.node.metrics.NodeMetrics;
import tutti.server.http.NodeStatus;

/** What a node keeps of what it has done and of what has happened. */
class WatchTest {
    private final AtomicReference<NodeStatus> status = new AtomicReference<>(status(0, null, 0, true, List.of()));
    private final Latencies latencies = new Latencies();
    private final History history = new History(status::get, latencies);

    private static NodeStatus status(long committed, @Nullable String reason, int leader, boolean otherIsThere,
            List<Integer> givenUp) {
        return new NodeStatus(0, "a", "shop", reason == null ? NodeStatus.State.READY : NodeStatus.State.ISOLATED,
                reason,
                "si", "0.1", "PostgreSQL 18.6", "127.0.0.1:5432", new NodeStatus.Positions(10, 10, 8, 8), leader,
                reason == null,
                List.of(new NodeStatus.Member(0, "a", null, true), new NodeStatus.Member(1, "b", null, otherIsThere)),
                3, 1,
                committed, Map.of("victim", committed / 10), new NodeStatus.OrderStatus(0, 1, 1, givenUp, 0, null), 1,
                1, null, List.of());
    }

    private List<String> events() {
        return history.told().events().stream().map(History.Event::text).toList().reversed();
    }

    @Test
    void whatHappensIsToldOnce() {
        history.look(1000);
        history.look(2000);
        status.set(status(0, "no majority", 0, false, List.of()));
        history.look(3000);
        history.look(4000);
        status.set(status(0, null, 1, true, List.of(1)));
        history.look(5000);
        assertEquals(List.of("the process started; ready", "isolated: no majority",
                "no majority is reached: writes are refused",
                "b is not there", "ready", "a majority is reached", "b leads the order", "b is there",
                "b was away for too long: the log is not kept for it any more"), events());
    }

    @Test
    void twoMinutesOfSecondsAreKept() {
        history.look(0);
        IntStream.rangeClosed(1, 98).forEach(_ -> latencies.add(2_000_000));
        latencies.add(50_000_000);
        latencies.add(50_000_000);
        status.set(status(100, null, 0, true, List.of()));
        history.look(2000);
        assertEquals(List.of(new History.Sample(2000, 50, 5, 2.03, 49.5, 2, 3)), rounded(history.told().samples()));
        for (int second = 3; second < 200; second++) {
            history.look(second * 1000L);
        }
        List<History.Sample> kept = history.told().samples();
        assertEquals(120, kept.size());
        assertEquals(new History.Sample(199_000, 0, 0, 0, 0, 2, 3), kept.getLast());
    }

    /** A class is a tenth wide. */
    private static List<History.Sample> rounded(List<History.Sample> samples) {
        return samples.stream().map(each -> new History.Sample(each.time(), each.commits(), each.aborts(),
                Math.abs(each.median() - 2) < 0.2 ? 2.03 : each.median(),
                Math.abs(each.worst() - 50) < 5 ? 49.5 : each.worst(),
                each.lag(), each.sessions())).toList();
    }

    @Test
    void theSlowestStatementsOfTenMinutesAndTheLastLossesAreKept() {
        AtomicLong clock = new AtomicLong();
        Activity activity = new Activity(clock::get);
        activity.slow(900_000_000, "old");
        clock.set(500_000);
        for (int i = 0; i < 300; i++) {
            activity.slow((i + 30) * 1_000_000L, "s" + i);
            activity.lost(new NodeMetrics.Loss("40001", "m", "d", "s" + i, false));
        }
        activity.slow(1_000_000, "s299");
        assertEquals("old", activity.seen().statements().getFirst().text());
        clock.set(700_000);
        Activity.Seen seen = activity.seen();
        assertEquals(20, seen.statements().size());
        assertEquals(new Activity.Statement("s299", 2, 329, 500_000), seen.statements().getFirst());
        assertEquals(50, seen.losses().size());
        assertEquals("s299", seen.losses().getFirst().statement());
    }
}
