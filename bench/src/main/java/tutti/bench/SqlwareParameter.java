package tutti.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import tutti.core.protocol.Parameter;
import tutti.core.protocol.ProtocolDescriptor;
import tutti.core.protocol.Protocols;

/**
 * Parameters with other values than their defaults: one that has a counterpart in tables 1 to 3 of the SQLware thesis, or what somebody wants to try.
 *
 * @param name of it here, and its value
 * @param thesis its counterpart; nothing if it has none
 * @param settings lines of the nodes' configuration
 * @param ordered what the order changes, by name ({@code tutti parameters set})
 */
record SqlwareParameter(String name, String thesis, Map<String, String> settings, Map<String, String> ordered) {
    /** What the others have of what the order changes. */
    static final Map<String, String> USUAL = Map.of("execution", "hybrid", "logs", "64", "owners", "in-turn");
    private static final String PROTOCOL = "hybrid";
    /** One change at a time. */
    static final List<SqlwareParameter> ALL = List.of(
            protocol("executors", "1", "db.pool"),
            protocol("executors", "32", "db.pool"),
            protocol("batch-requests", "1", "db.writeset.nTransactions"),
            protocol("batch-requests", "256", "db.writeset.nTransactions"),
            protocol("executors", "auto", "db.pool"),
            protocol("batch-requests", "auto", "db.writeset.nTransactions"),
            ordered("logs", "3", "dlog.logs"),
            ordered("owners", "0,0,1", "dlog.logs"),
            ordered("execution", "passive", "one owner of all logs"),
            apply("appliers", "1", "dlog.reader.numThreads"),
            apply("appliers", "16", "dlog.reader.numThreads"),
            apply("appliers", "auto", "dlog.reader.numThreads"),
            apply("batch-transactions", "1", "db.writeset.bulk"),
            apply("batch-transactions", "auto", "db.writeset.bulk"),
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

    /**
     * What somebody wants to try.
     *
     * @param text names and values, as {@code executors=4 batch-requests=128 apply.appliers=8}: parameters of the protocol, and settings of nodes
     * @throws IllegalArgumentException if it is something else
     */
    static SqlwareParameter of(String text) {
        ProtocolDescriptor protocol = Protocols.STANDARD.descriptor(PROTOCOL);
        Set<String> parameters = protocol.parameters().stream().map(Parameter::name).collect(Collectors.toSet());
        Map<String, String> chosen = new TreeMap<>();
        Map<String, String> ordered = new TreeMap<>(USUAL);
        Map<String, List<String>> within = new TreeMap<>();
        Map<String, String> settings = new TreeMap<>();
        for (String one : text.strip().split("\\s+", -1)) {
            String[] parts = one.split("=", 2);
            int dot = parts[0].indexOf('.');
            if (parts.length < 2 || parts[0].isEmpty() || parts[1].isEmpty()) {
                throw new IllegalArgumentException("not a name and a value: " + one);
            } else if (parameters.contains(parts[0])) {
                chosen.put(parts[0], parts[1]);
                if (protocol.ordered().contains(parts[0])) {
                    ordered.put(parts[0], parts[1]);
                } else if (protocol.local().contains(parts[0])) {
                    within.computeIfAbsent("protocol-parameters", _ -> new ArrayList<>())
                            .add(parts[0] + ": " + parts[1]);
                } else {
                    throw new IllegalArgumentException(parts[0] + " is kept for good by a cluster");
                }
            } else if (dot > 0) {
                within.computeIfAbsent(parts[0].substring(0, dot), _ -> new ArrayList<>())
                        .add(parts[0].substring(dot + 1) + ": " + parts[1]);
            } else {
                settings.put(parts[0], parts[1]);
            }
        }
        Protocols.STANDARD.choose(PROTOCOL, chosen);
        within.forEach((name, values) -> settings.put(name,
                values.stream().collect(Collectors.joining(", ", "{", "}"))));
        return new SqlwareParameter(text.strip(), "", settings, ordered);
    }

    String title() {
        return "logged, " + name + (thesis.isEmpty() ? "" : " (" + thesis + ")");
    }
}
