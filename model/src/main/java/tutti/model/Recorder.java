package tutti.model;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import tutti.core.protocol.Stage;
import tutti.sim.kernel.Kernel;

/**
 * What happened in a run, counted while it happens. Nothing is counted before the warm-up is over; a transaction counts when
 * it ends.
 */
final class Recorder {
    private static final RequestKind[] KINDS = RequestKind.values();
    private static final Stage[] STAGES = Stage.values();

    /** Of one kind of transaction. */
    static final class Tally {
        final Latencies latencies = new Latencies();
        final TreeMap<String, Long> aborts = new TreeMap<>();
        final long[] stageNanos = new long[STAGES.length];
        long committed;
        long repeated;

        long aborted() {
            return aborts.values().stream().mapToLong(Long::longValue).sum();
        }
    }

    private final Kernel kernel;
    private final Tally[][] tallies;
    private final int[][] stages;
    private final List<RunResult.Sample> samples = new ArrayList<>();
    private final TraceFile trace;
    private final Latencies certification = new Latencies();
    private TransactionListener listener = (_, _, _, _) -> {};
    private boolean counting;
    private long began;
    private long ended;
    private long all;
    private long committedSinceSample;
    private TreeMap<String, Long> abortsSinceSample = new TreeMap<>();

    Recorder(Kernel kernel, int sites, TraceFile trace) {
        this.kernel = kernel;
        this.trace = trace;
        this.tallies = new Tally[sites][KINDS.length];
        this.stages = new int[sites][STAGES.length];
        for (Tally[] ofSite : tallies) {
            Arrays.setAll(ofSite, _ -> new Tally());
        }
    }

    /** Who is told of every transaction that counts. */
    void onEnd(TransactionListener told) {
        listener = told;
    }

    /** The warm-up is over. */
    void begin() {
        counting = true;
        began = kernel.now();
    }

    /** Transactions that have ended, warm-up included. */
    long all() {
        return all;
    }

    /** Those of them that count. */
    long counted() {
        return ended;
    }

    void came(int site, Stage stage) {
        stages[site][stage.ordinal()]++;
    }

    /** A transaction goes from one stage to the next. */
    void moved(int site, Work work, Stage from, Stage to, long since, long now) {
        stages[site][from.ordinal()]--;
        stages[site][to.ordinal()]++;
        if (counting) {
            tallies[site][work.kind.ordinal()].stageNanos[from.ordinal()] += now - since;
            if (from == Stage.EXECUTED && to == Stage.DECIDED) {
                certification.add(now - since);
            }
        }
        trace.span(site, work, from, since, now);
    }

    /** A transaction is over. */
    void ended(int site, Work work, Stage stage, String cause, int runs, long since, long stageSince) {
        long now = kernel.now();
        stages[site][stage.ordinal()]--;
        all++;
        trace.span(site, work, stage, stageSince, now);
        trace.ended(site, work, cause, since, now);
        if (cause.isEmpty()) {
            committedSinceSample++;
        } else {
            abortsSinceSample.merge(cause, 1L, Long::sum);
        }
        if (!counting) {
            return;
        }
        ended++;
        listener.ended(work.kind, since, now, cause);
        Tally tally = tallies[site][work.kind.ordinal()];
        tally.stageNanos[stage.ordinal()] += now - stageSince;
        if (runs > 1) {
            tally.repeated++;
        }
        if (cause.isEmpty()) {
            tally.committed++;
            tally.latencies.add(now - since);
        } else {
            tally.aborts.merge(cause, 1L, Long::sum);
        }
    }

    /** How many transactions of all sites are in each stage now. */
    int[] stages() {
        int[] sum = new int[STAGES.length];
        for (int[] ofSite : stages) {
            for (int i = 0; i < sum.length; i++) {
                sum[i] += ofSite[i];
            }
        }
        return sum;
    }

    /** Takes down what happened since the last sample. */
    void sample(double seconds, double cpuShare, double storageShare, double localBytesPerSecond,
            double wideBytesPerSecond, int cpuQueue) {
        samples.add(new RunResult.Sample((double) kernel.now() / 1e9, committedSinceSample / seconds,
                Map.copyOf(abortsSinceSample), stages(), cpuShare, storageShare, localBytesPerSecond,
                wideBytesPerSecond, cpuQueue));
        committedSinceSample = 0;
        abortsSinceSample = new TreeMap<>();
    }

    List<RunResult.Sample> samples() {
        return samples;
    }

    long began() {
        return began;
    }

    /** What was counted at a site, by kind. */
    Tally[] tallies(int site) {
        return tallies[site];
    }

    /** From execution to decision, of those that were decided. */
    Latencies certification() {
        return certification;
    }
}
