package tutti.report;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What there is to say about a run of a workload against a cluster; written as it is to the JSON file, and drawn by
 * {@link HtmlReport}. Immutable.
 *
 * @param title what was run
 * @param startedAt when, ISO 8601
 * @param passed whether everything was as it must be
 * @param settings how it was run, in the order to show
 * @param machine what it ran on, in the order to show
 * @param figures the numbers to read first
 * @param latencies by transaction type
 * @param aborts attempts that failed, by cause
 * @param checks what was verified
 * @param events what happened to nodes
 * @param samples one per second and node, in order of time, then of nodes
 */
public record RunReport(String title, String startedAt, boolean passed, Map<String, String> settings,
        Map<String, String> machine, List<Figure> figures, Map<String, Latency> latencies, Map<String, Long> aborts,
        List<Check> checks, List<Event> events, List<Sample> samples) {

    public RunReport {
        settings = Collections.unmodifiableMap(new LinkedHashMap<>(settings));
        machine = Collections.unmodifiableMap(new LinkedHashMap<>(machine));
        figures = List.copyOf(figures);
        latencies = Collections.unmodifiableMap(new LinkedHashMap<>(latencies));
        aborts = Collections.unmodifiableMap(new TreeMap<>(aborts));
        checks = List.copyOf(checks);
        events = List.copyOf(events);
        samples = List.copyOf(samples);
    }

    /**
     * One number.
     *
     * @param key for programs
     * @param label for people
     * @param unit of the value; empty for a count
     * @param value NaN is not allowed
     */
    public record Figure(String key, String label, double value, String unit) {}

    /** A distribution of latencies, all in milliseconds. */
    public record Latency(long count, double meanMillis, double p50Millis, double p90Millis, double p95Millis,
            double p99Millis, double maxMillis) {}

    /**
     * Something that was verified.
     *
     * @param name what must hold
     * @param passed whether it does
     * @param detail what was found
     */
    public record Check(String name, boolean passed, String detail) {}

    /** What an event means, which decides how it is marked. */
    public enum EventKind {
        /** A node went away. */
        DOWN,
        /** A node was started again. */
        RESTARTED,
        /** A node is where the others are. */
        CAUGHT_UP
    }

    /**
     * Something that happened to a node.
     *
     * @param atSeconds since the start of the run
     * @param label for people
     */
    public record Event(double atSeconds, EventKind kind, String label) {}

    /**
     * One node during one second.
     *
     * @param atSeconds end of the second, since the start of the run
     * @param node its name
     * @param up whether clients could reach it
     * @param committedPerSecond transactions
     * @param newOrdersPerSecond NewOrders among them
     * @param p50Millis median latency; null if nothing committed
     * @param p95Millis 95th percentile of the latency; null if nothing committed
     * @param aborts attempts that failed, by cause
     * @param appliedPosition how far its database is; null if it did not say
     * @param lagPositions how many positions it was behind the most advanced node; null if it did not say
     */
    public record Sample(double atSeconds, String node, boolean up, double committedPerSecond,
            double newOrdersPerSecond,
            @Nullable Double p50Millis, @Nullable Double p95Millis, Map<String, Long> aborts,
            @Nullable Long appliedPosition, @Nullable Long lagPositions) {
        public Sample {
            aborts = Collections.unmodifiableMap(new TreeMap<>(aborts));
        }
    }
}
