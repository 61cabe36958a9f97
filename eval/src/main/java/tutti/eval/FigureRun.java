package tutti.eval;

import java.util.Map;
import java.util.TreeMap;

/**
 * A run that a figure needs.
 *
 * @param scenario a shipped one
 * @param keys of it that have other values
 */
record FigureRun(String scenario, Map<String, String> keys) {
    FigureRun {
        keys = Map.copyOf(keys);
    }

    /** The same with another key set. */
    FigureRun with(String key, String value) {
        Map<String, String> more = new TreeMap<>(keys);
        more.put(key, value);
        return new FigureRun(scenario, more);
    }

    /** The same with other keys set. */
    FigureRun with(Map<String, String> changes) {
        Map<String, String> more = new TreeMap<>(keys);
        more.putAll(changes);
        return new FigureRun(scenario, more);
    }

    FigureRun clients(int clients) {
        return with("workload.clients", Integer.toString(clients));
    }

    String name() {
        return scenario + " " + new TreeMap<>(keys);
    }
}
