package tutti.check.isolation;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import tutti.check.CheckResult;
import tutti.check.graph.Cycle;
import tutti.check.graph.CycleSearch;
import tutti.check.graph.Dependency;
import tutti.check.graph.DependencyGraph;

/**
 * Finds cycles of a dependency graph that an isolation level forbids, and names them. One pass over the graph if there
 * are none. Otherwise each of the first components is looked at for the simplest explanation: first cycles of
 * overwriting alone, then with reads, then those that snapshots exclude, then all; and only if there is none, with the
 * order of sessions, then that of time.
 */
public final class AnomalySearch {
    private static final int COMPONENTS_EXPLAINED_MAX = 5;

    private AnomalySearch() {}

    /** How a graph's transactions and labels are called. */
    public interface Words {
        /** Of a transaction: short. */
        String transaction(int transaction);

        /** What a transaction did, in one line. */
        String details(int transaction);

        /** Of a dependency, as a clause: "T1 wrote x and T2 overwrote it". */
        String step(Cycle.Step step);
    }

    /** One violation per component of forbidden cycles, up to five; the text tells how many there are. */
    public static List<CheckResult.Violation> find(DependencyGraph graph, Isolation isolation, Words words) {
        CycleSearch.Found found = CycleSearch.components(graph, isolation.kinds(), isolation.antiDependenciesApart(),
                COMPONENTS_EXPLAINED_MAX);
        List<CheckResult.Violation> violations = new ArrayList<>();
        for (DependencyGraph.Part part : found.parts()) {
            Cycle cycle = part.original(simplest(part.graph(), isolation));
            violations.add(violation(cycle, isolation, words, found.count()));
        }
        return violations;
    }

    private static Cycle simplest(DependencyGraph graph, Isolation isolation) {
        Set<Dependency> allowed = isolation.kinds();
        List<Set<Dependency>> orders = List.of(Set.of(), Set.of(Dependency.SESSION),
                Set.of(Dependency.SESSION, Dependency.REAL_TIME));
        for (Set<Dependency> order : orders) {
            for (Step step : STEPS) {
                EnumSet<Dependency> kinds = EnumSet.copyOf(step.kinds);
                kinds.addAll(order);
                if (allowed.containsAll(kinds) && (step.apart || !isolation.antiDependenciesApart())) {
                    Optional<Cycle> cycle = CycleSearch.shortest(graph, kinds, step.apart);
                    if (cycle.isPresent()) {
                        return cycle.get();
                    }
                }
            }
        }
        throw new IllegalStateException("a component without a cycle");
    }

    /** Kinds of dependencies to look for cycles of, and whether anti-dependencies must not be adjacent. */
    private record Step(boolean apart, Set<Dependency> kinds) {}

    private static final List<Step> STEPS = List.of(new Step(true, Set.of(Dependency.WRITE_WRITE)),
            new Step(true, Set.of(Dependency.WRITE_WRITE, Dependency.WRITE_READ)),
            new Step(true, Set.of(Dependency.WRITE_WRITE, Dependency.WRITE_READ, Dependency.READ_WRITE)),
            new Step(false, Set.of(Dependency.WRITE_WRITE, Dependency.WRITE_READ, Dependency.READ_WRITE)));

    private static CheckResult.Violation violation(Cycle cycle, Isolation isolation, Words words, int components) {
        List<String> clauses = cycle.steps().stream().map(words::step).toList();
        List<Integer> members = cycle.steps().stream().map(Cycle.Step::from).toList();
        String text = String.join("; ", clauses) + ": none of them can have come first, so there is no "
                + isolation.text()
                + (components > 1 ? " (one of " + components + " groups of transactions with such cycles)" : "");
        return new CheckResult.Violation(Anomaly.of(cycle).label(),
                String.join(", ", members.stream().map(words::transaction).toList()), text, members.size(),
                members.stream().map(member -> row(words, member)).toList());
    }

    private static Map<String, String> row(Words words, int transaction) {
        Map<String, String> row = new LinkedHashMap<>();
        row.put("transaction", words.transaction(transaction));
        row.put("did", words.details(transaction));
        return row;
    }
}
