package tutti.sim.world.mutant;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import tutti.check.CheckResult;
import tutti.sim.fault.FaultKind;
import tutti.sim.world.ReplayFile;
import tutti.sim.world.Scenario;
import tutti.sim.world.ScenarioResult;
import tutti.sim.world.ScenarioRun;

/**
 * Runs a scenario beyond the border of a mutant's class loader. Only classes that both sides share pass it: a scenario goes as its text, and
 * comes back as a list of what the result consists of.
 */
public final class LoaderBoundary implements Function<String, List<Object>> {
    /** Made by reflection, on the other side. */
    public LoaderBoundary() {}

    /** On the other side: runs the scenario of a {@link ReplayFile}. */
    @Override
    public List<Object> apply(String scenario) {
        Sometimes.begin();
        ScenarioResult result = ScenarioRun.run(ReplayFile.parse(scenario).scenario());
        List<Object> checks = new ArrayList<>();
        for (CheckResult check : result.checks()) {
            List<Object> violations = new ArrayList<>();
            check.violations().forEach(each -> violations
                    .add(List.of(each.rule(), each.subject(), each.text(), each.count(), each.rows())));
            checks.add(List.of(check.check(), check.examined(), violations, check.notes(), check.seconds()));
        }
        return List.of(result.fingerprint(), result.traceHash(), result.end().name(), result.why(), checks,
                result.counts(), result.happened(), result.events(), result.simulatedNanos());
    }

    /** On this side: sends a scenario over, and reads what comes back. */
    static ScenarioResult run(Scenario scenario, Function<String, List<Object>> over) {
        List<Object> result = over.apply(
                new ReplayFile(scenario, ReplayFile.NO_MUTANT, List.of(), "").text());
        List<CheckResult> checks = new ArrayList<>();
        for (List<Object> check : LoaderBoundary.<List<List<Object>>>as(result.get(4))) {
            List<CheckResult.Violation> violations = new ArrayList<>();
            for (List<Object> each : LoaderBoundary.<List<List<Object>>>as(check.get(2))) {
                violations.add(new CheckResult.Violation((String) each.get(0), (String) each.get(1),
                        (String) each.get(2), (long) each.get(3),
                        LoaderBoundary.<List<Map<String, String>>>as(each.get(4))));
            }
            checks.add(new CheckResult((String) check.get(0), (String) check.get(1), violations,
                    LoaderBoundary.<List<String>>as(check.get(3)), (double) check.get(4)));
        }
        return new ScenarioResult(scenario, (String) result.get(0), (long) result.get(1),
                ScenarioResult.End.valueOf((String) result.get(2)), (String) result.get(3), checks,
                LoaderBoundary.<Map<String, Integer>>as(result.get(5)),
                LoaderBoundary.<Map<FaultKind, Long>>as(result.get(6)),
                (long) result.get(7), (long) result.get(8));
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"}) // Written a few lines above.
    private static <T> T as(Object part) {
        return (T) part;
    }
}
