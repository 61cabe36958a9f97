package tutti.cli;

import static java.util.Map.entry;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The rooms there are, and the arrows between them, as docs/decisions/0001-rooms.md draws them. */
final class Rooms {
    /** Which rooms each room may use, besides itself. */
    static final Map<String, Set<String>> MAY_USE = new TreeMap<>(Map.ofEntries(
            entry("core", Set.of()),
            entry("keys", Set.of()),
            entry("runtime", Set.of()),
            entry("group", Set.of("core")),
            entry("sim", Set.of("core", "group", "runtime", "order", "node", "workload", "check")),
            entry("model", Set.of("core", "group", "sim", "workload", "yaml")),
            entry("minha", Set.of("sim")),
            entry("pgwire", Set.of()),
            entry("order", Set.of("core", "group", "runtime")),
            entry("bookkeeper", Set.of("core", "runtime", "order")),
            entry("engine", Set.of("core", "pgwire")),
            entry("node", Set.of("core", "runtime")),
            entry("session", Set.of("core", "engine", "node")),
            entry("wire", Set.of("core", "pgwire", "engine", "node")),
            entry("pgfront", Set.of("core", "pgwire", "engine", "node", "session", "wire")),
            entry("jdbc", Set.of()),
            entry("embedded", Set.of("core", "runtime", "order", "engine", "node", "session", "jdbc")),
            entry("workload", Set.of("core")),
            entry("check", Set.of("core", "workload")),
            entry("macro", Set.of("core")),
            entry("macroddb", Set.of("core", "engine", "macro")),
            entry("grid", Set.of("core", "runtime")),
            entry("jcache", Set.of("grid")),
            entry("spring", Set.of("grid")),
            entry("jgroups", Set.of("core", "grid")),
            entry("command", Set.of()),
            entry("yaml", Set.of()),
            entry("report", Set.of("command")),
            entry("server",
                    Set.of("core", "runtime", "pgwire", "order", "engine", "node", "wire", "pgfront", "command",
                            "yaml")),
            entry("cluster", Set.of("core", "keys", "runtime", "server", "command")),
            entry("bench",
                    Set.of("core", "runtime", "pgwire", "order", "engine", "node", "session", "sim", "macro",
                            "macroddb",
                            "grid",
                            "workload", "server", "cluster", "report", "command")),
            entry("eval", Set.of("core", "group", "engine", "sim", "model", "workload", "report", "command", "yaml")),
            entry("cli",
                    Set.of("core", "runtime", "node", "sim", "minha", "workload", "check", "server", "cluster", "bench",
                            "eval", "report", "command"))));

    private Rooms() {}
}
