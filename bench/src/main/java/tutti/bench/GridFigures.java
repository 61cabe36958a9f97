package tutti.bench;

import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;

/** What clients of a grid have seen while it was measured. One thread. */
final class GridFigures {
    private static final long LATENCY_NANOS_MAX = TimeUnit.MINUTES.toNanos(10);

    private final Histogram latency = new Histogram(LATENCY_NANOS_MAX, 3);
    private final Map<GridException.Reason, Long> failures = new EnumMap<>(GridException.Reason.class);
    private long commits;

    /** Where it was measured. */
    enum World {
        /** Nodes in this virtual machine, over loopback. */
        REAL,
        /** Nodes in processes of their own on this machine, over loopback. */
        PROCESSES,
        /** The same classes on simulated machines, in virtual time. */
        SIMULATED
    }

    /**
     * What was found. Latencies are of commits that have succeeded and had something to write.
     *
     * @param leastCommitsPerSecond of all rounds
     * @param mostCommitsPerSecond of all rounds
     */
    record Measured(World world, GridScript.Workload workload, GridContender protocol, IsolationLevel level, int keys,
            int degree, int nodes,
            double commitsPerSecond, double abortPercent, long commits, long conflicts, long deadlocks,
            long lockTimeouts, long otherFailures, double commitMillisMedian, double commitMillis99,
            double commitMillisMax, double messagesPerTransaction, double leastCommitsPerSecond,
            double mostCommitsPerSecond) {
        /**
         * What counts of an odd number of rounds: the one with the median throughput, with the least and the most.
         *
         * @param rounds of one measurement; it is left as it is
         */
        static Measured median(List<Measured> rounds) {
            List<Measured> sorted = rounds.stream().sorted(Comparator.comparingDouble(Measured::commitsPerSecond))
                    .toList();
            Measured one = sorted.get(sorted.size() / 2);
            return new Measured(one.world, one.workload, one.protocol, one.level, one.keys, one.degree, one.nodes,
                    one.commitsPerSecond, one.abortPercent, one.commits, one.conflicts, one.deadlocks,
                    one.lockTimeouts, one.otherFailures, one.commitMillisMedian, one.commitMillis99,
                    one.commitMillisMax, one.messagesPerTransaction, sorted.getFirst().commitsPerSecond,
                    sorted.getLast().commitsPerSecond);
        }

        /** Whether it is what a measurement in this world is to find. */
        boolean isOf(GridMeasurement plan, World where) {
            return world == where && workload == plan.workload() && protocol == plan.protocol()
                    && level == plan.level() && keys == plan.keys() && degree == plan.degree()
                    && nodes == plan.nodes();
        }
    }

    /** A transaction has committed; so long after it was asked to. */
    void committed(long nanos) {
        commits++;
        latency.recordValue(Math.min(nanos, LATENCY_NANOS_MAX));
    }

    /** A transaction that only reads has committed, for which there is nothing to do. */
    void read() {
        commits++;
    }

    /** A transaction has not. */
    void failed(GridException.Reason why) {
        failures.merge(why, 1L, Long::sum);
    }

    /** What another client has seen, too. */
    void add(GridFigures other) {
        latency.add(other.latency);
        other.failures.forEach((reason, count) -> failures.merge(reason, count, Long::sum));
        commits += other.commits;
    }

    /** As text without line breaks, for another process. */
    String encoded() {
        ByteBuffer bytes = ByteBuffer.allocate(latency.getNeededByteBufferCapacity());
        latency.encodeIntoByteBuffer(bytes);
        bytes.flip();
        byte[] filled = new byte[bytes.remaining()];
        bytes.get(filled);
        StringBuilder text = new StringBuilder().append(commits).append(' ')
                .append(Base64.getEncoder().encodeToString(filled));
        failures.forEach((reason, count) -> text.append(' ').append(reason).append(' ').append(count));
        return text.toString();
    }

    /**
     * What was encoded.
     *
     * @throws IllegalArgumentException if the text is something else
     */
    static GridFigures decoded(String text) {
        String[] parts = text.split(" ", -1);
        if (parts.length < 2 || parts.length % 2 != 0) {
            throw new IllegalArgumentException(text);
        }
        GridFigures figures = new GridFigures();
        figures.commits = Long.parseLong(parts[0]);
        figures.latency.add(Histogram.decodeFromByteBuffer(ByteBuffer.wrap(Base64.getDecoder().decode(parts[1])),
                LATENCY_NANOS_MAX));
        for (int i = 2; i < parts.length; i += 2) {
            figures.failures.put(GridException.Reason.valueOf(parts[i]), Long.parseLong(parts[i + 1]));
        }
        return figures;
    }

    /**
     * All in all.
     *
     * @param seconds that it was measured for
     * @param messages that nodes have sent meanwhile
     */
    Measured measured(World world, GridMeasurement of, double seconds, long messages) {
        long failed = failures.values().stream().mapToLong(Long::longValue).sum();
        long conflicts = failures.getOrDefault(GridException.Reason.CONFLICT, 0L);
        long deadlocks = failures.getOrDefault(GridException.Reason.DEADLOCK, 0L);
        long timeouts = failures.getOrDefault(GridException.Reason.LOCK_TIMEOUT, 0L);
        long ended = Math.max(1, commits + failed);
        return new Measured(world, of.workload(), of.protocol(), of.level(), of.keys(), of.degree(), of.nodes(),
                commits / seconds,
                100.0 * failed / ended, commits, conflicts, deadlocks, timeouts,
                failed - conflicts - deadlocks - timeouts, latency.getValueAtPercentile(50) / 1e6,
                latency.getValueAtPercentile(99) / 1e6, latency.getMaxValue() / 1e6, (double) messages / ended,
                commits / seconds, commits / seconds);
    }
}
