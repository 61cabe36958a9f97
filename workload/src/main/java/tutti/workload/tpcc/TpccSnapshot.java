package tutti.workload.tpcc;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;

/**
 * A run so far.
 *
 * @param elapsedSeconds since the start
 * @param committed transactions, acknowledged
 * @param newOrders NewOrders among them
 * @param rollbacks NewOrders that were rolled back because an item does not exist, as one in a hundred must be
 * @param inDoubt transactions whose COMMIT broke off
 * @param givenUp transactions that failed at every attempt
 * @param aborts attempts that failed, by cause
 * @param latencies of committed transactions, complete up to the last full second
 * @param nodes one by one
 */
public record TpccSnapshot(double elapsedSeconds, long committed, long newOrders, long rollbacks, long inDoubt,
        long givenUp, Map<String, Long> aborts, Map<TpccTransaction, Latency> latencies, List<Node> nodes) {
    public TpccSnapshot {
        aborts = Collections.unmodifiableMap(new TreeMap<>(aborts));
        latencies = Collections.unmodifiableMap(new TreeMap<>(latencies));
        nodes = List.copyOf(nodes);
    }

    /** NewOrders per minute. Not TPC's official metric if the population is reduced or users do not think. */
    public double tpmC() {
        return elapsedSeconds <= 0 ? 0 : newOrders * 60 / elapsedSeconds;
    }

    /** Attempts that failed, of all attempts; 0 to 1. */
    public double abortRate() {
        long aborted = aborts.values().stream().mapToLong(Long::longValue).sum();
        return aborted == 0 ? 0 : (double) aborted / (aborted + committed + rollbacks);
    }

    /**
     * One node.
     *
     * @param aborts attempts that failed there, by cause
     * @param lastSecond the latest complete second
     */
    public record Node(String name, boolean up, int terminals, long committed, Map<String, Long> aborts,
            TpccSecond lastSecond) {
        public Node {
            aborts = Collections.unmodifiableMap(new TreeMap<>(aborts));
        }
    }

    /** A distribution of latencies; all in microseconds, 0 if there are none. */
    public record Latency(long count, double meanMicros, long p50Micros, long p90Micros, long p95Micros, long p99Micros,
            long maxMicros) {
        static Latency of(Histogram histogram) {
            return new Latency(histogram.getTotalCount(), histogram.getMean(), histogram.getValueAtPercentile(50),
                    histogram.getValueAtPercentile(90), histogram.getValueAtPercentile(95),
                    histogram.getValueAtPercentile(99), histogram.getMaxValue());
        }
    }
}
