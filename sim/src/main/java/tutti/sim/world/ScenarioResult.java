package tutti.sim.world;

import java.util.List;
import java.util.Map;
import tutti.check.CheckResult;

/**
 * What came of a scenario.
 *
 * @param scenario what was run
 * @param fingerprint the same for equal runs: seed, events, time, trace hash
 * @param traceHash of all that happened
 * @param stuck why it did not come to an end; empty if it did
 * @param checks what the checkers say; empty if it did not come to an end
 * @param counts how often things happened, by name
 * @param events of the kernel
 * @param simulatedNanos how long it took in the simulated world
 */
public record ScenarioResult(Scenario scenario, String fingerprint, long traceHash, String stuck,
        List<CheckResult> checks, Map<String, Integer> counts, long events, long simulatedNanos) {
    public ScenarioResult {
        checks = List.copyOf(checks);
        counts = Map.copyOf(counts);
    }

    /** Whether nothing is wrong. */
    public boolean passed() {
        return stuck.isEmpty() && checks.stream().allMatch(CheckResult::passed);
    }

    /** The names of the checks that found something; {@code liveness} if the run did not come to an end. */
    public List<String> failed() {
        return stuck.isEmpty()
                ? checks.stream().filter(check -> !check.passed()).map(CheckResult::check).toList()
                : List.of("liveness");
    }
}
