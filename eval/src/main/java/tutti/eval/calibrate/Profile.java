package tutti.eval.calibrate;

import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import tutti.command.Failure;
import tutti.model.RequestKind;
import tutti.model.fit.Fits;

/**
 * Where the time of transactions goes that had the machine to themselves. In the latency of one, its server process computes,
 * or its client does, or neither. The last is the wait for the log, as far as its commit took longer than one that has nothing
 * to write; the rest of it is the network between statements, and waking up. So the four parts add up to the latency that was
 * measured, but for what a server process computes when it has answered already. (What the server computes to write its log
 * is processor time, not wait.)
 *
 * @param costs of each kind that was seen
 * @param log the wait of a commit for the log
 * @param readOnlyCommitNanos what a commit takes that has nothing to write; the median
 */
record Profile(Map<RequestKind, Cost> costs, Fits log, double readOnlyCommitNanos) {
    /** With fewer transactions of a kind, no distribution is fitted. */
    static final int LEAST = 20;

    /**
     * Of one kind of transaction.
     *
     * @param server processor time of the server process
     * @param client processor time of the client
     * @param waiting in which neither computes
     * @param log wait for the log; all 0 if nothing is written
     * @param latency all of it
     */
    record Cost(Fits server, Fits client, Fits waiting, Fits log, Fits latency) {}

    Profile {
        costs = Collections.unmodifiableMap(new EnumMap<>(costs));
    }

    /**
     * Of observations that were made one at a time.
     *
     * @param percentile 0 to 1: transactions of a kind that took longer than this share of it are left out, as in D5.1
     *            section 2.5.1; 1 leaves out none
     * @throws Failure if there are too few
     */
    static Profile of(List<Observation> observations, double percentile) {
        Map<RequestKind, List<Observation>> kinds = new EnumMap<>(RequestKind.class);
        observations.stream().filter(Observation::committed)
                .forEach(one -> kinds.computeIfAbsent(one.kind(), _ -> new ArrayList<>()).add(one));
        for (RequestKind kind : RequestKind.values()) {
            int seen = kinds.getOrDefault(kind, List.of()).size();
            if (kind.tpcc() != null && seen < LEAST) {
                throw new Failure("only " + seen + " transactions of kind " + kind.label() + " were seen, " + LEAST
                        + " are needed", "give more --seconds, more --clients or a smaller --thinking");
            }
        }
        kinds.replaceAll((_, all) -> upTo(all, percentile));
        long[] readOnly = kinds.entrySet().stream().filter(kind -> kind.getKey().readOnly())
                .flatMap(kind -> kind.getValue().stream()).mapToLong(Observation::commitNanos).toArray();
        double readOnlyCommit = Fits.of(readOnly).quantileNanos(0.5);
        Map<RequestKind, Cost> costs = new EnumMap<>(RequestKind.class);
        kinds.forEach((kind, all) -> {
            costs.put(kind, new Cost(fit(all, Observation::backendNanos), fit(all, Observation::clientNanos),
                    fit(all, one -> idle(one) - log(one, (long) readOnlyCommit)),
                    fit(all, one -> log(one, (long) readOnlyCommit)), fit(all, Observation::latencyNanos)));
        });
        List<Observation> updates = kinds.entrySet().stream().filter(kind -> !kind.getKey().readOnly())
                .flatMap(kind -> kind.getValue().stream()).toList();
        return new Profile(costs, fit(updates, one -> log(one, (long) readOnlyCommit)), readOnlyCommit);
    }

    /** The time in which neither side computes. */
    private static long idle(Observation one) {
        return Math.max(0, one.latencyNanos() - one.backendNanos() - one.clientNanos());
    }

    /** What of it is the wait for the log. */
    private static long log(Observation one, long readOnlyCommitNanos) {
        return one.kind().readOnly()
                ? 0
                : Math.clamp(one.commitNanos() - readOnlyCommitNanos, 0, idle(one));
    }

    private static List<Observation> upTo(List<Observation> all, double percentile) {
        double limit = fit(all, Observation::latencyNanos).quantileNanos(percentile);
        return all.stream().filter(one -> one.latencyNanos() <= limit).toList();
    }

    private static Fits fit(List<Observation> all, ToLongFunction<Observation> what) {
        return Fits.of(all.stream().mapToLong(what).toArray());
    }
}
