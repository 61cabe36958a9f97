package tutti.server.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** What it costs a node to count what it does. */
class PrometheusNodeMetricsTest {
    private static Set<String> threads() {
        return Thread.getAllStackTraces().keySet().stream().map(Thread::getName).collect(Collectors.toSet());
    }

    @Test
    void noThreadIsNeededToCountATransaction() {
        Set<String> before = threads();
        PrometheusNodeMetrics metrics = new PrometheusNodeMetrics(() -> {
            throw new AssertionError("no page is written");
        });
        metrics.committed(1_000_000);
        metrics.applied(3, 2_000_000);
        metrics.certified(7);
        metrics.remembered(7);
        metrics.waitingRequests(7);
        metrics.applying(1, 64);
        metrics.aborted("conflict");
        assertEquals(1, metrics.committedCount());
        Set<String> now = threads();
        now.removeAll(before);
        assertTrue(now.stream().noneMatch(name -> name.contains("prometheus")), now.toString());
    }
}
