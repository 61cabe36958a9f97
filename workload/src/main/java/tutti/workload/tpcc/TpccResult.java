package tutti.workload.tpcc;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * A run that is over.
 *
 * @param options how it was run
 * @param total counts and latencies
 * @param series one entry per second and node, in order of time, then of nodes
 * @param ledger what was acknowledged
 * @param failure why the run ended early, if it did
 */
public record TpccResult(TpccOptions options, TpccSnapshot total, List<TpccSecond> series, TpccLedger ledger,
        Optional<String> failure) {
    public TpccResult {
        series = List.copyOf(series);
    }

    /** For people. */
    public String text() {
        StringBuilder text = new StringBuilder();
        text.append(String.format(Locale.ROOT, "TPC-C, %s, %d terminals%s, seed %d, %.1f s%n",
                options.population().scale(), options.terminals(), options.thinking() ? "" : " without think time",
                options.seed(), total.elapsedSeconds()));
        text.append(String.format(Locale.ROOT, "%.0f NewOrders per minute; %d committed, %d rolled back as they must, "
                + "%d in doubt, %d given up, %.2f %% of attempts aborted%n", total.tpmC(), total.committed(),
                total.rollbacks(), total.inDoubt(), total.givenUp(), 100 * total.abortRate()));
        text.append(String.format(Locale.ROOT, "%-12s %9s %9s %9s %9s %9s %9s  (ms)%n", "", "count", "p50", "p90",
                "p95", "p99", "max"));
        total.latencies().forEach((type, latency) -> text.append(String.format(Locale.ROOT,
                "%-12s %9d %9.2f %9.2f %9.2f %9.2f %9.2f%n", type.label(), latency.count(), latency.p50Micros() / 1e3,
                latency.p90Micros() / 1e3, latency.p95Micros() / 1e3, latency.p99Micros() / 1e3,
                latency.maxMicros() / 1e3)));
        text.append("aborted attempts by cause: ").append(total.aborts().isEmpty() ? "none" : total.aborts());
        failure.ifPresent(why -> text.append(System.lineSeparator()).append("ended early: ").append(why));
        return text.toString();
    }
}
