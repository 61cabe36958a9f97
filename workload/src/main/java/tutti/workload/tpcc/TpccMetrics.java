package tutti.workload.tpcc;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;

/**
 * Counts and latencies of a run. Recording is safe from any thread; {@link #tick} and {@link #snapshot} are serialised
 * here. Latencies are in microseconds, from the first attempt to the acknowledgement, kept to two digits and cut at 1,000
 * seconds.
 */
final class TpccMetrics {
    private static final long LATENCY_MAX_MICROS = 1_000_000_000;
    private static final int DIGITS = 2;
    // A day of seconds; later ones are counted in the totals only.
    private static final int SERIES_MAX = 86_400;

    private final List<Node> nodes = new ArrayList<>();
    private final Map<TpccTransaction, Histogram> totals = new EnumMap<>(TpccTransaction.class);
    private final List<TpccSecond> series = new ArrayList<>();
    private final LongAdder rollbacks = new LongAdder();
    private final LongAdder inDoubt = new LongAdder();
    private final LongAdder givenUp = new LongAdder();
    private final long startNanos;
    private long lastTickNanos;

    /** What one node did. */
    private static final class Node {
        final String name;
        final AtomicInteger terminals = new AtomicInteger();
        final Map<TpccTransaction, LongAdder> committed = new EnumMap<>(TpccTransaction.class);
        final Map<TpccTransaction, Recorder> latencies = new EnumMap<>(TpccTransaction.class);
        final ConcurrentHashMap<String, LongAdder> aborts = new ConcurrentHashMap<>();
        long newOrdersAtLastTick;
        Map<String, Long> abortsAtLastTick = Map.of();
        volatile boolean up = true;

        Node(String name) {
            this.name = name;
            for (TpccTransaction type : TpccTransaction.values()) {
                committed.put(type, new LongAdder());
                latencies.put(type, new Recorder(LATENCY_MAX_MICROS, DIGITS));
            }
        }
    }

    TpccMetrics(List<String> nodeNames, long startNanos) {
        nodeNames.forEach(name -> nodes.add(new Node(name)));
        for (TpccTransaction type : TpccTransaction.values()) {
            totals.put(type, new Histogram(LATENCY_MAX_MICROS, DIGITS));
        }
        this.startNanos = startNanos;
        lastTickNanos = startNanos;
    }

    void committed(int node, TpccTransaction type, long latencyNanos) {
        latency(node, type, latencyNanos);
        nodes.get(node).committed.get(type).increment();
    }

    void rolledBack() {
        rollbacks.increment();
    }

    void aborted(int node, String cause) {
        nodes.get(node).aborts.computeIfAbsent(cause, _ -> new LongAdder()).increment();
    }

    void inDoubt() {
        inDoubt.increment();
    }

    void givenUp() {
        givenUp.increment();
    }

    void terminalCame(int node) {
        nodes.get(node).terminals.incrementAndGet();
    }

    void terminalLeft(int node) {
        nodes.get(node).terminals.decrementAndGet();
    }

    void up(int node, boolean up) {
        nodes.get(node).up = up;
    }

    private void latency(int node, TpccTransaction type, long nanos) {
        long micros = Math.clamp(nanos / 1_000, 1, LATENCY_MAX_MICROS);
        nodes.get(node).latencies.get(type).recordValue(micros);
    }

    /** Ends an interval of the time series. */
    synchronized void tick(long nowNanos) {
        double seconds = Math.max(1e-9, (nowNanos - lastTickNanos) / 1e9);
        double at = (nowNanos - startNanos) / 1e9;
        lastTickNanos = nowNanos;
        for (Node node : nodes) {
            Histogram interval = new Histogram(LATENCY_MAX_MICROS, DIGITS);
            for (TpccTransaction type : TpccTransaction.values()) {
                Histogram recorded = node.latencies.get(type).getIntervalHistogram();
                interval.add(recorded);
                totals.get(type).add(recorded);
            }
            long newOrders = node.committed.get(TpccTransaction.NEW_ORDER).sum();
            Map<String, Long> aborts = sums(node.aborts);
            Map<String, Long> fresh = new TreeMap<>();
            aborts.forEach((cause, count) -> {
                long more = count - node.abortsAtLastTick.getOrDefault(cause, 0L);
                if (more > 0) {
                    fresh.put(cause, more);
                }
            });
            if (series.size() < SERIES_MAX * nodes.size()) {
                series.add(new TpccSecond(at, seconds, node.name, node.up, node.terminals.get(),
                        interval.getTotalCount(), newOrders - node.newOrdersAtLastTick,
                        interval.getValueAtPercentile(50), interval.getValueAtPercentile(95), fresh));
            }
            node.newOrdersAtLastTick = newOrders;
            node.abortsAtLastTick = aborts;
        }
    }

    synchronized TpccSnapshot snapshot(long nowNanos) {
        Map<TpccTransaction, TpccSnapshot.Latency> latencies = new EnumMap<>(TpccTransaction.class);
        Map<String, Long> aborts = new TreeMap<>();
        long committed = 0;
        long newOrders = 0;
        List<TpccSnapshot.Node> nodeSnapshots = new ArrayList<>();
        for (TpccTransaction type : TpccTransaction.values()) {
            latencies.put(type, TpccSnapshot.Latency.of(totals.get(type)));
        }
        for (int i = 0; i < nodes.size(); i++) {
            Node node = nodes.get(i);
            long nodeCommitted = node.committed.values().stream().mapToLong(LongAdder::sum).sum();
            committed += nodeCommitted;
            newOrders += node.committed.get(TpccTransaction.NEW_ORDER).sum();
            Map<String, Long> nodeAborts = sums(node.aborts);
            nodeAborts.forEach((cause, count) -> aborts.merge(cause, count, Long::sum));
            TpccSecond last = series.size() < nodes.size() ? null : series.get(series.size() - nodes.size() + i);
            nodeSnapshots.add(new TpccSnapshot.Node(node.name, node.up, node.terminals.get(), nodeCommitted, nodeAborts,
                    last == null ? TpccSecond.none(node.name) : last));
        }
        return new TpccSnapshot((nowNanos - startNanos) / 1e9, committed, newOrders, rollbacks.sum(), inDoubt.sum(),
                givenUp.sum(), aborts, latencies, nodeSnapshots);
    }

    synchronized List<TpccSecond> series() {
        return List.copyOf(series);
    }

    private static Map<String, Long> sums(Map<String, LongAdder> adders) {
        Map<String, Long> sums = new TreeMap<>();
        adders.forEach((cause, adder) -> sums.put(cause, adder.sum()));
        return sums;
    }
}
