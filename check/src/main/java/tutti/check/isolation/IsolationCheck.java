package tutti.check.isolation;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import tutti.check.CheckResult;
import tutti.check.column.IndexSort;
import tutti.check.column.IntColumn;
import tutti.check.graph.CycleSearch;
import tutti.check.graph.Dependency;
import tutti.check.graph.DependencyGraph;
import tutti.check.history.History;

/**
 * Checks whether a history whose versions are known has an isolation level: one-copy serializability, one-copy snapshot
 * isolation, or one of the others of {@link Isolation}. Builds the direct serialization graph of the committed
 * transactions and looks for the cycles that the level forbids; a cycle is told in words, the shortest one in its
 * component.
 *
 * <p>
 * Definition. Versions of a key are ordered by the positions of their writers. T depends on U by <em>ww</em> if it wrote
 * the version after U's, by <em>wr</em> if it read U's version, and U on T by <em>rw</em> if U wrote the version after the
 * one that T read (Adya and others, section 4.4). Later versions need no edges: they follow by ww. A transaction's read of
 * its own version says nothing. A committed transaction that read a version of one which never got a position is an
 * aborted read (G1a), wrong at every level but read uncommitted. Intermediate reads (G1b) cannot be written down in a
 * history whose versions are named by transactions.
 *
 * <p>
 * The position order of versions is the one that replicas apply, so this is the level that the final state has, too; it is
 * not a search for some order of versions that would make the reads come out right.
 *
 * <p>
 * O(r log v + e) for r reads, v versions of a key and e edges, at most three per operation and transaction.
 */
public final class IsolationCheck {
    private IsolationCheck() {}

    /** Checks. */
    public static CheckResult check(History history, Isolation isolation) {
        long begun = System.nanoTime();
        VersionOrder versions = new VersionOrder(history);
        List<CheckResult.Violation> violations = new ArrayList<>();
        if (isolation != Isolation.READ_UNCOMMITTED) {
            violations.addAll(versions.contradictions());
        }
        DependencyGraph graph = graph(history, versions, isolation.sessions(), isolation.realTime());
        violations.addAll(AnomalySearch.find(graph, isolation, new HistoryText(history)));
        return new CheckResult("one-copy " + isolation.text(), history.transactions() + " transactions, "
                + history.keys() + " keys, " + graph.edges() + " dependencies", violations, List.of(),
                (System.nanoTime() - begun) / 1e9);
    }

    /**
     * Tells which levels the history has, for reports that say how far something went wrong; a level that needs
     * instants or sessions which the history lacks holds if the one without them does.
     */
    public static Map<Isolation, Boolean> levels(History history) {
        VersionOrder versions = new VersionOrder(history);
        boolean sound = versions.contradictions().isEmpty();
        DependencyGraph graph = graph(history, versions, true, true);
        Map<Isolation, Boolean> levels = new EnumMap<>(Isolation.class);
        for (Isolation isolation : Isolation.values()) {
            levels.put(isolation, (sound || isolation == Isolation.READ_UNCOMMITTED)
                    && CycleSearch.isAcyclic(graph, isolation.kinds(), isolation.antiDependenciesApart()));
        }
        return levels;
    }

    private static DependencyGraph graph(History history, VersionOrder versions, boolean sessions, boolean realTime) {
        DependencyGraph.Builder graph = new DependencyGraph.Builder(history.transactions());
        for (int key = 0; key < history.keys(); key++) {
            for (int version = versions.from(key) + 1; version < versions.to(key); version++) {
                graph.add(versions.writer(version - 1), versions.writer(version), Dependency.WRITE_WRITE, key);
            }
        }
        for (int t = 0; t < history.transactions(); t++) {
            if (history.committed(t)) {
                reads(history, versions, t, graph);
            }
        }
        if (sessions) {
            sessions(history, graph);
        }
        if (realTime) {
            realTime(history, graph);
        }
        return graph.build();
    }

    private static void reads(History history, VersionOrder versions, int t, DependencyGraph.Builder graph) {
        for (int read = history.readsFrom(t); read < history.readsTo(t); read++) {
            int key = history.readKey(read);
            int writer = history.readWriter(read);
            int version = versions.version(key, writer);
            if (writer == t || version == -2) {
                continue;
            }
            if (writer != History.INITIAL) {
                graph.add(writer, t, Dependency.WRITE_READ, key);
            }
            if (version + 1 < versions.to(key)) {
                graph.add(t, versions.writer(version + 1), Dependency.READ_WRITE, key);
            }
        }
    }

    /** The committed transactions of all sessions, by session, then by the instant at which they began. */
    private static int[] bySession(History history) {
        IntColumn members = new IntColumn();
        long[] begun = new long[history.transactions()];
        long[] session = new long[history.transactions()];
        for (int t = 0; t < history.transactions(); t++) {
            begun[t] = history.begunNanos(t);
            session[t] = history.session(t);
            if (history.committed(t) && session[t] >= 0) {
                members.add(t);
            }
        }
        int[] sorted = members.toArray();
        IndexSort.sort(sorted, begun);
        IndexSort.sort(sorted, session);
        return sorted;
    }

    // A transaction whose client was told nothing may commit after the next one of its session: it precedes nobody.
    private static void sessions(History history, DependencyGraph.Builder graph) {
        int before = -1;
        for (int t : bySession(history)) {
            if (before >= 0 && history.session(before) == history.session(t)) {
                graph.add(before, t, Dependency.SESSION, 0);
            }
            if (history.answer(t) == History.Answer.COMMITTED) {
                before = t;
            }
        }
    }

    private static void realTime(History history, DependencyGraph.Builder graph) {
        long[] begun = new long[history.transactions()];
        long[] ended = new long[history.transactions()];
        for (int t = 0; t < begun.length; t++) {
            boolean counts = history.committed(t);
            begun[t] = counts ? history.begunNanos(t) : History.NO_INSTANT;
            // Somebody who was told nothing, or that it had failed, cannot have told others that it was there.
            ended[t] = counts && history.answer(t) == History.Answer.COMMITTED
                    ? history.answeredNanos(t)
                    : History.NO_INSTANT;
        }
        graph.realTime(begun, ended);
    }
}
