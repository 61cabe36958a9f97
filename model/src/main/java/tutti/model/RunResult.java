package tutti.model;

import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import tutti.core.protocol.Stage;

/**
 * What a run of a model has shown.
 *
 * @param seconds of simulated time that were counted
 * @param kinds what became of each kind of transaction, at all sites and by name of cluster
 * @param samples over time, warm-up included
 * @param cpuShare of all cores that was used, 0 to 1
 * @param codeShare of all cores that real code used
 * @param storageShare of all places of the storages that was used
 * @param requestsPerSecond to locks, processors and storages of all sites together
 * @param traffic of the network, warm-up included
 * @param certification from execution to decision, of transactions that were decided
 * @param safety empty if all replicas have committed the same sequence of transactions; otherwise where they differ
 * @param fingerprint equal for equal runs
 * @param speed how fast it was computed
 */
public record RunResult(double seconds, Map<String, Map<RequestKind, Outcomes>> kinds, List<Sample> samples,
        double cpuShare,
        double codeShare, double storageShare, double requestsPerSecond, Traffic traffic,
        Latencies certification, String safety, String fingerprint, Speed speed) {
    /** The name under which all sites together are found. */
    public static final String ALL_SITES = "";

    /**
     * What became of the transactions of one kind.
     *
     * @param committed how many
     * @param repeated how many of them, or of those aborted, were executed more than once
     * @param aborts how many, by cause
     * @param latencies of those that have committed
     * @param stageMillis how long one was in each stage on average, aborted ones included
     */
    public record Outcomes(long committed, long repeated, Map<String, Long> aborts, Latencies latencies,
            double[] stageMillis) {
        /** How many were aborted. */
        public long aborted() {
            return aborts.values().stream().mapToLong(Long::longValue).sum();
        }

        /** Which share of all was aborted, 0 to 1. */
        public double abortRate() {
            return committed + aborted() == 0 ? 0 : (double) aborted() / (committed + aborted());
        }

        /** Which share of all was executed more than once, 0 to 1. */
        public double repeatRate() {
            return committed + aborted() == 0 ? 0 : (double) repeated / (committed + aborted());
        }
    }

    /**
     * What happened in a second or so.
     *
     * @param atSeconds of simulated time, at its end
     * @param committedPerSecond transactions
     * @param aborts by cause
     * @param stages how many transactions were in each {@link Stage} at its end
     * @param cpuShare of all cores that was used
     * @param storageShare of all places of the storages that was used
     * @param localBytesPerSecond in local networks
     * @param wideBytesPerSecond between them
     * @param cpuQueue jobs that waited for a core at its end, at all sites
     */
    public record Sample(double atSeconds, double committedPerSecond, Map<String, Long> aborts, int[] stages,
            double cpuShare, double storageShare, double localBytesPerSecond, double wideBytesPerSecond,
            int cpuQueue) {}

    /**
     * How fast a run was computed; differs from run to run.
     *
     * @param events of the kernel
     * @param simulatedSeconds that passed
     * @param realSeconds that passed
     */
    public record Speed(long events, double simulatedSeconds, double realSeconds) {}

    /** All sites and kinds together. */
    public Outcomes total() {
        return total(ALL_SITES);
    }

    /** All kinds together, of a cluster. */
    public Outcomes total(String cluster) {
        return sum(kinds.getOrDefault(cluster, Map.of()).values());
    }

    /** A kind, at all sites. */
    public Outcomes of(RequestKind kind) {
        Outcomes found = kinds.getOrDefault(ALL_SITES, Map.of()).get(kind);
        return found == null ? sum(List.of()) : found;
    }

    /** Committed transactions of all kinds in a minute. */
    public double tpm() {
        return tpm(ALL_SITES);
    }

    /** Committed transactions of all kinds in a minute, of a cluster. */
    public double tpm(String cluster) {
        return seconds == 0 ? 0 : total(cluster).committed() * 60 / seconds;
    }

    static Outcomes sum(Iterable<Outcomes> parts) {
        long committed = 0;
        long repeated = 0;
        long ended = 0;
        Map<String, Long> aborts = new TreeMap<>();
        Latencies latencies = new Latencies();
        double[] stages = new double[Stage.values().length];
        for (Outcomes part : parts) {
            committed += part.committed;
            repeated += part.repeated;
            part.aborts.forEach((cause, count) -> aborts.merge(cause, count, Long::sum));
            latencies.addAll(part.latencies);
            long all = part.committed + part.aborted();
            ended += all;
            for (int i = 0; i < stages.length; i++) {
                stages[i] += part.stageMillis[i] * all;
            }
        }
        for (int i = 0; i < stages.length; i++) {
            stages[i] = ended == 0 ? 0 : stages[i] / ended;
        }
        return new Outcomes(committed, repeated, Collections.unmodifiableMap(aborts), latencies, stages);
    }

    /** Adds up what sites have counted. */
    static Map<RequestKind, Outcomes> outcomes(List<Recorder.Tally[]> sites) {
        Map<RequestKind, Outcomes> outcomes = new EnumMap<>(RequestKind.class);
        for (RequestKind kind : RequestKind.values()) {
            outcomes.put(kind, sum(sites.stream().map(tallies -> outcomes(tallies[kind.ordinal()])).toList()));
        }
        return outcomes;
    }

    private static Outcomes outcomes(Recorder.Tally tally) {
        double[] stages = new double[tally.stageNanos.length];
        long all = tally.committed + tally.aborted();
        for (int i = 0; i < stages.length; i++) {
            stages[i] = all == 0 ? 0 : tally.stageNanos[i] / 1e6 / all;
        }
        return new Outcomes(tally.committed, tally.repeated, Map.copyOf(tally.aborts), tally.latencies, stages);
    }
}
