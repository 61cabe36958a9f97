package tutti.model.scenario;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tutti.model.ModelConfig;

/**
 * What a scenario file says.
 *
 * @param title in a line
 * @param config of each run
 * @param seed of the first repetition; the others have the seeds that follow
 * @param repetitions at least 1
 * @param sweep keys, with the values that each takes in turn: every combination is a point
 */
public record ScenarioFile(String title, ModelConfig config, long seed, int repetitions,
        Map<String, List<String>> sweep) {
    /** The combinations of the values of a sweep, each as keys with values; one without any if there is no sweep. */
    public List<Map<String, String>> points() {
        List<Map<String, String>> points = new ArrayList<>();
        points.add(Map.of());
        for (Map.Entry<String, List<String>> key : sweep.entrySet()) {
            List<Map<String, String>> longer = new ArrayList<>();
            for (Map<String, String> point : points) {
                for (String value : key.getValue()) {
                    Map<String, String> one = new LinkedHashMap<>(point);
                    one.put(key.getKey(), value);
                    longer.add(one);
                }
            }
            points = longer;
        }
        return points;
    }
}
