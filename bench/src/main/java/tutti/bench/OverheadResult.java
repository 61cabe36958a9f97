package tutti.bench;

import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import tutti.report.MeasurementConditions;

/**
 * What a comparison found; written as it is to the JSON file.
 *
 * @param benchmark its name, for programs that read several
 * @param startedAt ISO 8601
 * @param machine what it ran on
 * @param plan how it was run
 * @param contenders letters and descriptions
 * @param measurements in the order in which they were made; fewer than planned if the comparison ended early
 * @param summaries one per contender that was measured
 */
record OverheadResult(String benchmark, String startedAt, Map<String, String> machine, OverheadPlan plan,
        Map<String, String> contenders, List<Measurement> measurements, List<Summary> summaries) {
    OverheadResult {
        machine = Collections.unmodifiableMap(new LinkedHashMap<>(machine));
        contenders = Collections.unmodifiableMap(new TreeMap<>(contenders));
        measurements = List.copyOf(measurements);
        summaries = List.copyOf(summaries);
    }

    /** Sums up what was measured so far. */
    static OverheadResult of(MeasurementConditions ground, OverheadPlan plan, List<Measurement> measurements) {
        Map<String, String> descriptions = new TreeMap<>();
        plan.contenders().forEach(kind -> descriptions.put(kind.name(), kind.description()));
        List<Summary> summaries = plan.contenders().stream()
                .filter(kind -> measurements.stream().anyMatch(one -> one.contender() == kind))
                .map(kind -> Summary.of(kind, measurements)).toList();
        return new OverheadResult("overhead", ground.startedAt(), ground.machine(), plan, descriptions, measurements,
                summaries);
    }

    /** A distribution of latencies of one transaction type, in milliseconds. */
    record Latency(long count, double p50Millis, double p95Millis, double p99Millis) {}

    /**
     * One contender in one round. CPU time is in milliseconds per committed transaction, of whatever type.
     *
     * @param round from 1
     * @param transactionsPerSecond committed ones of all types
     * @param tpmC NewOrders per minute
     * @param committed transactions
     * @param abortPercent attempts that failed, of all
     * @param aborts by cause
     * @param latencies by transaction type, committed ones only
     * @param serverCpuMillis of all processes of the contender
     * @param serverCpuMillisByProgram the same, {@code postgres} and {@code java} apart
     * @param orderCpuMillis of {@code java}, that of the nodes' threads which order; 0 if there are no nodes
     * @param clientCpuMillis of the terminals
     * @param settleMillis from the last answer until all copies held everything; server CPU includes it
     * @param busyPercent of all processors: contender and terminals
     * @param otherPercent of all processors: what else ran on the machine; more than a few spoil the measurement
     */
    record Measurement(Contender.Kind contender, int round, double transactionsPerSecond, double tpmC, long committed,
            double abortPercent,
            Map<String, Long> aborts, Map<String, Latency> latencies, double serverCpuMillis,
            Map<String, Double> serverCpuMillisByProgram, double orderCpuMillis, double clientCpuMillis,
            double settleMillis,
            double busyPercent, double otherPercent) {
        Measurement {
            aborts = Collections.unmodifiableMap(new TreeMap<>(aborts));
            latencies = Collections.unmodifiableMap(new LinkedHashMap<>(latencies));
            serverCpuMillisByProgram = Collections.unmodifiableMap(new TreeMap<>(serverCpuMillisByProgram));
        }

        /** CPU time of one program per transaction; 0 if none of that name ran. */
        double cpuOf(String program) {
            return serverCpuMillisByProgram.getOrDefault(program, 0.0);
        }
    }

    /** The values of several rounds. */
    record Spread(double min, double median, double max) {
        static Spread of(double... values) {
            double[] sorted = values.clone();
            Arrays.sort(sorted);
            return new Spread(sorted[0], (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2,
                    sorted[sorted.length - 1]);
        }
    }

    /**
     * One contender over all rounds.
     *
     * @param ratio its transactions per second over those of (a) in the same round; null if (a) was not measured
     * @param ratioToStandbys its transactions per second over those of (e) in the same round; null if (e) was not measured
     * @param p50Millis median latency of NewOrder
     * @param p95Millis 95th percentile of the latency of NewOrder
     */
    record Summary(Contender.Kind contender, Spread transactionsPerSecond, Spread tpmC, @Nullable Spread ratio,
            @Nullable Spread ratioToStandbys,
            Spread p50Millis, Spread p95Millis, Spread abortPercent, Spread serverCpuMillis, Spread databaseCpuMillis,
            Spread frontCpuMillis, Spread clientCpuMillis, Spread otherPercent) {
        private static final String NEW_ORDER = "NewOrder";

        static Summary of(Contender.Kind kind, List<Measurement> all) {
            List<Measurement> own = all.stream().filter(one -> one.contender() == kind).toList();
            return new Summary(kind, spread(own, Measurement::transactionsPerSecond), spread(own, Measurement::tpmC),
                    ratio(own, all, Contender.Kind.A),
                    ratio(own, all, Contender.Kind.E), spread(own, one -> newOrder(one).p50Millis()),
                    spread(own, one -> newOrder(one).p95Millis()), spread(own, Measurement::abortPercent),
                    spread(own, Measurement::serverCpuMillis), spread(own, one -> one.cpuOf("postgres")),
                    spread(own, one -> one.cpuOf("java") + one.cpuOf("pgbouncer")),
                    spread(own, Measurement::clientCpuMillis),
                    spread(own, Measurement::otherPercent));
        }

        private static Latency newOrder(Measurement one) {
            return one.latencies().getOrDefault(NEW_ORDER, new Latency(0, 0, 0, 0));
        }

        private static Spread spread(List<Measurement> of, ToDoubleFunction<Measurement> value) {
            return Spread.of(of.stream().mapToDouble(value).toArray());
        }

        private static @Nullable Spread ratio(List<Measurement> own, List<Measurement> all, Contender.Kind to) {
            double[] ratios = own.stream()
                    .flatMap(one -> all.stream()
                            .filter(base -> base.contender() == to && base.round() == one.round()
                                    && base.transactionsPerSecond() > 0)
                            .map(base -> one.transactionsPerSecond() / base.transactionsPerSecond()))
                    .mapToDouble(Double::doubleValue).toArray();
            return ratios.length == 0 ? null : Spread.of(ratios);
        }
    }
}
