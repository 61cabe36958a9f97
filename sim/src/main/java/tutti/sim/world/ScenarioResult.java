package tutti.sim.world;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import tutti.check.CheckResult;
import tutti.sim.fault.FaultKind;

/**
 * What came of a scenario.
 *
 * @param scenario what was run
 * @param fingerprint the same for equal runs: seed, events, time, trace hash
 * @param traceHash of all that happened
 * @param end how it ended
 * @param why if it did not come to rest, what is wrong; otherwise empty
 * @param checks what the checkers say; of a run that did not come to rest, about what was there
 * @param counts how often things happened, by name
 * @param happened how often faults of a kind have done something, of those kinds that were planned
 * @param events of the kernel
 * @param simulatedNanos how long it took in the simulated world
 */
public record ScenarioResult(Scenario scenario, String fingerprint, long traceHash, End end, String why,
        List<CheckResult> checks, Map<String, Integer> counts, Map<FaultKind, Long> happened, long events,
        long simulatedNanos) {
    /** How a run ended. */
    public enum End {
        /** Everything ended and the replicas came to rest: checkers have judged. */
        RESTED,
        /**
         * Nodes refuse to go on, or cannot, after faults under which nothing better is promised: checkers have judged what is
         * there.
         */
        REFUSED,
        /** Something waits for ever. */
        STUCK,
        /** An invariant of a protocol, an order or the world was broken. */
        BROKEN
    }

    /** In place of a checker's name: of runs that do not come to an end. */
    public static final String LIVENESS = "liveness";
    /** In place of a checker's name: of runs in which an invariant is broken. */
    public static final String INVARIANTS = "invariants";

    /** Name of a count: writes that were not safe at a crash and of which nothing arrived. */
    public static final String LOST_WRITES = "unsafe writes lost";
    /** Name of a count: writes that were not safe at a crash and of which a part arrived. */
    public static final String TORN_WRITES = "unsafe writes torn";
    /** Name of a count: writes that were not safe at a crash and arrived, though of an earlier one something did not. */
    public static final String REORDERED_WRITES = "unsafe writes reordered";

    public ScenarioResult {
        checks = List.copyOf(checks);
        counts = Map.copyOf(counts);
        happened = Map.copyOf(happened);
    }

    /** Whether nothing is wrong. */
    public boolean passed() {
        return (end == End.RESTED || end == End.REFUSED) && checks.stream().allMatch(CheckResult::passed);
    }

    /** The names of the checks that found something. */
    public List<String> failed() {
        Stream<String> ended = switch (end) {
            case RESTED, REFUSED -> Stream.empty();
            case STUCK -> Stream.of(LIVENESS);
            case BROKEN -> Stream.of(INVARIANTS);
        };
        return Stream.concat(ended, checks.stream().filter(check -> !check.passed()).map(CheckResult::check)).distinct()
                .toList();
    }
}
