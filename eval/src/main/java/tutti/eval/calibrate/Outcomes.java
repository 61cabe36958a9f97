package tutti.eval.calibrate;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.model.RequestKind;
import tutti.model.fit.Fits;

/** What clients have seen in one world, transaction by transaction. Filled by one thread, in the order of answers. */
final class Outcomes {
    private final Map<RequestKind, List<Long>> latencies = new EnumMap<>(RequestKind.class);
    private final Map<RequestKind, List<Long>> gaps = new EnumMap<>(RequestKind.class);
    private final Map<RequestKind, Long> lastOfKind = new EnumMap<>(RequestKind.class);
    private final List<Long> allGaps = new ArrayList<>();
    private final Map<RequestKind, Long> aborts = new EnumMap<>(RequestKind.class);
    private final Map<String, Long> causes = new TreeMap<>();
    private @Nullable Long last;
    private double seconds;

    /** A transaction is over. */
    void add(RequestKind kind, long sinceNanos, long nowNanos, String cause) {
        if (!cause.isEmpty()) {
            aborts.merge(kind, 1L, Long::sum);
            causes.merge(cause, 1L, Long::sum);
            return;
        }
        latencies.computeIfAbsent(kind, _ -> new ArrayList<>()).add(nowNanos - sinceNanos);
        Long before = lastOfKind.put(kind, nowNanos);
        if (before != null) {
            gaps.computeIfAbsent(kind, _ -> new ArrayList<>()).add(nowNanos - before);
        }
        if (last != null) {
            allGaps.add(nowNanos - last);
        }
        last = nowNanos;
    }

    /** So long was looked; what comes after it is no neighbour of what came before. */
    void looked(double more) {
        seconds += more;
        last = null;
        lastOfKind.clear();
    }

    /** When the last one has committed, on the clock of its world, in nanoseconds; 0 if none has. */
    double last() {
        return last == null ? 0 : (double) last;
    }

    double seconds() {
        return seconds;
    }

    /** Kinds of which one at least has committed. */
    List<RequestKind> kinds() {
        return List.copyOf(latencies.keySet());
    }

    /** How many of a kind have committed. */
    long committed(RequestKind kind) {
        return latencies.getOrDefault(kind, List.of()).size();
    }

    long committed() {
        return latencies.values().stream().mapToLong(List::size).sum();
    }

    long aborted(RequestKind kind) {
        return aborts.getOrDefault(kind, 0L);
    }

    long aborted() {
        return aborts.values().stream().mapToLong(Long::longValue).sum();
    }

    /** How many were aborted, by cause. */
    Map<String, Long> causes() {
        return causes;
    }

    /** Of a kind, committed in a minute. */
    double tpm(RequestKind kind) {
        return seconds == 0 ? 0 : committed(kind) * 60 / seconds;
    }

    double tpm() {
        return seconds == 0 ? 0 : committed() * 60 / seconds;
    }

    /** Mean latency of the committed of a kind, in milliseconds. */
    double latencyMillis(RequestKind kind) {
        return latencies.getOrDefault(kind, List.of()).stream().mapToLong(Long::longValue).average().orElse(0) / 1e6;
    }

    double latencyMillis() {
        return latencies.values().stream().flatMap(List::stream).mapToLong(Long::longValue).average().orElse(0) / 1e6;
    }

    /** How exact the mean latency of a kind is: half of its 95 percent confidence interval, in milliseconds. */
    double latencyUncertaintyMillis(RequestKind kind) {
        List<Long> all = latencies.getOrDefault(kind, List.of());
        double mean = all.stream().mapToLong(Long::longValue).average().orElse(0);
        double squares = all.stream().mapToDouble(one -> (one - mean) * (one - mean)).sum();
        return all.size() < 2 ? 0 : 1.96 * Math.sqrt(squares / (all.size() - 1) / all.size()) / 1e6;
    }

    /** Latencies of a kind, of which one at least has committed. */
    Fits latencies(RequestKind kind) {
        return Fits.of(array(latencies.getOrDefault(kind, List.of())));
    }

    /** Latencies of all kinds. */
    Fits latencies() {
        return Fits.of(latencies.values().stream().flatMap(List::stream).mapToLong(Long::longValue).toArray());
    }

    /** Times between two commits that follow each other, of a kind that has committed twice at least. */
    Fits gaps(RequestKind kind) {
        return Fits.of(array(gaps.getOrDefault(kind, List.of())));
    }

    /** Times between two commits of any kind that follow each other. */
    Fits gaps() {
        return Fits.of(array(allGaps));
    }

    private static long[] array(List<Long> all) {
        return all.stream().mapToLong(Long::longValue).toArray();
    }
}
