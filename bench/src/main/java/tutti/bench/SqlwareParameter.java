package tutti.bench;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A parameter that has a counterpart in tables 1 to 3 of the SQLware thesis, with another value than its default.
 *
 * @param name of it here, and its value
 * @param thesis its counterpart
 * @param settings lines of the nodes' configuration
 * @param ordered what the order changes, by name ({@code tutti parameters set})
 */
record SqlwareParameter(String name, String thesis, Map<String, String> settings, Map<String, String> ordered) {
    /** What the others have of what the order changes. */
    private static final Map<String, String> USUAL = Map.of("execution", "hybrid", "logs", "64");
    /** One change at a time. */
    static final List<SqlwareParameter> ALL = List.of(
            protocol("executors", "1", "db.pool"),
            protocol("executors", "32", "db.pool"),
            protocol("batch-requests", "1", "db.writeset.nTransactions"),
            protocol("batch-requests", "256", "db.writeset.nTransactions"),
            protocol("executors", "auto", "db.pool"),
            protocol("batch-requests", "auto", "db.writeset.nTransactions"),
            ordered("logs", "3", "dlog.logs"),
            ordered("execution", "passive", "one owner of all logs"),
            apply("appliers", "1", "dlog.reader.numThreads"),
            apply("appliers", "16", "dlog.reader.numThreads"),
            apply("batch-transactions", "1", "db.writeset.bulk"),
            apply("linger", "0s", "db.writeset.delay"),
            apply("linger", "200ms", "db.writeset.delay"));

    private static SqlwareParameter protocol(String name, String value, String thesis) {
        return new SqlwareParameter(name + " " + value, thesis,
                Map.of("protocol-parameters", "{" + name + ": " + value + "}"), USUAL);
    }

    private static SqlwareParameter apply(String name, String value, String thesis) {
        return new SqlwareParameter("apply." + name + " " + value, thesis,
                Map.of("apply", "{" + name + ": " + value + "}"), USUAL);
    }

    private static SqlwareParameter ordered(String name, String value, String thesis) {
        Map<String, String> all = new TreeMap<>(USUAL);
        all.put(name, value);
        return new SqlwareParameter(name + " " + value, thesis, Map.of(), all);
    }

    String title() {
        return "logged, " + name + " (" + thesis + ")";
    }
}
