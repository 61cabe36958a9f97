package tutti.eval;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import tutti.model.RunResult;
import tutti.model.scenario.ScenarioFile;

/**
 * One combination of the values of a sweep.
 *
 * @param values by key; empty if there is no sweep
 * @param scenario with these values
 * @param results of its repetitions
 */
record Point(Map<String, String> values, ScenarioFile scenario, List<RunResult> results) {
    /** For people. */
    String name() {
        return values.isEmpty()
                ? "run"
                : values.entrySet().stream()
                        .map(value -> value.getKey().substring(value.getKey().lastIndexOf('.') + 1) + " "
                                + value.getValue())
                        .collect(Collectors.joining(", "));
    }
}
