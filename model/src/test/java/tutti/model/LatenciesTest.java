package tutti.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class LatenciesTest {
    @Test
    void percentilesAreWithinAPercent() {
        Latencies latencies = new Latencies();
        for (long i = 1; i <= 100_000; i++) {
            latencies.add(i * 1000);
        }
        for (double share : new double[]{0.001, 0.01, 0.5, 0.9, 0.999, 1}) {
            assertEquals(100 * share, latencies.percentileMillis(share), share, "percentile " + share);
        }
        assertEquals(50, latencies.meanMillis(), 0.001);
        assertEquals(0.25, latencies.shareWithin(25), 0.0025);
        assertEquals(100, latencies.maxMillis());
    }

    @Test
    void parts() {
        Latencies all = new Latencies();
        Latencies one = new Latencies();
        one.add(5);
        Latencies other = new Latencies();
        other.add(7_000_000_000L);
        all.addAll(one);
        all.addAll(other);
        assertEquals(2, all.count());
        assertEquals(7000, all.maxMillis());
        assertEquals(0, new Latencies().percentileMillis(0.5));
    }
}
