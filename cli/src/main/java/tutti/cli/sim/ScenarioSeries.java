package tutti.cli.sim;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import tutti.sim.fault.FaultProfile;
import tutti.sim.world.Scenario;
import tutti.sim.world.ScenarioResult;
import tutti.sim.world.Campaign;

/**
 * What came of the scenarios of one protocol, over one order, under one profile of faults.
 *
 * @param order word of the kind of order
 * @param faults as they were asked for
 * @param scenarios that have run
 * @param failed how many of them failed
 * @param events of all kernels
 * @param simulatedNanos virtual time of all
 * @param processorNanos of the threads that ran them
 * @param hash of all runs, in order of seed: equal if every run was the same
 * @param counts what happened in them, by name
 * @param planned faults by word of their kind
 * @param happened how often such faults did something, by the same words
 * @param checks by checker: how many runs it judged
 * @param violated by checker: in how many runs it found something
 */
record ScenarioSeries(String protocol, String order, String faults, int scenarios, int failed, long events,
        long simulatedNanos,
        long processorNanos, String hash, Map<String, Long> counts, Map<String, Long> planned,
        Map<String, Long> happened, Map<String, Long> checks, Map<String, Long> violated) {
    private static final long HASH_FACTOR = 31;

    /** Before the first. */
    static ScenarioSeries of(String protocol, Scenario.OrderKind order, String faults) {
        return new ScenarioSeries(protocol, order.name().toLowerCase(Locale.ROOT), faults, 0, 0, 0, 0, 0, "0", Map.of(),
                Map.of(), Map.of(), Map.of(), Map.of());
    }

    Scenario.OrderKind orderKind() {
        return Scenario.OrderKind.valueOf(order.toUpperCase(Locale.ROOT));
    }

    FaultProfile profile() {
        return FaultProfile.parse(faults);
    }

    /** With the next scenario. */
    ScenarioSeries plus(Campaign.Finished finished) {
        ScenarioResult result = finished.result();
        Map<String, Long> allCounts = new TreeMap<>(counts);
        result.counts().forEach((what, count) -> allCounts.merge(what, (long) count, Long::sum));
        Map<String, Long> allPlanned = new TreeMap<>(planned);
        result.scenario().plan().faults()
                .forEach(fault -> allPlanned.merge(fault.action().kind().word(), 1L, Long::sum));
        Map<String, Long> allHappened = new TreeMap<>(happened);
        result.happened().forEach((kind, count) -> allHappened.merge(kind.word(), count, Long::sum));
        Map<String, Long> allChecks = new TreeMap<>(checks);
        allChecks.merge(ScenarioResult.LIVENESS, 1L, Long::sum);
        allChecks.merge(ScenarioResult.INVARIANTS, 1L, Long::sum);
        result.checks().stream().map(check -> check.check()).filter(name -> !name.equals(ScenarioResult.INVARIANTS))
                .distinct().forEach(name -> allChecks.merge(name, 1L, Long::sum));
        Map<String, Long> allViolated = new TreeMap<>(violated);
        result.failed().stream().distinct().forEach(name -> allViolated.merge(name, 1L, Long::sum));
        return new ScenarioSeries(protocol, order, faults, scenarios + 1, failed + (result.passed() ? 0 : 1),
                events + result.events(), simulatedNanos + result.simulatedNanos(),
                processorNanos + finished.processorNanos(),
                Long.toHexString(HASH_FACTOR * Long.parseUnsignedLong(hash, 16) + result.traceHash()), allCounts,
                allPlanned, allHappened, allChecks, allViolated);
    }

    long count(String what) {
        return counts.getOrDefault(what, 0L);
    }

    /** Sums of one of their maps. */
    static Map<String, Long> sum(List<Map<String, Long>> maps) {
        Map<String, Long> all = new TreeMap<>();
        maps.forEach(map -> map.forEach((what, count) -> all.merge(what, count, Long::sum)));
        return all;
    }

    /** Its name, for people. */
    String name(List<ScenarioSeries> among) {
        List<String> words = new ArrayList<>(List.of(protocol));
        if (among.stream().anyMatch(other -> !other.order.equals(order))) {
            words.add("over " + order);
        }
        if (among.stream().anyMatch(other -> !other.faults.equals(faults))) {
            words.add("under " + faults);
        }
        return String.join(" ", words);
    }
}
